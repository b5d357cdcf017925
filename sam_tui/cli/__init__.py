"""The command line: arguments -> options -> one front end -> one exit code.

main        the boundary: every error becomes a sentence and an exit code
program     which command is meant; options: what they share
run_command, workbench_command, tools_command, guard_command, sessions_command   one each
streams, log   standard streams that may be closed; where details of a defect go
"""
