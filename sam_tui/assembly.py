"""Options -> Runtime: the one place that knows every leaf."""

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sam_reminders import Sources, build_reminders
from sam_tools import build_tools
from sam_tui.adapters.code import SqliteJournal, open_insight
from sam_tui.adapters.documents import LocalDocuments
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.images import EndpointImages, image_settings
from sam_tui.adapters.llm.catalog import Catalog
from sam_tui.adapters.llm.choice import Route, Wish, choose, warm
from sam_tui.adapters.llm.embedding import embedder_from
from sam_tui.adapters.plugins import discover
from sam_tui.adapters.policy import DecisionPages, FileLedger, Places, make_policy, read_layers
from sam_tui.adapters.prompts import FilePrompts, FileReminders
from sam_tui.adapters.search import RipgrepSearch
from sam_tui.adapters.shell import BashParser
from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.adapters.tasks import CommandTasks, FileTaskBook
from sam_tui.adapters.terminal.background import PortedCommands
from sam_tui.adapters.terminal.commands import ShellCommands
from sam_tui.adapters.terminal.confinement import Sandbox
from sam_tui.adapters.terminal.sessions import PtyTerminals
from sam_tui.adapters.web import GuardedWeb, search_from, serpapi_from
from sam_tui.core.agent.budget import DEFAULT_STEPS, Budgets
from sam_tui.core.agent.retry import RetryPolicy
from sam_tui.core.agent.room import Room
from sam_tui.core.agent.subagents import Subagents, Surroundings
from sam_tui.core.agent.turn import Engine
from sam_tui.core.authorization.containment import Workspace
from sam_tui.core.authorization.grants import Grants
from sam_tui.core.authorization.guard import TIMED_SECONDS, Guard
from sam_tui.core.authorization.policy import PermissionMode
from sam_tui.core.board import TodoBoard
from sam_tui.core.bus import Bus
from sam_tui.core.clock import Clock, SystemClock
from sam_tui.core.errors import UsageError
from sam_tui.core.inquiries import Attends, Inquiries, Responder
from sam_tui.core.ports.prompts import PromptLibrary
from sam_tui.core.prompt.requests import RequestBuilder
from sam_tui.core.prompt.system import system_prompt
from sam_tui.core.runtime import Runtime
from sam_tui.core.services import Online, Remembered, Services
from sam_tui.core.shield import secrets_of_environment
from sam_tui.core.tooling.execute import Executor
from sam_tui.core.tooling.registry import Registry, built_ins_first
from sam_tui.core.workflow.entrance import DATABASE, Entrance, WorkflowPlaces

DEFAULT_TIMEOUT = 300.0
"""Seconds a model may be silent between two bytes."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a front end was asked for. Paths as typed; empty ``model`` leaves it to be chosen.

    ``attended`` says whether a person can answer questions (or, for each one, who is asked that);
    ``responder`` answers before they do.
    ``request_timeout`` is in seconds between bytes. ``context_tokens`` is how much the model takes,
    where the person knows it better than the model says. ``topic`` is whose memory new
    conversations share; ``system_prompt`` an id of ``list_system_prompts``.
    """

    workspace: str
    data_dir: str
    model: str = ""
    api_base: str = ""
    api_key: str = ""
    provider: Route = "auto"
    mode: PermissionMode = "ask"
    add_dirs: tuple[str, ...] = ()
    max_turns: int | None = None
    attended: bool | Attends = False
    responder: Responder | None = None
    request_timeout: float | None = None
    context_tokens: int | None = None
    system_prompt: str = "built-in:default"
    topic: str = ""
    workflow_mode: bool = False
    disabled_tools: tuple[str, ...] = ()


def load_workbench() -> None:
    """Import what the workbench draws terminals with. Takes 0.1 s: call it on a thread."""
    importlib.import_module("sam_tui.adapters.terminal.screen")


def warm_model(runtime: Runtime) -> None:
    """Load on a thread of its own what the first request of the runtime's model needs."""
    if runtime.model is not None:
        warm(runtime.model)


def build(options: Options, environ: Mapping[str, str]) -> Runtime:
    """Everything that runs, wired. Nothing is connected, spawned or asked yet.

    Raises ``SamError`` for a workspace, database, model or prompt that cannot be used.
    """
    workspace = Workspace.open(options.workspace, options.add_dirs)
    timeout = options.request_timeout or DEFAULT_TIMEOUT
    wish = Wish(options.model, options.api_base, options.api_key, options.provider, timeout=timeout)
    model = choose(wish, environ) if options.model else None
    clock, bus = SystemClock(), Bus()
    inquiries = Inquiries(bus, clock, attended=options.attended, responder=options.responder)
    embedder = embedder_from(environ)
    storage = open_storage(options.data_dir, now=clock.now, embedder=embedder)
    sandbox = Sandbox()
    commands, terminals = ShellCommands(sandbox), PtyTerminals(sandbox)
    background = PortedCommands(commands)
    tasks, files, search = CommandTasks(commands), LocalFiles(), RipgrepSearch()
    journal = SqliteJournal(options.data_dir, files)
    insight = open_insight(options.data_dir, workspace.root, files, search, embedder=embedder)
    prompts = FilePrompts(
        f"{options.data_dir}/prompts", workspace.root, storage.choices, lambda: layers.trusted
    )
    budgets, board = Budgets(), TodoBoard(storage.todos, bus, clock)
    surroundings = Surroundings(
        lambda name, extra: choose(replace(wish, model=name, options=extra), environ),
        lambda prompt: system_prompt(guidance(prompts, prompt), workspace),
        storage.memories.set_topic,
    )
    subagents = Subagents(storage.conversations, budgets, surroundings)
    places = Places.of(environ, options.data_dir)
    workflows = Entrance(_workflow_places(places, workspace.root), clock, bus)
    services = Services(
        clock=clock,
        publish=bus.publish,
        files=files,
        search=search,
        commands=commands,
        terminals=terminals,
        background=background,
        todos=board,
        inquiries=inquiries,
        results=storage.results,
        remembered=_remembered(storage),
        prompts=prompts,
        budgets=budgets,
        workspace=workspace,
        tasks=tasks,
        task_book=FileTaskBook(f"{options.data_dir}/tasks", workspace.root),
        online=_online(clock, environ),
        documents=LocalDocuments(),
        insight=insight,
        journal=journal,
        subagents=subagents,
        workflows=workflows,
    )
    built_in = build_tools(services)
    plugins = discover(services, taken=[tool.name for tool in built_in])
    registry = Registry(built_ins_first(built_in, plugins.tools), disabled=options.disabled_tools)
    layers = read_layers(places, workspace.root)
    policy = make_policy(
        layers,
        places,
        workspace,
        mode=options.mode,
        sandboxed=commands.confinement.kind != "none",
        parser=BashParser(),
    )
    ledger = FileLedger(places.data_dir)
    history = DecisionPages(storage.database.query)
    guard = Guard(
        workspace, policy, Grants(clock, ledger), inquiries, history=history, saved=layers.saved
    )
    guard.seconds = layers.seconds or TIMED_SECONDS
    executor = Executor(registry, guard, storage.results, storage.decisions, bus, clock)
    executor.shield.learn(secrets_of_environment(environ))
    engine = Engine(
        executor,
        RequestBuilder(
            system_prompt(guidance(prompts, options.system_prompt), workspace),
            registry.schemas_json,
            [
                *build_reminders(_sources(storage, prompts, options, board, workflows)),
                *plugins.reminders,
            ],
            board,
        ),
        bus,
        clock,
        RetryPolicy(),
        budgets,
        Room(storage.archive, bus, context_tokens=options.context_tokens),
        options.workflow_mode,
        workflows.gate,
    )
    subagents.connect(engine)
    return Runtime(
        bus=bus,
        inquiries=inquiries,
        workspace=workspace,
        model=model,
        catalog=Catalog(environ, timeout=timeout),
        terminals=terminals,
        commands=commands,
        background=background,
        tasks=tasks,
        conversations=storage.conversations,
        journal=journal,
        memories=storage.memories,
        prompts=prompts,
        todos=board,
        workflows=workflows,
        registry=registry,
        guard=guard,
        executor=executor,
        engine=engine,
        subagents=subagents,
        max_steps=options.max_turns or DEFAULT_STEPS,
        topic=options.topic,
        plugins=plugins.reports,
        closers=(
            workflows.close,
            ledger.close,
            insight.index.close,
            journal.close,
            sandbox.close,
            storage.close,
        ),
    )


def guidance(prompts: PromptLibrary, prompt_id: str) -> str:
    """The text of a system prompt. Raises ``UsageError`` for one that is not there or not active."""
    prompt = prompts.get(prompt_id)
    if prompt is None or prompt.kind != "system" or not prompt.active:
        known = ", ".join(p.id for p in prompts.list_system().prompts if p.active)
        raise UsageError(f"There is no system prompt {prompt_id!r}.", hint=f"There are: {known}.")
    return prompt.content


def _online(clock: Clock, environ: Mapping[str, str]) -> Online:
    """The web as the environment configures it; only a configured image endpoint may be local."""
    web = GuardedWeb(clock=clock)
    settings = image_settings(environ)
    images = None
    if settings is not None:
        images = EndpointImages(GuardedWeb(allowed=frozenset({settings.origin})), settings)
    return Online(web, search_from(web, environ), serpapi_from(web, environ), images)


def _remembered(storage: Storage) -> Remembered:
    return Remembered(
        storage.memories, storage.notes, storage.knowledge, storage.documents, storage.archive
    )


def _workflow_places(places: Places, root: str) -> WorkflowPlaces:
    """The store and the definitions, not looked at and their adapter not loaded before they are used."""

    def adapter():
        from sam_tui.adapters import workflows

        return workflows

    return WorkflowPlaces(
        lambda: adapter().open_workflows(places.data_dir),
        lambda: adapter().DefinitionFiles(places.config_dir, root),
        lambda: os.path.exists(os.path.join(places.data_dir, DATABASE)),
    )


def _sources(
    storage: Storage,
    prompts: PromptLibrary,
    options: Options,
    board: TodoBoard,
    workflows: Entrance,
) -> Sources:
    return Sources(
        storage.documents,
        storage.memories,
        prompts,
        FileReminders(f"{options.data_dir}/reminders"),
        board,
        lambda _: options.workflow_mode,
        workflows.digest,
    )
