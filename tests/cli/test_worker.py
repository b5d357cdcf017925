"""``sam-tui worker`` and the roles that it takes."""

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
