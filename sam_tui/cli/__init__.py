"""The command line: arguments -> options -> one front end -> one exit code.

main        the boundary: every error becomes a sentence and an exit code
program     the choice of a command; options: those that commands share
run_command, workbench_command, tools_command, guard_command, sessions_command   one each
streams, log   standard streams that may be closed; the file with details of a defect
"""
