"""Other agents in place of a model: the Agent Client Protocol, spoken as its client.

model      the agent's program, its sessions and what it says
requests   what it asks of this side: files, terminals, permissions
"""

from sam_tui.adapters.acp_client.model import AgentModel
from sam_tui.adapters.acp_client.requests import AgentHost

__all__ = ["AgentHost", "AgentModel"]
