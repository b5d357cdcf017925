"""What the built-in tools are advertised with, kept as a file: most runs make two of sixteen tools.

``make catalogue`` writes it from the tools themselves; a test compares the two.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import sam_tools
from sam_tui.core.tooling.contract import Tool
from sam_tui.core.tooling.offer import Advert, advert_of

FILE = Path(sam_tools.__file__).with_name("catalogue.json")


@cache
def adverts() -> Mapping[str, Advert]:
    """The adverts by the tools' names."""
    rows: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return {row["name"]: _advert(row) for row in rows}


def text_of(tools: Iterable[Tool]) -> str:
    """The content of the catalogue for these tools."""
    rows = [
        {
            "name": advert.name,
            "operations": advert.operations,
            "consolidated": advert.consolidated,
            **({} if advert.listed else {"listed": False}),
            "schema": json.loads(advert.schema),
        }
        for advert in map(advert_of, tools)
    ]
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def _advert(row: dict[str, Any]) -> Advert:
    schema = json.dumps(row["schema"], ensure_ascii=False, separators=(",", ":"))
    operations = tuple(row["operations"])
    return Advert(row["name"], operations, schema, row["consolidated"], row.get("listed", True))
