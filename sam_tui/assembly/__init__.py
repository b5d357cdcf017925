"""Options -> Runtime: the one place that knows every leaf.

options  what a front end was asked for
leaves   the leaves of one runtime, each imported and made when it is first asked for
build    all of it, wired
"""

from sam_tui.assembly.build import build, load_workbench, warm, warm_sandbox
from sam_tui.assembly.options import Options

__all__ = ["Options", "build", "load_workbench", "warm", "warm_sandbox"]
