"""The clients' claims on steps: a client's calls to our tools obey its step and count as evidence."""

from collections.abc import Sequence

from sam_tui.core.workflow.lazy import LazyWorkflows
from sam_tui.core.workflow.views import Ticket, WorkflowRefused
from sam_tui.mcp_server.clients import Client


class Claims:
    """Claims open steps for the conversations of clients."""

    def __init__(self, lazy: LazyWorkflows) -> None:
        self._lazy = lazy
        self._at_work: set[str] = set()
        """Conversations that claimed a step here; a client that only reads takes no step of theirs."""

    def take(self, tickets: Sequence[Ticket], client: Client, *, reads: bool = False) -> None:
        """Claim steps for a client, but not those that a living process of ours works on.

        With ``reads`` a step stays with the client of this server that works on it.
        """
        workflows = self._lazy.workflows()
        for ticket in tickets:
            owner = workflows.claims.owner(ticket.execution_id, ticket.step)
            if owner == client.conversation or (reads and owner in self._at_work):
                continue
            with workflows.claims.hold(ticket.execution_id) as free:
                if not free:
                    continue
                try:
                    workflows.claims.claim(
                        ticket.execution_id,
                        ticket.step,
                        driver=f"mcp: {client.name}",
                        conversation=client.conversation,
                    )
                except WorkflowRefused:
                    continue  # it was finished meanwhile
            self._at_work.add(client.conversation)
