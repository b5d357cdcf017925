"""A model that says nothing for long, in a run without a person."""

import asyncio
import io
from pathlib import Path

import pytest

from sam_tui.core.ports.model import TextDelta
from sam_tui.headless import ledger
from sam_tui.headless.request import HeadlessRequest
from sam_tui.headless.run import run_headless
from tests.fakes.engine_kit import RawModel
from tests.hooks.conftest import Place


class Reader(io.StringIO):
    """Standard error; ``heard`` is set once the words were written."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.heard = asyncio.Event()
        self._words = words

    def write(self, text: str) -> int:
        """Look for the words."""
        if self._words in text:
            self.heard.set()
        return super().write(text)


@pytest.mark.requirement("headless:silence")
async def test_a_model_that_says_nothing_for_long_is_reported_with_a_way_to_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "SILENCE_SECONDS", 0.0)
    err, out = Reader("The model has been silent"), io.StringIO()
    runtime = Place(tmp_path).build()
    runtime.use_model(RawModel([err.heard, TextDelta("at last")]))
    assert await run_headless(runtime, HeadlessRequest("go"), out, err=err) == 0
    assert out.getvalue() == "at last\n"
    assert "Ctrl+C (SIGINT) ends the run" in err.getvalue()
    assert "--request-timeout" in err.getvalue()
    await runtime.close()
