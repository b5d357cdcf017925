"""Tokens: readable, unguessable, stored as a hash, good once, and refused with the right code."""

import base64
import json
import sqlite3
import threading
from typing import Any

import pytest

from sam_tui.adapters.workflows import open_workflows
from sam_tui.core.workflow.execution.tickets import mint_token, read_token, token_hash
from sam_tui.core.workflow.views import WorkflowRefused
from tests.workflow.bench import DONE, Bench, code_of, opened

TWO = "steps: [{id: a, prompt: a}, {id: b, prompt: b, needs: [a]}]"


def made(**changes: Any) -> str:
    """A token of the right shape that nobody gave out."""
    fields = {
        "execution_id": "exec_1",
        "step_name": "a",
        "issued_at": "2024-01-01T00:00:00.000Z",
        "nonce": "ab" * 32,
    } | changes
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()


@pytest.mark.requirement("workflow:token-shape")
def test_a_token_has_the_documented_shape_and_256_random_bits(bench: Bench) -> None:
    done = bench.begin(TWO)
    token = done.opened[0].token
    assert "=" not in token
    said = read_token(token)
    assert (said["execution_id"], said["step_name"]) == (done.execution_id, "a")
    assert said["issued_at"] == "1970-01-12T13:46:40.000Z"
    assert len(bytes.fromhex(said["nonce"])) == 32
    padded = token + "=" * (-len(token) % 4 or 1)  # as some clients send it
    assert (read_token(padded), token_hash(padded)) == (said, token_hash(token))
    assert mint_token("e", "s", "a", 0.0)[0] != mint_token("e", "s", "a", 0.0)[0]


@pytest.mark.requirement("workflow:token-hash")
def test_the_store_holds_no_token_only_its_hash(bench: Bench) -> None:
    token = bench.begin(TWO).opened[0].token
    bench.close()
    raw = b"".join(
        file.read_bytes() for file in (bench.folder / "data").iterdir() if file.is_file()
    )
    assert token.encode() not in raw
    assert read_token(token)["nonce"].encode() not in raw
    assert token_hash(token).encode() in raw


@pytest.mark.requirement("workflow:token-refusals")
@pytest.mark.parametrize(
    "token",
    [
        "", "invalid_token", "e30", "====", "é", "x" * 5000, made(nonce=""), made(issued_at="soon"),
        made(step_name=7),
    ],
)  # fmt: skip
def test_what_is_no_token_is_malformed(bench: Bench, token: str) -> None:
    bench.begin(TWO)
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(token, DONE)
    assert code_of(refused) == "token_malformed"


@pytest.mark.requirement("workflow:token-refusals")
def test_a_self_made_token_for_the_open_step_is_forged(bench: Bench) -> None:
    done = bench.begin(TWO)
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(made(execution_id=done.execution_id), DONE)
    assert code_of(refused) == "token_forged"
    assert bench.steps(done.execution_id)["a"] == "running"
    assert bench.types(done.execution_id)[-1] == "refused"


@pytest.mark.requirement("workflow:token-refusals")
def test_a_changed_token_is_forged(bench: Bench) -> None:
    token = bench.begin(TWO).opened[0].token
    fields = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    changed = made(**(fields | {"step_name": "b"}))
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(changed, DONE)
    assert code_of(refused) == "token_forged"


@pytest.mark.requirement("workflow:token-once")
def test_a_token_works_once(bench: Bench) -> None:
    done = bench.begin(TWO)
    assert opened(bench.workflows.advance(done.opened[0].token, DONE)) == ["b"]
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(done.opened[0].token, DONE)
    assert code_of(refused) == "token_replayed"
    assert bench.steps(done.execution_id) == {"a": "completed", "b": "running"}


@pytest.mark.requirement("workflow:token-refusals")
@pytest.mark.parametrize(("hours", "good"), [(1, True), (23, True), (25, False), (9000, False)])
def test_a_clock_that_is_put_back_makes_no_token_last_and_loses_no_work(
    bench: Bench, hours: int, good: bool
) -> None:
    done = bench.begin(TWO)
    bench.clock.time -= hours * 3600
    token = done.opened[0].token
    if not good:
        with pytest.raises(WorkflowRefused) as refused:
            bench.workflows.advance(token, DONE)
        assert code_of(refused) == "token_expired"
        token = bench.workflows.tickets(done.execution_id)[0].token
    assert opened(bench.workflows.advance(token, DONE)) == ["b"]


@pytest.mark.requirement("workflow:token-refusals")
def test_a_token_expires_after_24_hours(bench: Bench) -> None:
    done = bench.begin(TWO)
    bench.clock.time += 86_399
    late = bench.workflows.tickets(done.execution_id)[0]
    bench.clock.time += 1
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(done.opened[0].token, DONE)
    assert code_of(refused) == "token_expired"
    assert bench.types(done.execution_id)[-1] == "token_expired"
    assert bench.workflows.advance(late.token, DONE).state == "running"


@pytest.mark.requirement("workflow:token-refusals")
def test_a_token_of_another_execution_is_foreign(bench: Bench) -> None:
    first, second = bench.begin(TWO), bench.workflows.start("flow")
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(first.opened[0].token, DONE, execution_id=second.execution_id)
    assert code_of(refused) == "token_foreign"
    named = bench.workflows.advance(first.opened[0].token, DONE, execution_id=first.execution_id)
    assert opened(named) == ["b"]


@pytest.mark.requirement("workflow:token-attempt")
def test_a_token_of_an_earlier_attempt_is_void_once_the_step_is_opened_again(
    bench: Bench,
) -> None:
    done = bench.begin("steps: [{id: a, prompt: a, attempts: 3}]")
    again = bench.workflows.fail_step(done.execution_id, "a", "it broke")
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(done.opened[0].token, DONE)
    assert code_of(refused) == "token_revoked"
    assert again.opened[0].attempt == 2
    assert bench.workflows.advance(again.opened[0].token, DONE).state == "completed"


@pytest.mark.requirement("workflow:token-attempt")
def test_several_tokens_of_an_attempt_are_good_and_one_use_voids_the_others(bench: Bench) -> None:
    done = bench.begin(TWO)
    more = [bench.workflows.tickets(done.execution_id)[0].token for _ in range(9)]
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(done.opened[0].token, DONE)  # the oldest of ten
    assert code_of(refused) == "token_revoked"
    bench.workflows.advance(more[4], DONE)
    for token in (more[8], more[7]):
        with pytest.raises(WorkflowRefused) as refused:
            bench.workflows.advance(token, DONE)
        assert code_of(refused) == "token_revoked"


@pytest.mark.requirement("workflow:token-once")
def test_of_several_processes_with_one_token_exactly_one_advances(bench: Bench) -> None:
    done = bench.begin(TWO)
    token, codes = done.opened[0].token, list[str]()
    barrier = threading.Barrier(4)

    def race() -> None:
        store = open_workflows(bench.folder / "data")
        workflows = bench.another(store)
        barrier.wait()
        try:
            workflows.advance(token, DONE)
            codes.append("advanced")
        except WorkflowRefused as refusal:
            codes.append(refusal.code)
        finally:
            store.close()

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == ["advanced", *["token_replayed"] * 3]
    assert len(bench.workflows.records.history(done.execution_id)) == 2


@pytest.mark.requirement("workflow:token-hash")
def test_the_database_itself_refuses_two_open_attempts_at_one_step(bench: Bench) -> None:
    done = bench.begin(TWO)
    connection = sqlite3.connect(bench.store.path)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(
            "INSERT INTO attempts SELECT 'x', execution, step, 9, task, status, driver,"
            " conversation, output_json, error, started_at, deadline, ended_at FROM attempts"
            " WHERE execution = ?",
            (done.execution_id,),
        )
    connection.close()
