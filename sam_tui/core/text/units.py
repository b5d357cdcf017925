"""Units as data: what each measures, and how much of the dimension's own unit it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

_PREFIXES = {
    "n": ("nano", -9), "µ": ("micro", -6), "u": ("micro", -6), "m": ("milli", -3), "c": ("centi", -2),
    "d": ("deci", -1), "h": ("hecto", 2), "k": ("kilo", 3), "M": ("mega", 6), "G": ("giga", 9),
    "T": ("tera", 12),
}  # fmt: skip
_BASES = ("m", "kg", "s", "A", "K", "B", "rad", "mol")
"""The base units of all others; ``B`` is the byte."""

_TABLE = """\
m | metre metres meter meters | 1 | m | nµmcdk
inch | in inches | 0.0254 | m
ft | foot feet | 0.3048 | m
yd | yard yards | 0.9144 | m
mi | mile miles | 1609.344 | m
nmi | | 1852 | m
au | | 149597870700 | m
ly | lightyear lightyears | 9460730472580800 | m
g | gram grams gramme grammes | 1/1000 | kg | µmk
t | tonne tonnes | 1000 | kg | kM
lb | lbs pound pounds | 0.45359237 | kg
oz | ounce ounces | 0.028349523125 | kg
stone | | 6.35029318 | kg
s | sec second seconds | 1 | s | nµm
min | mins minute minutes | 60 | s
h | hr hrs hour hours | 3600 | s
day | d days | 86400 | s
week | weeks | 604800 | s
year | yr years | 31557600 | s
Hz | hertz | 1 | s^-1 | kMG
K | kelvin | 1 | K
A | ampere amperes amp amps | 1 | A | µmk
mol | mole moles | 1 | mol | m
B | byte bytes | 1 | B | kMGT
bit | bits b | 1/8 | B | kMGT
rad | radian radians | 1 | rad
deg | degree degrees ° | 17453292519943295769/1000000000000000000000 | rad
L | l litre litres liter liters | 1/1000 | m^3 | µmcdk
gal | gallon gallons | 0.003785411784 | m^3
ha | hectare hectares | 10000 | m^2
acre | acres | 4046.8564224 | m^2
mph | | 0.44704 | m s^-1
kmh | kph | 5/18 | m s^-1
kn | knot knots | 463/900 | m s^-1
N | newton newtons | 1 | kg m s^-2 | mkM
J | joule joules | 1 | kg m^2 s^-2 | mkMGT
cal | | 4.184 | kg m^2 s^-2 | k
Wh | | 3600 | kg m^2 s^-2 | mkMGT
eV | | 1602176634/10000000000000000000000000000 | kg m^2 s^-2 | kMGT
W | watt watts | 1 | kg m^2 s^-3 | mkMGT
hp | | 745.69987158227 | kg m^2 s^-3
Pa | pascal pascals | 1 | kg m^-1 s^-2 | hkMG
bar | bars | 100000 | kg m^-1 s^-2 | m
atm | | 101325 | kg m^-1 s^-2
psi | | 6894.757293168 | kg m^-1 s^-2
V | volt volts | 1 | kg m^2 s^-3 A^-1 | mkM
ohm | ohms Ω | 1 | kg m^2 s^-3 A^-2 | mkM
C | coulomb coulombs | 1 | s A
"""
Dimension = tuple[tuple[str, int], ...]
"""The exponents of the base units, in their order; empty for a plain number."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: ``factor`` times the product of base units."""

    factor: Fraction
    dimension: Dimension


TEMPERATURES: Mapping[str, tuple[Fraction, Fraction]] = {
    "K": (Fraction(1), Fraction(0)),
    "kelvin": (Fraction(1), Fraction(0)),
    "celsius": (Fraction(1), Fraction(27315, 100)),
    "degC": (Fraction(1), Fraction(27315, 100)),
    "°C": (Fraction(1), Fraction(27315, 100)),
    "fahrenheit": (Fraction(5, 9), Fraction(45967, 180)),
    "degF": (Fraction(5, 9), Fraction(45967, 180)),
    "°F": (Fraction(5, 9), Fraction(45967, 180)),
}
"""Scales with a zero of their own, which can only be converted: kelvin = value * first + second."""


@cache
def units() -> Mapping[str, Unit]:
    """Every unit by its names, with and without prefixes."""
    table: dict[str, Unit] = {}
    for line in _TABLE.splitlines():
        symbol, names, factor, dimension, *prefixes = (part.strip() for part in line.split("|"))
        base = Unit(Fraction(factor), _dimension(dimension))
        table |= {name: base for name in (symbol, *names.split()) if name not in table}
        for prefix in "".join(prefixes):
            word, power = _PREFIXES[prefix]
            scaled = Unit(base.factor * Fraction(10) ** power, base.dimension)
            table[prefix + symbol] = scaled
            table |= {word + name: scaled for name in names.split() if word + name not in table}
    kibi = Fraction(1024)
    binary = {f"{prefix}iB": kibi**power for power, prefix in enumerate("KMGT", start=1)}
    return table | {name: Unit(factor, _dimension("B")) for name, factor in binary.items()}


def combined(first: Dimension, second: Dimension, *, times: int = 1) -> Dimension:
    """The dimension of a product; of a quotient with ``times`` -1."""
    powers = dict(first)
    for name, power in second:
        powers[name] = powers.get(name, 0) + times * power
    return tuple((name, powers[name]) for name in _BASES if powers.get(name))


def formatted(dimension: Dimension) -> str:
    """A dimension as its base units: ``kg*m^2/s^2``."""
    over = [name if p == 1 else f"{name}^{p}" for name, p in dimension if p > 0]
    under = [name if p == -1 else f"{name}^{-p}" for name, p in dimension if p < 0]
    return "/".join(["*".join(over) or "1", *under]) if dimension else ""


def _dimension(text: str) -> Dimension:
    parts = (part.partition("^") for part in text.split())
    return combined((), tuple((name, int(power or 1)) for name, _, power in parts))
