"""One prompt, one exit code: the agent without a screen, for scripts and pipelines.

request    the task; prompt_input: the source of the prompt, without waiting for nothing
outcome    the subtypes of a result and the exit code of each
ledger     events -> the totals of a result
lines      events -> Claude-compatible JSON objects; progress: events -> lines for people
structure  answers of a JSON schema: asked for, judged, and asked for again
answers    answers to inquiries: from a file of patterns, or none
output     stdout, also with the names of claude -p, and without a reader; interrupts: signals
run        all of it, once
"""
