"""Arithmetic from text by its own grammar: exact fractions, percentages, units, bounded cost."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction

from sam_tui.core.errors import ToolError
from sam_tui.core.text.units import TEMPERATURES, Dimension, combined, formatted, units

_LONGEST, _DEEPEST, _MOST_TOKENS = 2000, 60, 400
_MOST_BITS = 14_000
"""The most bits of a numerator or denominator: about 4,200 digits, which Python can turn into text."""
_MOST_FACTORIAL = 1400
_MOST_POWER = 9_000
_PRECISE = Context(prec=40)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*)(?:\.\d+)?(?:[eE][+-]?\d{1,4})?|\.\d+)"
    r"|(?P<name>[^\W\d_]+|°[CF]?)|(?P<sign>\*\*|[-+*/^%!(),;√]))"
)
_SPELLINGS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", ";": ","})
_INTO = ("in", "to", "as")
_CONSTANTS = {"pi": Fraction(math.pi), "π": Fraction(math.pi), "e": Fraction(math.e)}


@dataclass(frozen=True, slots=True)
class Value:
    """A number of a dimension. ``unit`` is how it is shown: a name and its size in base units."""

    number: Fraction
    dimension: Dimension = ()
    unit: tuple[str, Fraction] | None = None
    percent: bool = False
    scale: str = ""
    """The temperature scale of a value that can only be converted; empty for all others."""

    @property
    def in_unit(self) -> tuple[Fraction, str]:
        """The number in its unit, and the unit's name."""
        if self.scale:
            factor, shift = TEMPERATURES[self.scale]
            return (self.number - shift) / factor, self.scale
        if self.percent:
            return self.number * 100, "%"
        name, size = self.unit or (formatted(self.dimension), 1)
        return self.number / size, name


def evaluated(expression: str) -> Value:
    """The value of an expression. Raises ``ToolError`` if it is invalid or too costly."""
    text = expression.translate(_SPELLINGS).strip().rstrip("=? ")
    if len(text) > _LONGEST:
        raise ToolError(f"The expression has {len(text)} characters; {_LONGEST} are the most.")
    try:
        return _Reader(_tokens(text)).whole()
    except (ZeroDivisionError, ArithmeticError) as error:
        what = "divides by zero" if isinstance(error, ZeroDivisionError) else "has no value"
        raise ToolError(f"The expression {what}.") from None


def in_digits(number: Fraction) -> str:
    """A number as people write it: whole, or with 15 digits; exact where it ends before."""
    if number.denominator == 1:
        return str(number.numerator)
    decimal = Context(prec=15).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{decimal.normalize():f}" if -12 < decimal.adjusted() < 40 else f"{decimal.normalize()}"


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = depth = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ToolError(f"What is {text[position : position + 20]!r} in the expression?")
        token = match[match.lastgroup or 0]
        if match["number"] and "," in token and depth:
            token = token.partition(",")[0]  # an argument ends here
            position = match.start("number") + len(token)
        else:
            position = match.end()
        depth += {"(": 1, ")": -1}.get(token, 0)
        tokens.append(token)
        if len(tokens) > _MOST_TOKENS:
            raise ToolError(f"The expression has more than {_MOST_TOKENS} parts.")
    return tokens


class _Reader:
    """Reads by precedence: conversion, sums, products, signs, powers, units and percent."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def whole(self) -> Value:
        """The value of the whole expression."""
        if not self._tokens:
            raise ToolError("The expression is empty.", hint="Such as 15% of 80, or 3 km + 200 m.")
        value = self._sum()
        while self._next() in _INTO:
            self._at += 1
            value = self._converted(value)
        if self._at < len(self._tokens):
            raise ToolError(f"{self._next()!r} does not belong where it stands.")
        return value

    def _converted(self, value: Value) -> Value:
        start = self._at
        name = self._temperature()
        if name:
            if value.dimension != (("K", 1),):
                raise ToolError(f"This is no temperature, and cannot be told in {name}.")
            return replace(value, scale=name, unit=None)
        unit = self._product()
        if unit.dimension != value.dimension:
            has = formatted(value.dimension) or "a plain number"
            raise ToolError(f"{has} cannot be told in {formatted(unit.dimension) or 'one'}.")
        written = "".join(self._tokens[start : self._at])
        return Value(value.number, value.dimension, (written, unit.number))

    def _sum(self) -> Value:
        self._nest()
        value = self._product()
        while self._next() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            value = _added(value, self._product(), sign)
        self._depth -= 1
        return value

    def _nest(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ToolError(f"The expression is nested more than {_DEEPEST} deep.")

    def _product(self) -> Value:
        value = self._signed()
        while (token := self._next()) in ("*", "/", "%", "of"):
            self._at += 1
            other = self._signed()
            value = _remainder(value, other) if token == "%" else _multiplied(value, other, token)
        return value

    def _signed(self) -> Value:
        sign = 1
        while self._next() in ("+", "-"):
            sign = -sign if self._take() == "-" else sign
        value = self._power()
        return replace(value, number=-value.number) if sign < 0 else value

    def _power(self) -> Value:
        base = self._postfixed()
        if self._next() not in ("^", "**"):
            return base
        self._at += 1
        self._nest()
        exponent = self._signed()
        self._depth -= 1
        return _raised(base, exponent)

    def _postfixed(self) -> Value:
        value = self._primary()
        while True:
            token = self._next()
            if token == "!":
                value = Value(_factorial(value))
            elif token == "%" and not self._starts_operand(self._at + 1):
                value = Value(_bounded(_plain(value) / 100), percent=True)
            else:
                return value
            self._at += 1

    def _primary(self) -> Value:
        token = self._take()
        if token == "(":
            value = self._sum()
            self._expect(")")
            return value
        if token == "√":
            return Value(_root(_plain(self._postfixed())))
        if token[0].isdecimal() or token[0] == ".":
            return self._measured(Fraction(token.replace(",", "").replace("_", "")))
        if token.lower() in _FUNCTIONS and self._next() == "(":
            return self._called(token.lower())
        if token in _CONSTANTS:
            return Value(_CONSTANTS[token])
        if token in units():
            unit = units()[token]
            return Value(unit.factor, unit.dimension, (token, unit.factor))
        raise ToolError(f"{token!r} is no number, unit or function.")

    def _measured(self, number: Fraction) -> Value:
        """A number with the unit after it, if there is one: ``5 km``, ``3 m^2``, ``20 °C``."""
        if name := self._temperature():
            factor, shift = TEMPERATURES[name]
            return Value(_bounded(number * factor + shift), (("K", 1),), scale=name)
        token = self._next()
        following = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else ""
        is_inch = following in ("", ")", ",", *_INTO) or following in "+-*/^"
        if token not in units() or (token == "in" and not is_inch):
            return Value(_bounded(number))
        self._at += 1
        unit, name = units()[token], token
        power = 1
        if self._next() in ("^", "**") and following and self._at + 1 < len(self._tokens):
            digit = self._tokens[self._at + 1]
            if digit in ("2", "3"):
                self._at += 2
                power, name = int(digit), f"{token}^{digit}"
        dimension = combined((), tuple((n, p * power) for n, p in unit.dimension))
        size = unit.factor**power
        return Value(_bounded(number * size), dimension, (name, size))

    def _temperature(self) -> str:
        """Read the name of a temperature scale if one comes next; else empty."""
        token = self._next()
        if token not in TEMPERATURES or token in ("K", "kelvin"):
            return ""
        self._at += 1
        return token

    def _called(self, name: str) -> Value:
        self._expect("(")
        arguments = [self._sum()]
        while self._next() == ",":
            self._at += 1
            arguments.append(self._sum())
        self._expect(")")
        fewest, most, function = _FUNCTIONS[name]
        if not fewest <= len(arguments) <= most:
            raise ToolError(f"{name} takes {fewest} to {most} values, not {len(arguments)}.")
        return function(arguments)

    def _starts_operand(self, index: int) -> bool:
        token = self._tokens[index] if index < len(self._tokens) else ""
        return bool(token) and (token[0].isalnum() or token in ("(", "√")) and token not in (
            "of", *_INTO,
        )  # fmt: skip

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._next()
        if not token:
            raise ToolError("The expression ends too early.")
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise ToolError(f"{token!r} is missing in the expression.")
        self._at += 1


def _bounded(number: Fraction) -> Fraction:
    if _bits(number) > _MOST_BITS:
        raise ToolError("The number is too large: more than 4,000 digits.")
    return number


def _bits(number: Fraction) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())


def _plain(value: Value) -> Fraction:
    if value.dimension:
        raise ToolError(f"A plain number is needed, not one in {formatted(value.dimension)}.")
    return value.number


def _unscaled(*values: Value) -> None:
    if any(value.scale for value in values):
        raise ToolError(
            "Degrees are only converted, not reckoned with.", hint="Convert to K first."
        )


def _added(first: Value, second: Value, sign: int) -> Value:
    if second.percent and not first.percent:
        return replace(first, number=_bounded(first.number * (1 + sign * second.number)))
    _unscaled(first, second)
    if first.dimension != second.dimension:
        names = [formatted(v.dimension) or "a plain number" for v in (first, second)]
        raise ToolError(f"{names[0]} and {names[1]} cannot be added.")
    return replace(first, number=_bounded(first.number + sign * second.number))


def _multiplied(first: Value, second: Value, token: str) -> Value:
    _unscaled(first, second)
    divides = token == "/"
    number = first.number / second.number if divides else first.number * second.number
    dimension = combined(first.dimension, second.dimension, times=-1 if divides else 1)
    if not second.dimension:
        return Value(_bounded(number), dimension, first.unit)
    unit = None if first.dimension or divides else second.unit
    return Value(_bounded(number), dimension, unit)


def _remainder(first: Value, second: Value) -> Value:
    if first.dimension != second.dimension:
        raise ToolError("A remainder needs two values of one kind.")
    return replace(first, number=first.number % second.number)


def _raised(base: Value, exponent: Value) -> Value:
    power = _plain(exponent)
    _unscaled(base)
    if power.denominator != 1:
        return Value(_decimal(_PRECISE.power, _plain(base), power))
    whole, size = int(power), _bits(base.number)
    grows = base.number not in (0, 1, -1)
    if grows and (abs(whole) > _MOST_POWER or size * abs(whole) > _MOST_BITS):
        raise ToolError("The power is too large: more than 4,000 digits.")
    if abs(whole) > _MOST_POWER:
        whole = whole % 2  # of 0, 1 and -1 every power is that of its parity
    dimension = combined((), tuple((name, p * whole) for name, p in base.dimension))
    return Value(base.number**whole, dimension)


def _factorial(value: Value) -> Fraction:
    number = _plain(value)
    if number.denominator != 1 or not 0 <= number <= _MOST_FACTORIAL:
        raise ToolError(f"Factorials are of whole numbers from 0 to {_MOST_FACTORIAL}.")
    return Fraction(math.factorial(int(number)))


def _root(number: Fraction) -> Fraction:
    if number < 0:
        raise ToolError("A negative number has no root here.")
    root = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
    if root * root == number:
        return root
    return _decimal(_PRECISE.sqrt, number)


def _decimal(function: Callable[..., Decimal], *numbers: Fraction) -> Fraction:
    """A function of decimals with forty digits."""
    values = [_PRECISE.divide(Decimal(n.numerator), Decimal(n.denominator)) for n in numbers]
    result = function(*values)
    if not result.is_finite() or abs(result.adjusted()) > 4000:
        raise ToolError("The number is too large, or there is none.")
    return Fraction(result)


Function = tuple[int, int, Callable[[list[Value]], Value]]


def _of_number(function: Callable[[Fraction], Fraction]) -> Function:
    return 1, 1, lambda values: Value(_bounded(function(_plain(values[0]))))


def _of_angle(function: Callable[[float], float]) -> Function:
    def call(values: list[Value]) -> Value:
        if values[0].dimension not in ((), (("rad", 1),)):
            raise ToolError("An angle is needed.")
        return Value(Fraction(function(float(values[0].number))))

    return 1, 1, call


def _alike(function: Callable[[list[Fraction]], Fraction]) -> Function:
    def call(values: list[Value]) -> Value:
        if len({value.dimension for value in values}) > 1:
            raise ToolError("The values are not of one kind.")
        _unscaled(*values)
        return replace(values[0], number=_bounded(function([v.number for v in values])))

    return 1, _MOST_TOKENS, call


def _round(values: list[Value]) -> Value:
    value = values[0]
    _unscaled(value)
    digits = int(_plain(values[1])) if len(values) > 1 else 0
    size = value.unit[1] if value.unit else Fraction(1)
    return replace(value, number=round(value.number / size, max(-50, min(50, digits))) * size)


_FUNCTIONS: Mapping[str, Function] = {
    "sqrt": _of_number(_root),
    "abs": _alike(lambda numbers: abs(numbers[0])),
    "round": (1, 2, _round),
    "floor": _of_number(lambda n: Fraction(math.floor(n))),
    "ceil": _of_number(lambda n: Fraction(math.ceil(n))),
    "factorial": (1, 1, lambda values: Value(_factorial(values[0]))),
    "ln": _of_number(lambda n: _decimal(_PRECISE.ln, n)),
    "log": _of_number(lambda n: _decimal(_PRECISE.log10, n)),
    "exp": _of_number(lambda n: _decimal(_PRECISE.exp, n)),
    "sin": _of_angle(math.sin),
    "cos": _of_angle(math.cos),
    "tan": _of_angle(math.tan),
    "min": _alike(min),
    "max": _alike(max),
    "sum": _alike(lambda numbers: sum(numbers, Fraction())),
    "mean": _alike(lambda numbers: sum(numbers, Fraction()) / len(numbers)),
}
