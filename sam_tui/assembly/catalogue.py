"""The descriptions of built-in tools, stored in a file: most runs make two of sixteen tools.

``make catalogue`` writes it from the tools themselves; a test compares the two.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import sam_tools
from sam_tui.core.tooling.offer import Advert, read_adverts

FILE = Path(sam_tools.__file__).with_name("catalogue.json")


@cache
def adverts() -> Mapping[str, Advert]:
    """The adverts by the tools' names."""
    return read_adverts(FILE.read_text(encoding="utf-8"))
