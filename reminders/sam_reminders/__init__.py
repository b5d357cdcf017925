"""The reminders before the model answers: the injectors, in their order (seed 004)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sam_reminders.guidance import (
    AgentsReminder,
    InstructionsReminder,
    MiniPromptsReminder,
    Offered,
    OfferedAgents,
    PinsReminder,
    SkillsReminder,
    UserDefinedReminder,
)
from sam_reminders.knowledge import (
    DocumentsReminder,
    Facts,
    MemoriesReminder,
    UserContextReminder,
)
from sam_reminders.progress import (
    BackgroundCommandsReminder,
    EndedCommands,
    RepeatedCallsReminder,
    StatusSignalReminder,
    TodoListReminder,
    WorkflowPhaseReminder,
)
from sam_tui.core.board import TodoBoard
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.memory import DocumentStore, MemoryStore
from sam_tui.core.ports.prompts import DefinitionListing, PromptLibrary, UserReminders
from sam_tui.core.prompt.reminders import Reminder
from sam_tui.core.prompt.skills import OfferedSkills


@dataclass(frozen=True, slots=True)
class ReminderSources:
    """The sources of the injectors. ``workflow_mode`` says whether it is on in a conversation.

    ``phase`` returns the phase of a conversation's workflow in words; empty without one.
    """

    documents: DocumentStore
    memories: MemoryStore
    prompts: PromptLibrary
    user_reminders: UserReminders
    todos: TodoBoard
    workflow_mode: Callable[[ConversationId], bool]
    phase: Callable[[ConversationId], str]
    facts: Facts
    instructions: Offered = lambda: None
    """Returns the text of the instruction files; None if there are none."""
    skills: OfferedSkills = lambda: None
    ended: EndedCommands = lambda _: ()
    """The background commands that have ended."""
    pins: Callable[[ConversationId], Sequence[str]] = lambda _: ()
    """The texts that the person pinned in a conversation."""
    agents: OfferedAgents = DefinitionListing


def build_reminders(sources: ReminderSources) -> list[Reminder]:
    """Every built-in reminder, in injection order; recent memories stand last."""
    return [
        UserContextReminder(sources.facts),
        InstructionsReminder(sources.instructions),
        SkillsReminder(sources.skills),
        AgentsReminder(sources.agents),
        DocumentsReminder(sources.documents),
        MiniPromptsReminder(sources.prompts),
        PinsReminder(sources.pins),
        UserDefinedReminder(sources.user_reminders),
        TodoListReminder(sources.todos),
        WorkflowPhaseReminder(sources.phase),
        BackgroundCommandsReminder(sources.ended),
        RepeatedCallsReminder(),
        StatusSignalReminder(sources.workflow_mode),
        MemoriesReminder(sources.memories),
    ]
