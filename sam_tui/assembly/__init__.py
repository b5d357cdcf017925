"""Options -> Runtime: the only package that imports every leaf.

options  the options of a front end; configuration: the folders and files it works with
stores   databases and files, each opened at its first use, as are the parts below
sandbox  processes; models: models and the web; policy: the guard, and the servers that it admits
runtime  tools, hooks, reminders, subagents, turns: the runtime of a front end
"""

from sam_tui.assembly.options import Options
from sam_tui.assembly.runtime import build

__all__ = ["Options", "build"]
