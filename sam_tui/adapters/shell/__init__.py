"""Shell text -> simple commands, by tree-sitter's bash grammar.

``BashParser`` is the ``ShellParser`` port; the grammar is loaded with the first text.
"""

from sam_tui.adapters.shell.bash import BashParser

__all__ = ["BashParser"]
