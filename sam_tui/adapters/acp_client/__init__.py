"""Other agents in place of a model: the Agent Client Protocol, spoken as its client.

model      the agent's program, its sessions and its messages
requests   its requests: files, terminals, permissions
host       the parts of this program that it uses
"""

from sam_tui.adapters.acp_client.host import AgentHost
from sam_tui.adapters.acp_client.model import AgentModel

__all__ = ["AgentHost", "AgentModel"]
