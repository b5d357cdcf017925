"""Answers of a JSON schema: asked for, judged, and asked for again."""

import json
import os
import re
from typing import cast

from sam_tui.core.errors import UsageError
from sam_tui.core.local_files.bounded import UnusableFile, read_named

REPAIRS = 2
"""How often the model is asked to correct an answer that does not fit the schema."""
_MOST = 1_000_000
_LONGEST_FAULT = 500
_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)
Schema = dict[str, object]


class WrongStructure(ValueError):
    """An answer that is not JSON of the schema, and why."""


def read_schema(source: str) -> Schema:
    """The schema that a text or a file holds. Raises ``UsageError``."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        text = source if source.lstrip()[:1] == "{" else _text_of(source)
        value: object = json.loads(text)
        if not isinstance(value, dict):
            raise UsageError("--json-schema must be a JSON object.")
        schema = cast("Schema", value)
        validator_for(schema).check_schema(schema)
    except UnusableFile as error:
        raise UsageError(f"--json-schema: {source} {error}.") from error
    except (ValueError, RecursionError, SchemaError) as error:
        why = error.message if isinstance(error, SchemaError) else str(error)
        raise UsageError(f"--json-schema is not a JSON schema: {why}.") from error
    return schema


def _text_of(path: str) -> str:
    return read_named(os.path.expanduser(path), most=_MOST).decode("utf-8-sig")


def with_schema(prompt: str, schema: Schema) -> str:
    """A prompt that demands an answer in JSON of the schema."""
    instruction = (
        "When you are done, answer with JSON of this schema alone, without any other text:"
    )
    return f"{prompt}\n\n{instruction}\n{json.dumps(schema)}"


def structured(answer: str, schema: Schema) -> object:
    """The value that an answer holds. Raises ``WrongStructure``.

    External references of a schema are never fetched.
    """
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    fenced = _FENCE.fullmatch(answer)
    try:
        value = json.loads(fenced[1] if fenced else answer, parse_constant=_no_number)
        validator_for(schema)(schema, registry=Registry()).validate(value)
    except ValidationError as error:
        raise WrongStructure(f"{error.json_path}: {error.message[:_LONGEST_FAULT]}") from error
    except (ValueError, RecursionError, Unresolvable) as error:
        raise WrongStructure(str(error)[:_LONGEST_FAULT]) from error
    return value


def repair(fault: WrongStructure) -> str:
    """The message to the model about an answer that does not fit the schema."""
    return f"That is not JSON of the schema: {fault}\nAnswer with the corrected JSON alone."


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
