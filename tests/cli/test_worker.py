"""Words of a command line that are refused: roles of ``sam-tui worker``, and options that do not exist."""

import pytest

from tests.cli.conftest import Command


@pytest.mark.requirement("plans:workers")
def test_a_worker_is_refused_a_role_that_cannot_be_handed_out(sam: Command) -> None:
    for role, words in {
        "Orchestrator": "cannot be handed out",
        "Nobody": "There are: FleetAgent, ",
        " , ": "--roles names no role",
    }.items():
        ended = sam("worker", "--roles", role)
        assert (ended.code, words in ended.err) == (2, True), ended.err


@pytest.mark.requirement("headless:routing")
def test_a_mistyped_option_is_an_error_that_names_the_closest(sam: Command) -> None:
    ended = sam("run", "--modle", "x")
    assert ended.code == 2 and "Did you mean '--model'?" in ended.err
