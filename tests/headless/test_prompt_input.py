"""Where a prompt comes from, and that nothing waits for a pipe that says nothing."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sam_tui.core.errors import UsageError
from sam_tui.headless.prompt_input import LARGEST, PromptInput, read_prompt

Pipe = tuple[int, int]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """A pipe: (reading end, writing end)."""
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            pass


def filled(pipe: Pipe, data: bytes) -> int:
    """The reading end of a pipe with these bytes and then its end."""
    os.write(pipe[1], data)
    os.close(pipe[1])
    return pipe[0]


@pytest.mark.requirement("headless:stdin")
def test_a_dash_or_no_prompt_reads_standard_input_to_its_end(pipe: Pipe, tmp_path: Path) -> None:
    assert read_prompt(None, filled(pipe, "do ünïcode\n".encode())).text == "do ünïcode\n"
    path = tmp_path / "prompt.txt"
    path.write_bytes(b"\xef\xbb\xbffrom a file \xff")
    with path.open("rb") as file:
        prompt = read_prompt("-", file.fileno())
    assert prompt.text == "from a file \ufffd"
    assert len(prompt.warnings) == 1 and "is not valid UTF-8" in prompt.warnings[0]


@pytest.mark.requirement("headless:stdin")
def test_input_that_comes_late_is_waited_for_where_there_is_no_prompt(pipe: Pipe) -> None:
    threading.Timer(0.05, filled, (pipe, b"late")).start()
    assert read_prompt(None, pipe[0], probe=0.0).text == "late"


@pytest.mark.requirement("headless:stdin-never-hangs")
def test_a_silent_open_pipe_beside_a_prompt_is_left_alone_with_a_warning(pipe: Pipe) -> None:
    prompt = read_prompt("do it", pipe[0], probe=0.01)
    assert prompt.text == "do it"
    assert len(prompt.warnings) == 1 and "sent nothing" in prompt.warnings[0]


@pytest.mark.requirement("headless:stdin")
def test_a_pipe_that_speaks_is_attached_to_the_prompt(pipe: Pipe) -> None:
    prompt = read_prompt("review", filled(pipe, b"diff --git\n+x\n"))
    assert prompt == PromptInput("review\n\n<stdin>\ndiff --git\n+x\n</stdin>")


@pytest.mark.requirement("headless:stdin")
def test_a_pipe_that_ends_without_a_word_adds_nothing(pipe: Pipe) -> None:
    assert read_prompt("do it", filled(pipe, b"")) == PromptInput("do it")


@pytest.mark.requirement("headless:stdin")
def test_dev_null_and_a_closed_input_add_nothing() -> None:
    with open(os.devnull, "rb") as null:
        assert read_prompt("do it", null.fileno()) == PromptInput("do it")
    assert read_prompt("do it", None) == PromptInput("do it")


@pytest.mark.requirement("headless:stdin")
def test_a_regular_file_beside_a_prompt_is_attached(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("remember", encoding="utf-8")
    with path.open("rb") as file:
        assert read_prompt("go", file.fileno()).text == "go\n\n<stdin>\nremember\n</stdin>"


@pytest.mark.requirement("headless:stdin")
def test_forcing_waits_for_the_end_of_a_silent_pipe(pipe: Pipe) -> None:
    threading.Timer(0.05, filled, (pipe, b"slow")).start()
    assert "slow" in read_prompt("go", pipe[0], forced=True, probe=0.0).text


@pytest.mark.requirement("headless:stdin")
def test_an_input_left_non_blocking_by_its_owner_is_read_whole(pipe: Pipe) -> None:
    os.set_blocking(pipe[0], False)
    threading.Timer(0.05, filled, (pipe, b"later")).start()
    assert read_prompt("-", pipe[0]).text == "later"


@pytest.mark.requirement("headless:stdin")
def test_a_terminal_is_not_read_beside_a_prompt_nor_waited_for_without_one() -> None:
    controller, terminal = os.openpty()
    try:
        assert read_prompt("do it", terminal) == PromptInput("do it")
        with pytest.raises(UsageError, match="no prompt"):
            read_prompt(None, terminal)
    finally:
        os.close(controller)
        os.close(terminal)


@pytest.mark.requirement("headless:empty-prompt")
@pytest.mark.parametrize("argument", ["", " \n\t"])
def test_an_empty_prompt_is_a_usage_error(argument: str) -> None:
    with pytest.raises(UsageError, match="empty") as caught:
        read_prompt(argument, None)
    assert caught.value.exit_code == 2


@pytest.mark.requirement("headless:empty-prompt")
def test_an_empty_standard_input_without_a_prompt_is_a_usage_error(pipe: Pipe) -> None:
    with pytest.raises(UsageError, match="empty"):
        read_prompt(None, filled(pipe, b"  \n"))
    with pytest.raises(UsageError, match="no prompt"):
        read_prompt("-", None)


@pytest.mark.requirement("headless:stdin-cap")
def test_ten_megabytes_are_read_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"x" * LARGEST)
    with path.open("rb") as file:
        assert len(read_prompt("-", file.fileno()).text) == LARGEST
    with path.open("ab") as file:
        file.write(b"y")
    with path.open("rb") as file, pytest.raises(UsageError, match="larger than 10 MB"):
        read_prompt("-", file.fileno())


@pytest.mark.requirement("headless:stdin-cap")
def test_an_endless_input_is_refused_too() -> None:
    with open("/dev/zero", "rb") as zero, pytest.raises(UsageError, match="larger than 10 MB"):
        read_prompt("go", zero.fileno())
