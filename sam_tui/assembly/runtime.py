"""A runtime from its options: makes all parts in an order in which each fault is reported at the start."""

import asyncio
import importlib
import shlex
from collections.abc import Mapping, Sequence
from functools import partial

from sam_tui.assembly.agent import Agent
from sam_tui.assembly.configuration import Configuration
from sam_tui.assembly.options import Options
from sam_tui.core.errors import UsageError
from sam_tui.core.events import (
    Answered,
    Event,
    Noticed,
    ReasoningStreamed,
    RequestSent,
    TextStreamed,
    TurnFinished,
    TurnStarted,
)
from sam_tui.core.ports.model import Model
from sam_tui.core.runtime import Runtime


def build(options: Options, environ: Mapping[str, str]) -> Runtime:
    """Everything that runs. Nothing is connected, spawned or asked yet.

    Raises ``SamError`` for a workspace, database, model or prompt that cannot be used.
    """
    configuration = Configuration.of(options, environ)
    parts = Agent(configuration)
    try:
        model = _model(parts, options, environ)
        registry = parts.executor.registry
        if configuration.sandbox_terms.kind == "strict":
            parts.sandbox  # noqa: B018 # with --sandbox strict nothing may begin without it
        parts.hooks()  # a file that is there and cannot be used is no start
        return Runtime(
            parts,
            model,
            registry,
            parts.guard,
            configuration.trust,
            parts.executor,
            parts.engine,
            parts.servers,
            limits=configuration.turn_limits,
            topic=options.topic,
            plugins=parts.plugins.reports,
        )
    except BaseException:
        parts.close()  # the database among them
        raise


def _model(parts: Agent, options: Options, environ: Mapping[str, str]) -> Model | None:
    """The model or the agent that was asked for, with models that answer while the first cannot."""
    if options.agent is not None:
        return _agent(parts, options.agent)
    if not options.model:
        return None
    names = options.fallback_models or environ.get("SAM_TUI_FALLBACK_MODEL", "").split(",")
    others = [name for name in map(str.strip, names) if name and name != options.model]
    model = parts.open_model(options.model)
    if not others:
        return model
    from sam_tui.core.agent.retry import FallbackModel

    models = [model, *map(parts.open_model, others)]
    notice = partial(Noticed, None, "warning")
    return FallbackModel(
        models,
        parts.clock.monotonic,
        lambda words: parts.publish(notice(parts.shield.redact(words))),
    )


def _agent(parts: Agent, line: str) -> Model:
    """The model that the command line of another agent starts. Raises ``UsageError``."""
    from sam_tui.adapters.acp_client import AgentHost, AgentModel

    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"--agent is not a command line: {error}.") from error
    if not words:
        raise UsageError("--agent names no program.")
    host = AgentHost(
        words,
        parts.executor,
        parts.guard,
        parts.files,
        lambda: parts.piped,
        lambda: parts.named_reads.of(words, parts.workspace.root),
        parts.bus.publish,
        parts.budgets.conversation,
    )
    return AgentModel(host)


_FOR_CALLS = (
    "sam_tui.adapters.terminal.emulator.screen",
    "sam_tools.file_operations",
    "sam_tools.terminal_operations",
    "sam_tools.todo_operations",
)
"""The modules that nearly every conversation uses, but not for its first request."""


def load_workbench() -> None:
    """Import what every workbench uses at once. Takes 0.1 s: call it on a thread."""
    for leaf in ("storage", "prompts", "llm.choice", "terminal.commands", "terminal.sessions"):
        importlib.import_module(f"sam_tui.adapters.{leaf}")


def warm(runtime: Runtime) -> None:
    """Load on a thread of its own what the first request needs, and nothing besides."""
    if runtime.model is not None:
        from sam_tui.adapters.llm.choice import warm as warm_model

        warm_model(runtime.model)


async def prepare(runtime: Runtime, modules: Sequence[str], *, awaited: bool) -> None:
    """Make ready what the first answer and its calls need, part by part, whenever nobody waits for one.

    ``modules`` are those that draw an answer. ``awaited``: a prompt waits already. Threads take turns,
    so that each part would delay the request.
    """
    events = runtime.bus.subscribe()
    try:
        drawing, calls = (
            [partial(importlib.import_module, name) for name in names]
            for names in (modules, _FOR_CALLS)
        )
        for part in (*drawing, runtime.commands.warm, *calls):
            awaited = _awaiting(events.drain(), awaited)
            while awaited:
                awaited = _awaiting(await events.batch(), awaited)
            await asyncio.to_thread(part)
    finally:
        events.close()


def _awaiting(events: Sequence[Event], awaited: bool) -> bool:
    """Whether an answer that was asked for has not begun, after these events."""
    for event in events:
        match event:
            case TurnStarted() | RequestSent():
                awaited = True
            case TextStreamed() | ReasoningStreamed() | Answered() | TurnFinished():
                awaited = False
            case _:
                pass
    return awaited
