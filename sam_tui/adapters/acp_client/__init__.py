"""Other agents in place of a model: the Agent Client Protocol, spoken as its client.

model      the agent's program, its sessions and what it says
requests   what it asks of this side: files, terminals, permissions
host       what it is given of this program
"""

from sam_tui.adapters.acp_client.host import AgentHost
from sam_tui.adapters.acp_client.model import AgentModel

__all__ = ["AgentHost", "AgentModel"]
