"""A permission that nobody answers is a no, where a person wants that."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.core.errors import ConfigurationError
from sam_tui.core.inquiry import Answer, Inquiry
from tests.framework.bench import Bench, Person

pytestmark = pytest.mark.requirement("guard:unanswered")
Opened = Callable[..., Bench]


class Absent(Person):
    """A person who was asked and has gone."""

    def __call__(self, inquiry: Inquiry) -> Answer | None:
        self.asked.append(inquiry)
        return None


async def test_a_permission_that_nobody_answered_is_refused_and_said_so(
    opened: Opened, environ: dict[str, str], tmp_path: Path
) -> None:
    environ["SAM_TUI_ANSWER_MINUTES"] = "0.001"
    bench = opened(person=Absent())
    target = tmp_path / "outside.txt"
    said = await bench.bad("file_operations", {
        "operation": "create_file", "filePath": str(target), "content": "x",
    })  # fmt: skip
    assert "in time" in said and not target.exists()
    assert len(bench.person.approvals) == 1 and not bench.runtime.inquiries.pending()


@pytest.mark.parametrize("minutes", ["soon", "-1", "nan", "20000"])
def test_minutes_that_are_none_are_named(
    opened: Opened, environ: dict[str, str], minutes: str
) -> None:
    environ["SAM_TUI_ANSWER_MINUTES"] = minutes
    with pytest.raises(ConfigurationError, match=f"SAM_TUI_ANSWER_MINUTES is '{minutes}'"):
        opened()
