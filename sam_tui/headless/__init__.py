"""One prompt, one exit code: the agent without a screen, for scripts and pipelines.

request    what is asked for; prompt_input: where the prompt comes from, never waiting for nothing
outcome    the subtypes of a result and the exit code of each
ledger     events -> the totals of a result
lines      events -> Claude-compatible JSON objects; progress: events -> lines for people
structure  answers of a JSON schema: asked for, judged, and asked for again
answers    who answers inquiries: a file of patterns, or nobody
output     stdout, also in the names of claude -p, when nobody reads, too; interrupts: signals
run        all of it, once
"""
