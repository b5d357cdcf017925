"""``CalculatorTool``: evaluates an arithmetic expression."""

from sam_tools.workers.arguments import Calculate
from sam_tools.workers.expressions import evaluated, in_digits
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult, single

_SAFE = 2**53
"""Every JSON reader reads whole numbers up to this one exactly."""


def calculator() -> Tool:
    """The tool, ready to register. Expressions are read by a grammar; nothing is run as code."""
    operation = Operation(
        "CalculatorTool",
        "calculates",
        Calculate,
        _calculate,
        lambda a: a.expression[:80],
        anywhere=True,
    )
    about = "Calculates exactly: + - * / ^ % of, roots, logarithms, angles, big numbers, percent, units."
    return single(operation, about, listed=False)


async def _calculate(arguments: Calculate, context: ToolContext) -> ToolResult:
    number, unit = evaluated(arguments.expression).in_unit
    digits = in_digits(number)
    whole = number.denominator == 1
    result: object = float(digits) if abs(number) < _SAFE else digits
    if whole and abs(number) <= _SAFE:
        result = number.numerator
    data = {"expression": arguments.expression, "result": result, "unit": unit}
    if not whole and number.denominator < _SAFE and abs(number.numerator) < _SAFE:
        data["exact"] = f"{number.numerator}/{number.denominator}"
    return ToolResult(f"{digits} {unit}".strip(), data=data)
