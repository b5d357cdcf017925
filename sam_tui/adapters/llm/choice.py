"""The choice of a model: adapter, address and key from the person's settings and environment."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlunsplit

from sam_tui.adapters.llm.direct import DirectModel
from sam_tui.adapters.llm.endpoint import Endpoint, host_of, is_loopback, split, warm_http
from sam_tui.adapters.llm.providers import (
    OWN_WIRE,
    Provider,
    by_prefix,
    dialect_for,
    of_bare_name,
    of_base,
)
from sam_tui.core.errors import ModelAuthError, UsageError
from sam_tui.core.ports.model import Model
from sam_tui.core.usage import Price

Route = Literal["auto", "direct", "litellm", "scripted"]
OWN_KEY = "SAM_TUI_API_KEY"
_NO_KEY = "none"
"""The key for a local server that needs none: without a key, litellm would send the provider's."""
_SUFFIX = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Wish:
    """The person's choice of a model.

    ``model`` is a litellm model string, a bare name, ``scripted`` (the embedded script) or
    ``scripted:FILE``. ``timeout`` is in seconds between bytes. ``options`` are further fields of the
    request, such as ``temperature``. ``sight``: whether the model takes images, ``price``: its price at its
    provider; None where that is not known.
    """

    model: str
    api_base: str = ""
    api_key: str = field(default="", repr=False)
    provider: Route = "auto"
    timeout: float = 300.0
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sight: Callable[[], bool | None] = lambda: None
    price: Callable[[], Price | None] = lambda: None


def choose(wish: Wish, environment: Mapping[str, str]) -> Model:
    """Return the model for a wish; nothing is connected or loaded yet.

    Raises UsageError for an impossible choice, ModelAuthError for a missing key, and
    ConfigurationError for a file that is no script.
    """
    wish = _tidied(wish)
    if _is_scripted(wish):
        return _scripted(wish)
    if _goes_direct(wish, environment):
        endpoint = endpoint_for(wish, environment)
        return DirectModel(endpoint, sight=wish.sight, price=wish.price)
    return _litellm(wish, environment)


def destination(wish: Wish, environment: Mapping[str, str]) -> str:
    """The host of requests for a wish, in the form of ``Model.host``. Raises ``UsageError``."""
    wish = _tidied(wish)
    if _is_scripted(wish):
        return ""
    if _goes_direct(wish, environment):
        return host_of(_base(wish, _meant(wish.model), environment)[0])
    return host_of(wish.api_base) if wish.api_base else _litellm_name(wish.model).partition("/")[0]


def speaks_own_wire(model: str) -> bool:
    """Whether a model is reached by its provider's own protocol, so that no other address works."""
    prefix, slash, _ = model.partition("/")
    return bool(slash) and prefix in OWN_WIRE


def with_tidy_address(wish: Wish) -> Wish:
    """The wish with its address in the form that requests begin with. Raises ``UsageError`` for an invalid
    address."""
    wish = replace(wish, model=wish.model.strip(), api_base=_tidy(wish.api_base))
    if wish.api_base:
        split(wish.api_base)
    return wish


def _tidied(wish: Wish) -> Wish:
    wish = with_tidy_address(wish)
    if not wish.model:
        raise UsageError(
            "No model was named.", hint="Choose one with --model, such as ollama/qwen3."
        )
    return wish


def _is_scripted(wish: Wish) -> bool:
    named = wish.model == "scripted" or wish.model.startswith("scripted:")
    return named or wish.provider == "scripted"


def warm(model: Model) -> threading.Thread | None:
    """Load the parts for the model's first request, on a daemon thread; for after the first frame."""
    if isinstance(model, DirectModel):
        thread = threading.Thread(target=warm_http, name="warm-httpx", daemon=True)
        thread.start()
        return thread
    from sam_tui.adapters.llm import litellm_model

    return litellm_model.warm() if isinstance(model, litellm_model.LiteLLMModel) else None


def _scripted(wish: Wish) -> Model:
    from sam_tui.adapters.llm.scripted import ScriptedModel  # its pydantic models take 20 ms

    file = wish.model.removeprefix("scripted").removeprefix(":")
    return ScriptedModel.from_file(file) if file else ScriptedModel.embedded()


def _goes_direct(wish: Wish, environment: Mapping[str, str]) -> bool:
    if wish.provider != "auto":
        return wish.provider == "direct"
    prefix, slash, _ = wish.model.partition("/")
    if speaks_own_wire(wish.model):
        return False
    if wish.api_base:
        return True
    provider = by_prefix(prefix) if slash else of_bare_name(wish.model)
    if provider is None:
        return not slash and bool(environment.get("OPENAI_BASE_URL", "").strip())
    return bool(provider.base)


def endpoint_for(wish: Wish, environment: Mapping[str, str]) -> Endpoint:
    """The OpenAI-compatible endpoint a wish means."""
    named = _named(wish.model)
    base, from_environment = _base(wish, _meant(wish.model), environment)
    local = is_loopback(base)
    anonymous = local and not from_environment
    owner = _owner(base, named, anonymous=anonymous)
    key = _key(wish, owner, environment, local=anonymous)
    keys = (OWN_KEY,) if owner is None or anonymous else owner.keys
    if keys and not (key or local):
        raise _keyless(split(base).hostname or base, keys[0])
    own_host = _is_at_home(owner, base)
    return Endpoint(
        model=_wire_name(wish.model, named, base),
        base=base,
        name=wish.model,
        key=key,
        key_variable=next(iter(keys), OWN_KEY),
        timeout=wish.timeout,
        priced=own_host and not local,
        dialect=dialect_for(wish.model, owner if own_host or named else None),
        options=_options(wish, owner),
    )


def _owner(base: str, named: Provider | None, *, anonymous: bool) -> Provider | None:
    """The provider whose protocol an address has: the host's owner, else the named one, else OpenAI."""
    return of_base(base) or named or (None if anonymous else by_prefix("openai"))


def _is_at_home(owner: Provider | None, base: str) -> bool:
    """Whether an address is the provider's own, not another server with its protocol."""
    return owner is not None and owner.host == split(base).hostname


def _named(model: str) -> Provider | None:
    """The provider that a model string begins with, if it has an address of its own."""
    prefix, slash, _ = model.partition("/")
    named = by_prefix(prefix) if slash else None
    return named if named is not None and named.base else None


def _meant(model: str) -> Provider | None:
    return _named(model) or (None if "/" in model else of_bare_name(model))


def model_string(name: str, beside: str) -> str:
    """Return the model string for a server's ``name``, at the address that serves ``beside``."""
    like = _named(beside)
    if like is not None:
        return f"{like.prefix}/{name}"
    return f"openai/{name}" if _named(name) is not None or speaks_own_wire(name) else name


def _base(wish: Wish, meant: Provider | None, environment: Mapping[str, str]) -> tuple[str, bool]:
    """The address, and whether the environment gave it."""
    if wish.api_base:
        local = meant is not None and not meant.keys
        return _with_path(wish.api_base, local=local), False
    provider = meant if meant is not None and meant.base else None
    variable = provider.base_variable if provider is not None else "OPENAI_BASE_URL"
    configured = _tidy(environment.get(variable, "")) if variable else ""
    if configured:
        return _with_path(configured, local=provider is not None and not provider.keys), True
    if provider is None:
        raise UsageError(
            f"There is no known address for the model {wish.model!r}.",
            hint="Set the server's address with --api-base, or use --provider litellm.",
        )
    return provider.base, False


def _key(wish: Wish, owner: Provider | None, environment: Mapping[str, str], *, local: bool) -> str:
    """The key to send. A provider's own key goes to no local server, unless the environment names the
    server together with the key."""
    key = wish.api_key.strip() or environment.get(OWN_KEY, "").strip()
    if key or owner is None or local:
        return key
    return owner.key(environment)


def _keyless(where: str, variable: str) -> ModelAuthError:
    alternative = f" or {OWN_KEY}" if variable != OWN_KEY else ""
    return ModelAuthError(
        f"There is no key for {where}: {variable} is not set.",
        hint=f"Set {variable}{alternative}, or pass --api-key (any word if the server needs none).",
    )


def _wire_name(model: str, named: Provider | None, base: str) -> str:
    """The model's name at the server. OpenRouter's own names have a maker before the slash."""
    owner = of_base(base)
    if owner is not None and owner.prefix == "openrouter":
        name = model.removeprefix("openrouter/")
        return name if "/" in name else f"openrouter/{name}"
    return model.partition("/")[2] if named is not None else model


def _options(wish: Wish, owner: Provider | None) -> Mapping[str, object]:
    if owner is not None and owner.prefix == "openrouter":
        return {"usage": {"include": True}, **wish.options}  # makes OpenRouter report the cost
    return wish.options


def _litellm(wish: Wish, environment: Mapping[str, str]) -> Model:
    from sam_tui.adapters.llm.litellm_model import LiteLLMModel, LiteLLMOptions

    prefix, slash, _ = wish.model.partition("/")
    provider = by_prefix(prefix) if slash else of_bare_name(wish.model)
    model = _litellm_name(wish.model)
    key = wish.api_key.strip() or environment.get(OWN_KEY, "").strip()
    variable, local = "", bool(wish.api_base) and is_loopback(wish.api_base)
    if local:
        # Without a key litellm sends the provider's, as the environment has it.
        variable, key = OWN_KEY, key or _NO_KEY
    elif provider is not None and provider.keys:
        variable = provider.keys[0]
        key = key or provider.key(environment)
        if not key and not wish.api_base:
            raise _keyless(provider.title, variable)
    options = LiteLLMOptions(
        api_base=wish.api_base,
        api_key=key,
        key_variable=variable,
        timeout=wish.timeout,
        priced=not local,
        sight=wish.sight,
        extra=wish.options,
    )
    return LiteLLMModel(model, options)


def _litellm_name(model: str) -> str:
    # litellm takes a bare gemini-* for Vertex; everybody with a Gemini key means the other one.
    provider = None if "/" in model else of_bare_name(model)
    return model if provider is None else f"{provider.prefix}/{model}"


def _tidy(base: str) -> str:
    """An address without pasted extras: spaces, slashes, the path of the endpoint."""
    base = base.strip().rstrip("/").removesuffix(_SUFFIX).rstrip("/")
    if base and "://" not in base:
        host = base.partition("/")[0]
        base = f"http://{base}" if is_loopback(f"http://{host}") else f"https://{base}"
    return base


def _with_path(base: str, *, local: bool) -> str:
    """The address, with ``/v1`` for a local server's address without a path."""
    parts = split(base)
    if parts.path or not (local or is_loopback(base)):
        return base
    return urlunsplit(parts._replace(path="/v1"))
