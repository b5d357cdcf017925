"""The person's own prices of models: ``prices.toml`` in the settings folder."""

import os
import tomllib
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sam_tui.core.errors import ConfigurationError
from sam_tui.core.usage import Price

PRICES_FILE = "prices.toml"
_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _PriceTable(BaseModel):
    model_config = ConfigDict(extra="forbid")

    input: _Dollars
    output: _Dollars
    cached: _Dollars | None = None


def read_prices(config_dir: str) -> Mapping[str, Price]:
    """Model name -> price; empty without a file. Raises ``ConfigurationError`` for one that is wrong."""
    path = os.path.join(config_dir, PRICES_FILE)
    try:
        with open(path, "rb") as file:
            tables = TypeAdapter(dict[str, _PriceTable]).validate_python(tomllib.load(file))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigurationError(f"{path} could not be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError) as error:
        raise ConfigurationError(
            f"{path} is no list of prices: {str(error).splitlines()[-1].strip()}",
            hint='Write ["openai/my-model"], and below it input, output and cached in dollars for a'
            " million tokens.",
        ) from error
    return {name: Price(table.input, table.output, table.cached) for name, table in tables.items()}
