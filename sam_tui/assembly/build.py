"""All of a runtime, wired."""

import importlib
import sys
import threading
from collections.abc import Mapping

from sam_reminders import ReminderSources, build_reminders
from sam_tools import offers, profile_offers
from sam_tui.adapters.plugins import discover
from sam_tui.adapters.policy import AppFolders, Layers, read_layers
from sam_tui.adapters.prompts import FileReminders
from sam_tui.assembly.believing import (
    OfferedInstructions,
    offer_hooks,
    offer_instructions,
    tell_of_questions,
)
from sam_tui.assembly.catalogue import adverts
from sam_tui.assembly.guarding import limits_of, make_guard
from sam_tui.assembly.leaves import Leaves
from sam_tui.assembly.options import Options
from sam_tui.assembly.serving import Serving
from sam_tui.core.agent.context_window import Room
from sam_tui.core.agent.retry import RetryPolicy
from sam_tui.core.agent.turn import TurnEngine
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.trust import FolderTrust
from sam_tui.core.ids import ConversationId
from sam_tui.core.prompt.requests import RequestBuilder
from sam_tui.core.prompt.skills import OfferedSkills, worded
from sam_tui.core.prompt.system import guidance, short_prompt, system_prompt
from sam_tui.core.redaction.settings_files import SettingsFiles
from sam_tui.core.redaction.shield import secrets_of_environment
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.executor import Executor
from sam_tui.core.tooling.registry import Registry, built_ins_first
from sam_tui.core.tooling.short_list import CALL, FIND


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


def build(options: Options, environ: Mapping[str, str]) -> Runtime:
    """Everything that runs, wired. Nothing is connected, spawned or asked yet.

    Raises ``SamError`` for a workspace, database, model or prompt that cannot be used.
    """
    workspace = Workspace.open(options.workspace, options.add_dirs)
    folders = AppFolders.of(environ, options.data_dir)
    layers = read_layers(folders, workspace.root)
    trust = FolderTrust(workspace.root, layers.trust, layers.state, ignored=layers.project.ignored)
    leaves = Leaves(options, environ, workspace, folders, trusted=lambda: trust.trusted)
    try:
        return _wire(options, environ, leaves=leaves, folders=folders, layers=layers, trust=trust)
    except BaseException:
        leaves.close()  # the database among them
        raise


def _wire(
    options: Options,
    environ: Mapping[str, str],
    *,
    leaves: Leaves,
    folders: AppFolders,
    layers: Layers,
    trust: FolderTrust,
) -> Runtime:
    leaves.vouches = trust.vouches
    leaves.local_servers = (
        layers.user.local
    )  # before a tool is made, which may have a door of its own
    model = leaves.open_model(options.model) if options.model else None
    built_in = [*offers(leaves, adverts()), *profile_offers(options.profile, leaves)]
    plugins = discover(leaves, names_taken=[FIND, CALL, *(offer.name for offer in built_in)])
    registry = Registry(built_ins_first(built_in, plugins.tools), disabled=options.disabled_tools)
    guard = make_guard(leaves, options, folders, layers, trust)
    executor = Executor(
        registry, guard, leaves.results, leaves.storage.decisions, leaves.bus, leaves.clock
    )
    executor.gates = leaves.workflows.gate
    executor.shield.learn({**secrets_of_environment(environ), "api-key": options.api_key})
    executor.shield.source = SettingsFiles(leaves.workspace.root).changed
    executor.shield.refresh()
    executor.hooks = offer_hooks(leaves, folders, guard, trust, executor)
    leaves.inquiries.beside = tell_of_questions(executor.hooks)
    executor.hooks()  # one that is there and cannot be used is no start
    leaves.clean = lambda text: executor.shield.mask(text).text
    serving = Serving(leaves, options, folders, trust, executor, guard)
    engine = TurnEngine(
        executor,
        RequestBuilder(
            system_prompt(
                guidance(leaves.prompts, options.system_prompt, options.personality),
                leaves.workspace,
            ),
            registry.schemas_json,
            [
                *build_reminders(
                    _sources(
                        leaves,
                        options,
                        guard,
                        offer_instructions(leaves, folders, trust),
                    )
                ),
                *plugins.reminders,
            ],
            leaves.todos,
            leaves.clean,
            short_system=lambda: short_prompt(
                leaves.prompts, options.system_prompt, options.personality, leaves.workspace
            ),
        ),
        leaves.bus,
        leaves.clock,
        RetryPolicy(),
        leaves.budgets,
        Room(leaves.storage.archive, leaves.bus, context_tokens=options.context_tokens),
        options.workflow_mode,
        serving.arrive,
        lambda text: worded(text, _skills(leaves)),
        layers.limits.answers,
    )
    leaves.subagents.connect(engine)
    return Runtime(
        leaves,
        model,
        registry,
        guard,
        trust,
        executor,
        engine,
        serving,
        limits=limits_of(options, layers),
        topic=options.topic,
        plugins=plugins.reports,
    )


def _sources(
    leaves: Leaves, options: Options, guard: Guard, instructions: OfferedInstructions
) -> ReminderSources:
    def facts(conversation: ConversationId) -> dict[str, str]:
        scope = leaves.storage.memories.scope_of(conversation)
        return {
            "System": sys.platform,
            "Permission mode": guard.policy.mode,
            "Memory shared with topic": scope.removeprefix("topic:")
            if scope != conversation
            else "",
        }

    def workflow_mode(conversation: ConversationId) -> bool:
        errand = leaves.subagents.workflow_mode(conversation)
        return options.workflow_mode if errand is None else errand

    return ReminderSources(
        leaves.storage.documents,
        leaves.storage.memories,
        leaves.prompts,
        FileReminders(f"{options.data_dir}/reminders"),
        leaves.todos,
        workflow_mode,
        leaves.workflows.digest,
        facts,
        instructions,
        _skills(leaves),
        leaves.ended_beside,
    )


def _skills(leaves: Leaves) -> OfferedSkills:
    return lambda: leaves.skills if leaves.has_skills else None
