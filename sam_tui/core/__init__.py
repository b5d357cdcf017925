"""The core: the standard library and pydantic, nothing else. Read it from the bottom up.

local_files, text  bounded reads; what text hides, how wide and how deep it is
values      ids, clock, errors; messages, display, todos, accesses, usage, verdict: plain frozen data
redaction   secrets become placeholders, placeholders become values again
events      everything that can happen, one frozen dataclass each
bus, ports  who hears of it; what the core asks of the outside, a module a port
inquiries   questions with exactly one answer; authorization: accesses and grants -> a decision
tooling     operations, schema, registry, and ``execute``, the one path of every tool call
prompt      system prompt, reminders, and the one builder of a model request
agent       budget, schedule, fold, and the turn that a session runs
runtime     what a front end is given
"""
