"""The facts about models: litellm's table, read without the library, and the person's own prices.

The prices stand in ``prices.toml`` in the settings folder.
"""

import importlib.util
import json
import os
from collections.abc import Iterable, Mapping
from typing import Annotated, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sam_tui.core.errors import ConfigurationError
from sam_tui.core.local_files.bounded import read_settings
from sam_tui.core.ports.model import ModelFacts
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.text.toml_lines import toml_table
from sam_tui.core.usage import Price

PRICES_FILE = "prices.toml"
_TABLE = "model_prices_and_context_window_backup.json"
_Dollars = Annotated[float, Field(ge=0, le=1e9, strict=True, allow_inf_nan=False)]
_PRICES_HINT = (
    'Write ["openai/my-model"], and below it input, output and cached: '
    "dollars for a million tokens."
)


class _PriceTable(BaseModel):
    model_config = ConfigDict(extra="forbid")

    input: _Dollars
    output: _Dollars
    cached: _Dollars | None = None


def read_prices(config_dir: str) -> Mapping[str, Price]:
    """Read model name -> price; empty without a file. Raises ``ConfigurationError`` for a faulty one."""
    path = os.path.join(config_dir, PRICES_FILE)
    content = toml_table(read_settings(path) or "", path, _PRICES_HINT)
    try:
        tables = TypeAdapter(dict[str, _PriceTable]).validate_python(content)
    except ValidationError as error:
        why = faults_of(error)[0]
        raise ConfigurationError(
            f"{path} is not a list of prices: {why}.", hint=_PRICES_HINT
        ) from error
    return {name: Price(table.input, table.output, table.cached) for name, table in tables.items()}


def facts_of(models: Iterable[str]) -> Mapping[str, ModelFacts]:
    """The facts about models by model string; models without any are left out.

    The table has three million bytes: call this on a thread.
    """
    spec = importlib.util.find_spec("litellm")
    folders = spec.submodule_search_locations if spec is not None else None
    try:
        with open(os.path.join((folders or [""])[0], _TABLE), "rb") as file:
            table = cast("Mapping[str, object]", json.load(file))
    except (OSError, ValueError):
        return {}
    entries = {model: table.get(model) or table.get(model.partition("/")[2]) for model in models}
    return {
        model: _facts(cast("Mapping[str, object]", entry))
        for model, entry in entries.items()
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
        sees if isinstance(sees := entry.get("supports_vision"), bool) else None,
        entry.get("supports_function_calling") is True,
        price,
    )
