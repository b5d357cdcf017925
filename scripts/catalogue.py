"""Writes the file that the built-in tools are advertised with, from the tools themselves."""

import json
import tempfile
from collections.abc import Iterable

from sam_tools import offers
from sam_tui.assembly import Options, build
from sam_tui.assembly.catalogue import FILE
from sam_tui.core.tooling.contract import Tool
from sam_tui.core.tooling.offer import advert_of


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


def main() -> None:
    """Build a runtime over an empty folder and write down what its tools say of themselves."""
    with tempfile.TemporaryDirectory() as folder:
        runtime = build(Options(folder, f"{folder}/data"), {"HOME": folder})
        tools = [offer.tool() for offer in offers(runtime, {})]
        FILE.write_text(text_of(tools), encoding="utf-8")
        runtime.release()


if __name__ == "__main__":
    main()
