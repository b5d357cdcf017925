"""The table of providers: model prefixes, addresses, and the variables that hold keys."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from sam_tui.adapters.llm.wire import Dialect


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models.

    ``prefix`` begins its model strings. ``base`` is its OpenAI-compatible address, empty if only
    litellm reaches it; ``base_variable`` overrides it. ``keys``: the variables that may hold its
    key, none for local servers. ``offer`` is the model offered if there is a key.
    """

    prefix: str
    title: str
    base: str = ""
    keys: tuple[str, ...] = ()
    base_variable: str = ""
    offer: str = ""
    dialect: Dialect = field(default_factory=Dialect)

    @property
    def host(self) -> str:
        """The host of the provider's own address; empty if it has none."""
        return urlsplit(self.base).hostname or ""

    def key(self, environment: Mapping[str, str]) -> str:
        """The key from the environment, or empty."""
        return next((v.strip() for k in self.keys if (v := environment.get(k, "")).strip()), "")


_STRICT = Dialect(strict=True, stream_options=False)
_ECHO = Dialect(echo_reasoning=True)

DIRECT = (
    Provider(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        "OPENAI_BASE_URL",
        "openai/gpt-5.2",
    ),
    Provider(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        "",
        "openrouter/auto",
        Dialect(owner="openrouter"),
    ),
    Provider(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        "",
        "mistral/mistral-medium-latest",
        _STRICT,
    ),
    Provider(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        "",
        "deepseek/deepseek-v4-pro",
        _ECHO,
    ),
    Provider(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        "",
        "groq/openai/gpt-oss-120b",
    ),
    Provider("xai", "xAI", "https://api.x.ai/v1", ("XAI_API_KEY",), "", "xai/grok-4.7"),
    Provider(
        "together_ai",
        "Together",
        "https://api.together.xyz/v1",
        ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"),
    ),
    Provider(
        "moonshot",
        "Moonshot",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY",),
        dialect=_ECHO,
    ),
    Provider("ollama", "Ollama", "http://127.0.0.1:11434/v1", (), "OLLAMA_API_BASE"),
    Provider("ollama_chat", "Ollama", "http://127.0.0.1:11434/v1", (), "OLLAMA_API_BASE"),
    Provider("lm_studio", "LM Studio", "http://127.0.0.1:1234/v1", (), "LM_STUDIO_API_BASE"),
    Provider("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    Provider("llamafile", "llamafile", "http://127.0.0.1:8080/v1", (), "LLAMAFILE_API_BASE"),
    Provider("hosted_vllm", "vLLM", "http://127.0.0.1:8000/v1", (), "HOSTED_VLLM_API_BASE"),
)
"""Providers that ``direct`` speaks to, in the order in which they are offered."""

THROUGH_LITELLM = (
    Provider(
        "anthropic",
        "Anthropic",
        keys=("ANTHROPIC_API_KEY",),
        offer="anthropic/claude-sonnet-5",
    ),
    Provider(
        "gemini",
        "Google Gemini",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        offer="gemini/gemini-3.8-flash",
    ),
)
"""Providers with a protocol of their own, reached through litellm, whose key is in one variable."""

OWN_WIRE = frozenset({
    *("anthropic", "azure", "azure_ai", "bedrock", "cohere", "cohere_chat", "databricks"),
    *("gemini", "huggingface", "replicate", "sagemaker", "sagemaker_chat", "snowflake"),
    *("triton", "vertex_ai", "vertex_ai_beta", "watsonx"),
})
"""Prefixes that need litellm even if an address is given: these servers do not speak OpenAI's protocol."""

_BY_PREFIX = {p.prefix: p for p in (*DIRECT, *THROUGH_LITELLM)}
_BARE = (
    (re.compile(r"(gpt|chatgpt)-|o[1-9](-|$)"), "openai"),
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gemini-"), "gemini"),
    (re.compile(r"deepseek-(chat|reasoner|v\d)"), "deepseek"),
    (re.compile(r"grok-"), "xai"),
)
_STRICT_MODELS = re.compile(r"mistral|mixtral|ministral|devstral|magistral|codestral|gemma", re.I)


def by_prefix(prefix: str) -> Provider | None:
    """The provider whose model strings begin so."""
    return _BY_PREFIX.get(prefix)


def of_bare_name(model: str) -> Provider | None:
    """The provider of a well-known name without a prefix, such as ``gpt-5.2`` or ``o3``."""
    return next((_BY_PREFIX[p] for pattern, p in _BARE if pattern.match(model)), None)


def of_base(base: str) -> Provider | None:
    """The provider that has its own address at the host of ``base``."""
    host = urlsplit(base).hostname or ""
    return next((p for p in DIRECT if p.keys and p.host == host), None)


def dialect_for(model: str, provider: Provider | None) -> Dialect:
    """Return the dialect of a model: by its provider, and by the known needs of its chat template."""
    dialect = provider.dialect if provider is not None else Dialect()
    return replace(dialect, strict=dialect.strict or wants_strict(model))


def wants_strict(model: str) -> bool:
    """Whether a model's chat template refuses two user messages, or one after a tool result."""
    return _STRICT_MODELS.search(model) is not None
