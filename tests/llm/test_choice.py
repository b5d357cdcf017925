"""Which adapter, address and key a wish comes to."""

from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.llm.choice import Wish, choose
from sam_tui.adapters.llm.direct import DirectModel
from sam_tui.adapters.llm.endpoint import Endpoint
from sam_tui.adapters.llm.litellm_model import LiteLLMModel
from sam_tui.adapters.llm.scripted import ScriptedModel
from sam_tui.core.errors import ConfigurationError, ModelAuthError, UsageError

KEYS = {
    "OPENAI_API_KEY": "openai-key",
    "OPENROUTER_API_KEY": "openrouter-key",
    "ANTHROPIC_API_KEY": "anthropic-key",
    "DEEPSEEK_API_KEY": "deepseek-key",
    "MISTRAL_API_KEY": "mistral-key",
    "GROQ_API_KEY": "groq-key",
}
LOCAL = "http://127.0.0.1:9/v1"


def endpoint(model: str, environment: dict[str, str] | None = None, **fields: Any) -> Endpoint:
    chosen = choose(Wish(model, **fields), KEYS if environment is None else environment)
    assert isinstance(chosen, DirectModel)
    assert chosen.name == model
    return chosen.endpoint


@pytest.mark.requirement("model:choice-auto")
@pytest.mark.parametrize(
    ("model", "base", "wire", "key"),
    [
        ("gpt-5.2", "https://api.openai.com/v1", "gpt-5.2", "openai-key"),
        ("o3", "https://api.openai.com/v1", "o3", "openai-key"),
        ("openai/gpt-5.2", "https://api.openai.com/v1", "gpt-5.2", "openai-key"),
        ("openrouter/a/b", "https://openrouter.ai/api/v1", "a/b", "openrouter-key"),
        ("openrouter/auto", "https://openrouter.ai/api/v1", "openrouter/auto", "openrouter-key"),
        ("deepseek/deepseek-chat", "https://api.deepseek.com/v1", "deepseek-chat", "deepseek-key"),
        (
            "groq/openai/gpt-oss-120b",
            "https://api.groq.com/openai/v1",
            "openai/gpt-oss-120b",
            "groq-key",
        ),
        ("mistral/devstral", "https://api.mistral.ai/v1", "devstral", "mistral-key"),
        ("ollama/qwen3:8b", "http://127.0.0.1:11434/v1", "qwen3:8b", ""),
        ("lm_studio/a/b", "http://127.0.0.1:1234/v1", "a/b", ""),
        ("hosted_vllm/m", "http://127.0.0.1:8000/v1", "m", ""),
        ("llamacpp/m", "http://127.0.0.1:8080/v1", "m", ""),
    ],
)
def test_known_providers_are_spoken_to_directly(model: str, base: str, wire: str, key: str) -> None:
    made = endpoint(model)
    assert (made.base, made.model, made.key) == (base, wire, key)
    assert made.priced is (not made.loopback)


@pytest.mark.requirement("model:choice-auto")
@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("anthropic/claude-sonnet-5", "anthropic/claude-sonnet-5"),
        ("claude-sonnet-5", "anthropic/claude-sonnet-5"),
        ("bedrock/x", "bedrock/x"),
        ("whatever", "whatever"),
    ],
)
def test_everything_else_goes_through_litellm(model: str, name: str) -> None:
    chosen = choose(Wish(model), KEYS)
    assert isinstance(chosen, LiteLLMModel)
    assert chosen.name == name


@pytest.mark.requirement("model:choice-base")
@pytest.mark.parametrize(
    ("model", "given", "base", "wire"),
    [
        ("m", "http://127.0.0.1:9", LOCAL, "m"),
        ("m", " http://127.0.0.1:9/v1/chat/completions/ ", LOCAL, "m"),
        ("m", "localhost:9", "http://localhost:9/v1", "m"),
        ("openai/m", LOCAL, LOCAL, "m"),
        ("maker/m", LOCAL, LOCAL, "maker/m"),
        ("claude-sonnet-5", LOCAL, LOCAL, "claude-sonnet-5"),
        ("ollama/m", "http://gpu.lan:11434", "http://gpu.lan:11434/v1", "m"),
        ("m", "https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1", "openrouter/m"),
        ("openai/m", "https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1", "openai/m"),
    ],
)
def test_an_address_makes_it_direct(model: str, given: str, base: str, wire: str) -> None:
    made = endpoint(model, api_base=given)
    assert (made.base, made.model) == (base, wire)


@pytest.mark.requirement("model:choice-base")
def test_an_address_of_another_wire_stays_with_litellm() -> None:
    chosen = choose(Wish("anthropic/claude-sonnet-5", api_base="http://127.0.0.1:9"), {})
    assert isinstance(chosen, LiteLLMModel)


@pytest.mark.requirement("model:choice-base")
def test_openai_base_url_is_respected_and_its_key_goes_there() -> None:
    environment = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1/", "OPENAI_API_KEY": "gateway-key"}
    assert endpoint("gpt-5.2", environment).base == LOCAL
    assert endpoint("own-model", environment).key == "gateway-key"
    assert endpoint("own-model", environment, provider="direct").base == LOCAL


@pytest.mark.requirement("model:keys")
def test_the_given_key_wins_then_ours_then_the_provider_s() -> None:
    environment = {"SAM_TUI_API_KEY": "ours", "OPENAI_API_KEY": "theirs"}
    assert endpoint("gpt-5.2", environment, api_key="given").key == "given"
    assert endpoint("gpt-5.2", environment).key == "ours"
    assert endpoint("gpt-5.2", {"OPENAI_API_KEY": " theirs\n"}).key == "theirs"
    assert endpoint("m", environment, api_base=LOCAL).key == "ours"


@pytest.mark.requirement("model:keys")
def test_a_provider_s_key_goes_to_no_other_provider_and_no_local_server() -> None:
    assert endpoint("m", api_base=LOCAL).key == ""
    assert endpoint("openai/m", api_base=LOCAL).key == ""
    assert endpoint("ollama/m", api_base="http://gpu.lan:11434").key == ""
    assert endpoint("openai/m", api_base="https://api.groq.com/openai/v1").key == "groq-key"
    # So what names the variable after a refusal does not name that provider's.
    assert endpoint("openai/m", api_base=LOCAL).key_variable == "SAM_TUI_API_KEY"
    assert endpoint("openai/m").key_variable == "OPENAI_API_KEY"


@pytest.mark.requirement("model:keys")
@pytest.mark.parametrize(
    ("model", "fields", "variable"),
    [
        ("gpt-5.2", {}, "OPENAI_API_KEY"),
        ("openrouter/a/b", {}, "OPENROUTER_API_KEY"),
        ("groq/m", {}, "GROQ_API_KEY"),
        ("m", {"api_base": "https://models.example/v1"}, "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-5", {}, "ANTHROPIC_API_KEY"),
        ("gemini-3.8-flash", {}, "GEMINI_API_KEY"),
        ("openai/gpt-5.2", {"provider": "litellm"}, "OPENAI_API_KEY"),
    ],
)
def test_a_missing_key_names_the_variable(
    model: str, fields: dict[str, Any], variable: str
) -> None:
    with pytest.raises(ModelAuthError) as caught:
        choose(Wish(model, **fields), {})
    assert variable in str(caught.value) and variable in caught.value.hint


@pytest.mark.requirement("model:dialects")
def test_providers_get_the_dialect_they_want() -> None:
    assert endpoint("mistral/m").dialect.strict
    assert not endpoint("mistral/m").dialect.stream_options
    assert endpoint("deepseek/m").dialect.echo_reasoning
    assert endpoint("openrouter/a/b").dialect.owner == "openrouter"
    assert endpoint("openrouter/a/b").options == {"usage": {"include": True}}
    assert endpoint("ollama/devstral").dialect.strict
    assert not endpoint("ollama/qwen3").dialect.strict


@pytest.mark.requirement("model:choice-auto")
def test_a_script_is_a_model_string(tmp_path: Path) -> None:
    file = tmp_path / "play.json"
    file.write_text('[{"text": "hi"}]', "utf-8")
    assert isinstance(choose(Wish(f"scripted:{file}"), {}), ScriptedModel)
    assert isinstance(choose(Wish(str(file), provider="scripted"), {}), ScriptedModel)
    assert isinstance(choose(Wish("scripted"), {}), ScriptedModel)
    with pytest.raises(ConfigurationError):
        choose(Wish("scripted:/nonexistent.json"), {})


@pytest.mark.requirement("model:choice-base")
@pytest.mark.parametrize(
    "wish",
    [
        Wish(""),
        Wish("m", provider="direct"),
        Wish("anthropic/m", provider="direct"),
        Wish("m", api_base="http://[bad"),
        Wish("m", api_base="http://127.0.0.1:nine/v1"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(wish: Wish) -> None:
    with pytest.raises(UsageError):
        choose(wish, KEYS)


@pytest.mark.requirement("model:key-never-shown")
def test_a_wish_does_not_show_its_key() -> None:
    assert "sk-1" not in repr(Wish("m", api_key="sk-1"))
