"""A runtime from its options: makes all parts in an order in which each fault is reported at the start."""

from collections.abc import Mapping

from sam_tui.assembly.agent import Agent
from sam_tui.assembly.configuration import Configuration
from sam_tui.assembly.options import Options
from sam_tui.core.runtime import Runtime


def build(options: Options, environ: Mapping[str, str]) -> Runtime:
    """Everything that runs. Nothing is connected, spawned or asked yet.

    Raises ``SamError`` for a workspace, database, model or prompt that cannot be used.
    """
    runtime = Agent(Configuration.of(options, environ))
    try:
        if (model := runtime.chosen_model()) is not None:
            runtime.use_model(model)
        runtime.executor  # noqa: B018 # every tool that was named is there
        if runtime.configuration.sandbox_terms.kind == "strict":
            runtime.sandbox  # noqa: B018 # with --sandbox strict nothing may begin without it
        runtime.hooks()  # a file that is there and cannot be used is no start
        runtime.engine  # noqa: B018 # nor is a prompt
        runtime.servers  # noqa: B018 # nor a list of servers
        return runtime
    except BaseException:
        runtime.release()  # the database among them
        raise
