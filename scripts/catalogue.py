"""Writes the file that the built-in tools are advertised with, from the tools themselves."""

import tempfile

from sam_tools import offers
from sam_tui.assembly import Options, build
from sam_tui.assembly.catalogue import FILE, text_of


def main() -> None:
    """Build a runtime over an empty folder and write down what its tools say of themselves."""
    with tempfile.TemporaryDirectory() as folder:
        runtime = build(Options(folder, f"{folder}/data"), {"HOME": folder})
        tools = [offer.tool() for offer in offers(runtime.parts, {})]
        FILE.write_text(text_of(tools), encoding="utf-8")
        runtime.parts.close()


if __name__ == "__main__":
    main()
