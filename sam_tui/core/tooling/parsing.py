"""What the model wrote -> an operation's typed arguments, or a sentence on each that is wrong."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from sam_tui.core.errors import InvalidArguments
from sam_tui.core.tooling.arguments import Arguments, UnknownArguments
from sam_tui.core.tooling.contract import Operation, Tool
from sam_tui.core.tooling.offer import example_call
from sam_tui.core.tooling.registry import operation_key


def validate_arguments(
    tool: Tool, operation: Operation[Any], fields: Mapping[str, Any]
) -> tuple[Arguments, tuple[str, ...]]:
    """Typed arguments, and in words those of ``fields`` that there are none of.

    Raises ``InvalidArguments`` naming each wrong one, with a correct example.
    """
    # Which tool and which operation is meant may stand among the arguments: seed 004.
    routing = {"operation"} | ({"tool"} if fields.get("tool") == tool.name else set[str]())
    unknown = UnknownArguments(routing)
    try:
        return operation.arguments.model_validate(dict(fields), context=unknown), unknown.words
    except ValidationError as error:
        wrong = "; ".join(_fault(e) for e in error.errors(include_url=False, include_input=False))
        raise InvalidArguments(
            f"{operation_key(tool, operation)}: {wrong}.",
            hint=f"Example: {example_call(tool, operation)}",
        ) from None


def _fault(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"]) or "arguments"
    if error["type"] == "missing":
        return f"`{where}` is missing"
    return f"`{where}`: {error['msg'].removeprefix('Value error, ')}"
