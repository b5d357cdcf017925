"""The descriptions of built-in tools, stored in a file: most runs make two of sixteen tools.

``make catalogue`` writes it from the tools themselves; a test compares the two.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import sam_tools
from sam_tui.core.tooling.offer import Advert

FILE = Path(sam_tools.__file__).with_name("catalogue.json")


@cache
def adverts() -> Mapping[str, Advert]:
    """The adverts by the tools' names."""
    rows: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return {row["name"]: _advert(row) for row in rows}


def _advert(row: dict[str, Any]) -> Advert:
    schema = json.dumps(row["schema"], ensure_ascii=False, separators=(",", ":"))
    operations = tuple(row["operations"])
    return Advert(row["name"], operations, schema, row["consolidated"], row.get("listed", True))
