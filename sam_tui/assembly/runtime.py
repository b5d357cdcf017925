"""A runtime from its options: all parts made in an order in which each fault is told at the start."""

import importlib
import threading
from collections.abc import Mapping
from functools import partial

from sam_tui.assembly.agent import Agent
from sam_tui.assembly.configuration import Configuration
from sam_tui.assembly.options import Options
from sam_tui.assembly.policy import limits_of
from sam_tui.core.events import Noticed
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
            parts.sandbox  # noqa: B018 # whoever wants it strict wants nothing to begin without it
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
            limits=limits_of(configuration),
            topic=options.topic,
            plugins=parts.plugins.reports,
        )
    except BaseException:
        parts.close()  # the database among them
        raise


def _model(parts: Agent, options: Options, environ: Mapping[str, str]) -> Model | None:
    """The model or the agent that was asked for, with models that answer while the first cannot."""
    if options.agent is not None:
        from sam_tui.assembly.foreign_agent import open_agent

        return open_agent(parts, options.agent)
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


def load_workbench() -> None:
    """Import what every workbench uses at once. Takes 0.1 s: call it on a thread."""
    for leaf in ("storage", "prompts", "llm.choice", "terminal.commands", "terminal.sessions"):
        importlib.import_module(f"sam_tui.adapters.{leaf}")
    importlib.import_module("sam_tui.adapters.terminal.emulator.screen")


def warm(runtime: Runtime) -> None:
    """Load on threads of their own what the first request and the first calls will need."""
    if runtime.model is not None:
        from sam_tui.adapters.llm.choice import warm as warm_model

        warm_model(runtime.model)
    threading.Thread(target=_load_tools, name="warm-tools", daemon=True).start()


def _load_tools() -> None:
    for tool in ("file_operations", "terminal_operations", "todo_operations"):
        importlib.import_module(f"sam_tools.{tool}")


def warm_sandbox(runtime: Runtime) -> None:
    """Start the supervisor of commands, so that the first of them does not wait for it."""
    runtime.commands.warm()
