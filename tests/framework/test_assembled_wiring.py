"""What of the options reaches parts that are looked at in rare cases alone. Costs 0.5 s."""

import pytest

from sam_tui.core.errors import ConversationInUse
from sam_tui.core.ids import ConversationId
from tests.framework.bench import Person
from tests.framework.conftest import Opened


@pytest.mark.requirement("framework:assembled", "subagent:model-host")
async def test_where_no_turn_is_at_work_a_task_stays_at_the_host_of_the_model_asked_for(
    opened: Opened, environ: dict[str, str]
) -> None:
    environ |= {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "k"}
    environ["OLLAMA_API_BASE"] = "http://127.0.0.2:9"
    bench = opened(person=Person(agrees=False), model="openai/x")
    await bench.bad("run_subagent", task="secret task", model="ollama/other")
    (asked,) = bench.person.approvals
    assert "would be sent the whole task; yours is at 127.0.0.1:9" in asked.why
    assert "its model is at 127.0.0.2:9" in asked.why


@pytest.mark.requirement("framework:assembled")
def test_a_second_program_is_told_which_one_has_the_conversation(opened: Opened) -> None:
    first, second = (opened(program=f"sam-tui {name}").runtime for name in ("one", "two"))
    conversation = ConversationId("shared")
    first.conversations.claim(conversation)
    with pytest.raises(ConversationInUse, match="sam-tui one"):
        second.conversations.claim(conversation)
