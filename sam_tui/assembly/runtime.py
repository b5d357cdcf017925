"""A runtime from its options: makes all parts in an order in which each fault is reported at the start."""

import shlex
from collections.abc import Mapping
from functools import partial

from sam_tui.assembly.agent import Agent
from sam_tui.assembly.configuration import Configuration
from sam_tui.assembly.options import Options
from sam_tui.core.errors import UsageError
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
            limits=configuration.layers.turn_limits(
                options.max_turns, options.max_tokens, options.max_cost
            ),
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
