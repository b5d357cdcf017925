"""What litellm's table says of models, read without loading the library, and the person's own prices."""

import importlib.util
import json
import os
from collections.abc import Iterable, Mapping
from typing import cast

from sam_tui.core.ports.model import ModelFacts
from sam_tui.core.usage import Price

_TABLE = "model_prices_and_context_window_backup.json"


def facts_of(models: Iterable[str]) -> Mapping[str, ModelFacts]:
    """What is known, by model string; those of which nothing is known are left out.

    The file has three million bytes: to be called beside the loop.
    """
    spec = importlib.util.find_spec("litellm")
    folders = spec.submodule_search_locations if spec is not None else None
    try:
        with open(os.path.join((folders or [""])[0], _TABLE), "rb") as file:
            table = cast("Mapping[str, object]", json.load(file))
    except (OSError, ValueError):
        return {}
    found = {model: table.get(model) or table.get(model.partition("/")[2]) for model in models}
    return {
        model: _facts(cast("Mapping[str, object]", entry))
        for model, entry in found.items()
        if isinstance(entry, dict)
    }


def _facts(entry: Mapping[str, object]) -> ModelFacts:
    window = entry.get("max_input_tokens")
    per_million = {
        name: cost * 1_000_000
        for name in ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost")
        if isinstance(cost := entry.get(name), int | float)
    }
    price = None
    if "input_cost_per_token" in per_million and "output_cost_per_token" in per_million:
        price = Price(
            per_million["input_cost_per_token"],
            per_million["output_cost_per_token"],
            per_million.get("cache_read_input_token_cost"),
        )
    return ModelFacts(
        window if isinstance(window, int) else None,
        entry.get("supports_vision") is True,
        entry.get("supports_function_calling") is True,
        price,
    )
