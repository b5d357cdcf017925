"""The core: the standard library and pydantic, nothing else. Read it from the bottom up.

local_files, text  bounded reads; hidden characters, width and depth of text
values      ids, clock, errors; messages, display, todos, accesses, usage, verdict: plain frozen data
redaction   secrets become placeholders, placeholders become values again
events      all events, one frozen dataclass each
bus, ports  subscribers of events; protocols that the core requires, a module a port
inquiries   questions with exactly one answer; authorization: accesses and grants -> a decision
tooling     operations, schema, registry, and ``execute``, the one path of every tool call
prompt      system prompt, reminders, and the one builder of a model request
agent       budget, schedule, fold, and the turn that a session runs
runtime     the interface to a front end
"""
