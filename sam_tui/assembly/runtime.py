"""A runtime from its options: tools, hooks, reminders, subagents and turns over all parts before them."""

import socket
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, final

from sam_reminders import ReminderSources, build_reminders
from sam_tools import offers, profile_offers
from sam_tui.adapters.plugins import discover
from sam_tui.adapters.prompts import FileReminders
from sam_tui.assembly.catalogue import adverts
from sam_tui.assembly.options import Options
from sam_tui.assembly.policy import Permissions
from sam_tui.assembly.stores import once
from sam_tui.core.agent.budget import Budgets
from sam_tui.core.agent.context_window import Room
from sam_tui.core.agent.retry import RetryPolicy
from sam_tui.core.agent.subagents import Subagents, Surroundings
from sam_tui.core.agent.turn import TurnEngine
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.prompt.reminders import Injectors
from sam_tui.core.prompt.requests import RequestBuilder
from sam_tui.core.prompt.skills import worded
from sam_tui.core.prompt.system import PromptChoice, environment_facts, guidance, system_prompt
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.checkpoints import CallCheckpoints
from sam_tui.core.tooling.executor import CallSurroundings, Executor
from sam_tui.core.tooling.registry import Registry, built_ins_first
from sam_tui.core.tooling.short_list import CALL, FIND
from sam_tui.folders import HOOKS
from sam_tui.settings.values import in_environment, number_of_variable

if TYPE_CHECKING:
    from sam_tui.adapters.fleet.steps import StepQueues
    from sam_tui.adapters.skills import FileSkills
    from sam_tui.core.inquiry import Inquiry
    from sam_tui.core.ports.prompts import Instructions
    from sam_tui.core.tooling.hooks import Hooking


@final
class AssembledRuntime(Permissions):
    """The parts of one runtime that serve its tools and answer prompts."""

    def __init__(self, options: Options, environ: Mapping[str, str]) -> None:
        super().__init__(options, environ)
        self.budgets = Budgets()
        self.inquiries = Inquiries(
            self.bus,
            self.clock,
            attended=self.options.attended,
            responder=self.options.responder,
            beside=self._beside,
            patience=60 * number_of_variable(self.environ, "agent.answer_minutes"),
        )
        if collector := str(in_environment(self.environ, "places.telemetry")):
            from sam_tui.adapters.telemetry import OtlpSender, TelemetryRecorder

            sender = OtlpSender(collector, self.environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""))
            self.at_close.callback(sender.close)
            recorder = TelemetryRecorder(sender, self.clock, self.budgets.model)
            self.bus.listeners.append(recorder.take)

    @once
    def hand_out(self) -> "StepQueues | None":
        """Hands out the steps of some roles; None if all steps run here. Raises ``SamError``."""
        if not self.options.hand_out:
            return None
        from sam_tui.adapters.fleet.database import open_database
        from sam_tui.adapters.fleet.steps import StepQueues

        folder = self.options.data_dir
        database = open_database(self.environ, folder)
        self.at_close.callback(database.close)
        origin = f"{socket.gethostname()} {folder}"
        return StepQueues(database, self.options.hand_out, origin, self.inquiries)

    def require_hand_out(self) -> None:
        """Raise ``UsageError`` where a role is to be handed out that cannot be."""
        if roles := self.options.hand_out:
            from sam_tui.core.workflow.definitions.stages import require_roles

            registered = {c.role for c in self.workflows.workflows().capabilities()}
            require_roles(roles, registered)

    @property
    def plugins(self):
        """A report on each entry point of other packages."""
        return self._plugins.reports

    @once
    def _plugins(self):
        """Tools and reminders of other packages."""
        return discover(self, names_taken=[FIND, CALL, *(offer.name for offer in self._built_in)])

    @once
    def _built_in(self):
        """The tools that come with the program."""
        return [*offers(self, adverts()), *profile_offers(self.options.profile, self)]

    @once
    def executor(self) -> Executor:
        """Runs every call."""
        tools = built_ins_first(self._built_in, self._plugins.tools)
        registry = Registry(tools, disabled=self.options.disabled_tools)
        registry.require(self.options.named_tools)
        surroundings = CallSurroundings(
            self.guard,
            self.results,
            self.storage.decisions,
            self.bus,
            self.clock,
            self.workflows.gate,
            self.hooks,
            checkpoints=CallCheckpoints(self.guard, lambda: self.checkpoints, self.bus),
            prepare=lambda: self.sandbox_plan,
        )
        return Executor(registry, surroundings)

    @once
    def engine(self) -> TurnEngine:
        """Runs every turn."""
        from sam_tui.core.agent.calls.recorder import CallRecorder
        from sam_tui.core.agent.notes.notetaker import Notetaker

        options = self.options
        by_rules = self.environ.get("SAM_TUI_COMPACTION") == "rules"
        prompt = PromptChoice(
            options.system_prompt, options.personality, options.prompt_text, options.prompt_appended
        )
        requests = RequestBuilder(
            prompt.full(self.prompts, self.workspace),
            self.registry.schemas_json,
            Injectors(
                [*build_reminders(self._sources()), *self._plugins.reminders],
                self.storage.reminders,
                self.shield.redact,
            ),
            self.todos,
            short_system=lambda: prompt.short(self.prompts, self.workspace),
        )
        return TurnEngine(
            self.executor,
            requests,
            self.bus,
            self.clock,
            RetryPolicy(),
            self.budgets,
            Room(self.storage.archive, self.bus, context_tokens=options.context_tokens),
            options.workflow_mode,
            self.servers.arrive,
            lambda text: worded(text, self._offered_skills, lambda: self.definitions("commands")),
            self.layers.limits.answers,
            notetaker=None if by_rules else Notetaker(self.shield.redact, self.prices()),
            recorder=CallRecorder(
                self.calls, self.clock, self.prices(), self.shield.redact, self.todos.current
            ),
            attachments=lambda: self._attachments,
        )

    @once
    def _attachments(self):
        from sam_tui.core.prompt.attachments import Attachments

        return Attachments(self.files, self.budgets.model)

    @once
    def subagents(self) -> Subagents:
        """Subagents that run in the background."""
        surroundings = Surroundings(
            lambda: self.engine,
            self.open_model,
            self.model_host,
            lambda prompt, text: system_prompt(
                text or guidance(self.prompts, prompt), self.workspace
            ),
            self.storage.memories.set_topic,
        )
        return Subagents(self.conversations, self.budgets, surroundings)

    def hooks(self) -> "Hooking | None":
        """The hooks, or None as long as there is no file of them. Two looks at the disk a call.

        The first time raises ``ConfigurationError`` for a file that counts and cannot be used.
        """
        return self._hooking if self.is_made("_hooking") or self.extensions.has_hooks else None

    @once
    def _hooking(self):
        from sam_tui.adapters.hooks import FileHooks
        from sam_tui.core.tooling.hooks import Hooking

        hooks = FileHooks(
            self.folders.config_dir,
            files=self.files,
            commands=lambda: self.commands,
            trust=self.trust,
            reads=lambda line: self.named_reads.of_line(line, self.workspace.root),
            bundles=self.bundles,
        )
        user = self.extensions.settings_path(HOOKS)
        beyond = self.workspace.locate(user).root is None
        return Hooking(hooks, self.guard, self.storage.decisions, self.bus, own_yes=beyond)

    def _beside(self, inquiry: "Inquiry") -> Coroutine[object, object, None] | None:
        """Return a coroutine that informs hooks about an open question; None if no hook listens."""
        try:
            hooking = self.hooks()
        except ConfigurationError:
            return None  # the next call says it
        return hooking.beside(inquiry) if hooking is not None else None

    def instructions(self) -> "Instructions | None":
        """The instructions; None if there are no files to read."""
        used = self.is_made("_instructions") or self.extensions.has_instructions(self.trust)
        return self._instructions if used else None

    @once
    def _instructions(self):
        from sam_tui.adapters.instructions import FileInstructions
        from sam_tui.adapters.instructions.files import Sources

        redact = self.shield.redact
        sources = Sources(self.files, self.trust, redact, lambda: self.definitions("rules"))
        return FileInstructions(self.folders.config_dir, sources)

    def _offered_skills(self) -> "FileSkills | None":
        return self.skills if self.has_skills else None

    def _workflow_mode(self, conversation: ConversationId) -> bool:
        chosen = self.subagents.workflow_mode(conversation)
        return self.options.workflow_mode if chosen is None else chosen

    def _sources(self) -> ReminderSources:
        return ReminderSources(
            self.storage.documents,
            self.storage.memories,
            self.prompts,
            FileReminders(f"{self.options.data_dir}/reminders"),
            self.todos,
            self._workflow_mode,
            self.workflows.digest,
            lambda conversation: environment_facts(
                conversation,
                self.storage.memories.scope_of(conversation),
                self.guard.policy.mode,
            ),
            self.instructions,
            self._offered_skills,
            self.ended_beside,
            self.conversations.pins,
            lambda: self.definitions("agents"),
        )

    async def end_processes(self) -> None:
        """End every server, task, command and terminal that was begun."""
        if self.is_made("servers"):
            await self.servers.close()
        await super().end_processes()


def build(options: Options, environ: Mapping[str, str]) -> Runtime:
    """Make a runtime. Nothing is connected, spawned or asked yet.

    Raises ``SamError`` for a workspace, database, model or prompt that cannot be used.
    """
    runtime = AssembledRuntime(options, environ)
    try:
        if (model := runtime.chosen_model()) is not None:
            runtime.use_model(model)
        runtime.executor  # noqa: B018 # every tool that was named is there
        if runtime.sandbox_terms.kind == "strict":
            runtime.sandbox  # noqa: B018 # with --sandbox strict nothing may begin without it
        runtime.hooks()  # a file that is there and cannot be used is no start
        runtime.engine  # noqa: B018 # nor is a prompt
        runtime.servers  # noqa: B018 # nor a list of servers
        return runtime
    except BaseException:
        runtime.release()  # the database among them
        raise
