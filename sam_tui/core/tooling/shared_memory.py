"""Memory shared by conversations of one topic: the right to add, and the origin of entries."""

from collections.abc import Sequence

from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.memory import MemoryEntry, MemoryStore, Origin, Scope
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.contract import ToolContext

_TOPIC = "topic:"
_KINDS = {"workspace": "folder"}


def origin_of(context: ToolContext) -> Origin:
    """The origin of an entry that a call stores."""
    return Origin(context.conversation, context.workspace)


def knowledge_scope(scope: Scope, workspace: str) -> Scope:
    """Return the scope of knowledge for a conversation whose memories have this scope: its topic's,
    else the workspace's, because knowledge outlives the conversation."""
    return scope if scope.startswith(_TOPIC) else Scope(f"workspace:{workspace}")


def entries_read(
    entries: Sequence[MemoryEntry], scope: Scope, workspace: str
) -> Sequence[MemoryEntry]:
    """Return the entries that the agent of a conversation with this scope of memories reads."""
    scopes = (scope, knowledge_scope(scope, workspace))
    return [entry for entry in entries if entry.scope in scopes]


def scope_in_words(scope: Scope) -> str:
    """Describe the owner of a scope: a topic, a folder or a conversation."""
    kind, colon, name = scope.partition(":")
    return printable(f"{_KINDS.get(kind, kind)} {name}" if colon else f"conversation {scope}")


async def scope_to_change(memories: MemoryStore, context: ToolContext, *texts: str) -> Scope:
    """The scope whose memory a call changes. ``texts`` are what others would read.

    A folder that nobody trusts changes what other conversations read only with the person's yes.
    Raises ``ToolError`` without one.
    """
    scope = memories.scope_of(context.conversation)
    host = context.permit.host
    if not scope.startswith(_TOPIC) or (host is not None and (host.trusted or host.approves_all)):
        return scope
    topic = printable(scope.removeprefix(_TOPIC))
    text = "\n".join(filter(None, texts))
    if host is not None:
        decision = await host.confirm(
            f"conversations of the topic {topic} in other folders will read it, and this folder is"
            " not trusted",
            once=f"change the memory of the topic {topic}, this once",
            rule="shared-memory",
            preview=(Diff.of_text(f"new in the memory of {topic}", text),) if text else (),
        )
        if decision.allowed:
            return scope
    raise ToolError(
        f"Nothing was changed in the memory of the topic {topic}: this folder is not trusted, and"
        " the person did not agree.",
        hint="Keep it in this conversation's own words, or in a file of the workspace.",
    )


def told_origin(origin: Origin, conversation: ConversationId, scope: Scope) -> str:
    """The origin of an entry in words; empty if it is the conversation's own or not shared."""
    if not scope.startswith(_TOPIC) or origin.conversation == conversation:
        return ""
    if not origin.conversation:
        return "not yours: from an earlier conversation of this topic"
    return f"not yours: from conversation {printable(origin.conversation)} in {printable(origin.folder)}"
