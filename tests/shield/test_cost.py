"""The shield stands in every way out, so that what it does for a small text is little."""

import json
from collections import Counter
from pathlib import Path

import pytest

from sam_tui.assembly import Options, build
from sam_tui.core.ids import CallId
from sam_tui.core.messages import ToolCall
from sam_tui.core.redaction.shield import Shield
from sam_tui.core.tooling.redaction import MaskedStream
from tests.fakes.counting import counted_calls

_PARTS = {
    ("redaction", f"{name}.py")
    for name in ("shield", "assignments", "forms", "key_blocks", "divided", "continued", "dumps")
} | {("text", name) for name in ("invisible.py", "spellings.py")}


def of_the_shield(calls: Counter[str]) -> int:
    """The calls of its own modules."""
    return sum(number for file, number in calls.items() if Path(file).parts[-2:] in _PARTS)


@pytest.mark.requirement("shield:small-texts")
@pytest.mark.parametrize("known", [0, 40])
def test_a_short_text_without_secrets_costs_a_few_calls(known: int) -> None:
    shield = Shield({f"NAME_{n}": f"value-{n}-a8f3e9c2b7{n}" for n in range(known)})
    for text in ("hello, world!", "größer", "the key of it", ""):
        shield.mask(text)  # what is compiled once is no cost of every text
        with counted_calls() as calls:
            masked = shield.mask(text)
        assert masked.text == text
        assert of_the_shield(calls) <= 16, text


@pytest.mark.requirement("shield:small-texts")
async def test_reading_a_file_of_six_bytes_is_not_spent_on_the_shield(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("hello\n", encoding="utf-8")
    options = Options(str(tmp_path / "ws"), str(tmp_path / "data"))
    runtime = build(options, {"HOME": str(tmp_path), "SOME_API_KEY": "v4lue-0f-" + "a1b2c3d4" * 3})
    conversation = runtime.open_session().conversation
    arguments = json.dumps({"operation": "read_file", "filePath": "a.txt"})

    async def read(number: int) -> bool:
        call = ToolCall(CallId(f"c{number}"), "file_operations", arguments)
        return (await runtime.executor.execute(call, conversation)).finished.ok

    assert await read(0)
    with counted_calls() as calls:
        assert await read(1)
    await runtime.close()
    assert of_the_shield(calls) <= 220
    assert of_the_shield(calls) < calls.total() / 2


@pytest.mark.requirement("shield:small-texts")
@pytest.mark.parametrize("before", ["", "output\n", "SECRET='"])
def test_a_private_key_that_comes_in_pieces_is_searched_once(before: str) -> None:
    body = "".join(f"{n:032x}{n * n:032x}\n" for n in range(300))
    text = f"{before}-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----'\nafter\n"
    shown: list[str] = []
    stream = MaskedStream(Shield(), shown.append)
    with counted_calls() as calls:
        for start in range(0, len(text), 65):
            stream.add(text[start : start + 65])
        stream.end()
    assert "".join(shown).count("<secret:") == 1
    assert body[:64] not in "".join(shown)
    assert "".join(shown).endswith("\nafter\n")
    taken = sum(n for file, n in calls.items() if file.endswith("core/tooling/redaction.py"))
    assert taken < len(text) // 65 * 1.2  # most pieces are only added
