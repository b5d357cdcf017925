"""The guard's files: policy in TOML, trusted folders, and grants.

``load_policies`` reads the layers; ``FileTrust`` is the ``TrustStore``; ``SavedRules`` the
``RuleStore``; ``FileLedger`` shows live grants to other processes.
"""

from sam_tui.adapters.policy.files import POLICY_FILE, PROJECT_FILE, PolicyFile, load_policies
from sam_tui.adapters.policy.layers import AppFolders, Layers, make_policy, read_layers, renewed
from sam_tui.adapters.policy.recorded_trust import RecordedTrust
from sam_tui.adapters.policy.sandbox_settings import (
    SandboxTerms,
    host_terms,
    sandbox_plan,
)
from sam_tui.adapters.policy.saved_rules import FileLedger, SavedRules
from sam_tui.adapters.policy.trust import FileTrust

__all__ = [
    "POLICY_FILE",
    "PROJECT_FILE",
    "AppFolders",
    "FileLedger",
    "FileTrust",
    "Layers",
    "PolicyFile",
    "RecordedTrust",
    "SandboxTerms",
    "SavedRules",
    "host_terms",
    "load_policies",
    "make_policy",
    "read_layers",
    "renewed",
    "sandbox_plan",
]
