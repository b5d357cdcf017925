"""What programs ask of their terminal, and wait for the answer to."""

import re

QUESTION = re.compile(
    rb"\x1b(?:Z|\[(?=[>=?\d;]*+[cnptuqx$])(?:[>=]?[01]?c|[56]n|\?\d{1,3}n|1[134589](?:;2)?t|16t|2[01]t|\?u|>0?q|\??\d+\$p|[01]?x)"
    rb"|\](?:1[0-9]|[45];\d+);\?|P[$+]q)"
)
"""Attributes, status and cursor reports, sizes, modes, version, keyboard, colours, settings and
capabilities (ECMA-48, xterm, kitty)."""
