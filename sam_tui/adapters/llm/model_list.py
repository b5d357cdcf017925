"""litellm's list of models: what they cost and how much they take. An unknown one is None."""

from typing import Any


def cost_of(litellm: Any, model: str, native: Any) -> float | None:
    """US dollars for a usage in litellm's own form."""
    try:
        parts = litellm.cost_per_token(model=model, usage_object=native)
    except (*_unknown(litellm), ValueError, KeyError, TypeError):
        return None
    return float(sum(parts))


def context_of(litellm: Any, model: str) -> int | None:
    """Tokens that a request may hold."""
    try:
        return litellm.get_model_info(model).get("max_input_tokens")
    except (*_unknown(litellm), ValueError, KeyError):
        return None


def _unknown(litellm: Any) -> tuple[type[Exception], ...]:
    return (litellm.exceptions.ModelNotMappedError, litellm.exceptions.BadRequestError)
