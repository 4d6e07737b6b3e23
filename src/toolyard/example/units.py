"""Units and how they convert, by exact factors to one base unit of each kind."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from toolyard.example.errors import ArgumentError, closest


class Unit(NamedTuple):
    """One unit: value * factor + offset is the same in the base unit of its kind."""

    symbol: str
    kind: str
    factor: float
    names: tuple[str, ...]
    offset: float = 0


class Quantity(TypedDict):
    """A number of units."""

    value: float
    unit: str
    kind: str


class UnitRow(TypedDict):
    """A unit as the resource lists it."""

    symbol: str
    kind: str
    names: list[str]


# kind: symbol, factor, other names. Those of one kind are sorted by size.
TABLE: dict[str, tuple[tuple[str, float, str], ...]] = {
    "length": (
        ("mm", 0.001, "millimetre millimeter"),
        ("cm", 0.01, "centimetre centimeter"),
        ("in", 0.0254, "inch inches"),
        ("ft", 0.3048, "foot feet"),
        ("yd", 0.9144, "yard"),
        ("m", 1, "metre meter"),
        ("km", 1000, "kilometre kilometer"),
        ("mi", 1609.344, "mile"),
        ("nmi", 1852, "nautical-mile"),
    ),
    "mass": (
        ("mg", 1e-6, "milligram"),
        ("g", 0.001, "gram"),
        ("oz", 0.028349523125, "ounce"),
        ("lb", 0.45359237, "pound lbs"),
        ("kg", 1, "kilogram kilo"),
        ("st", 6.35029318, "stone"),
        ("t", 1000, "tonne"),
    ),
    "volume": (
        ("ml", 1e-6, "millilitre milliliter"),
        ("tsp", 4.92892159375e-6, "teaspoon"),
        ("tbsp", 1.478676478125e-5, "tablespoon"),
        ("floz", 2.95735295625e-5, "us-fluid-ounce"),
        ("cup", 2.365882365e-4, "us-cup"),
        ("pt", 4.73176473e-4, "us-pint pint"),
        ("imp-pt", 5.6826125e-4, "imperial-pint"),
        ("l", 0.001, "litre liter"),
        ("gal", 3.785411784e-3, "us-gallon gallon"),
        ("imp-gal", 4.54609e-3, "imperial-gallon"),
        ("m3", 1, "cubic-metre cubic-meter"),
    ),
    "data": (
        ("bit", 0.125, ""),
        ("B", 1, "byte"),
        ("kB", 1000, "kilobyte"),
        ("KiB", 1024, "kibibyte"),
        ("MB", 1000**2, "megabyte"),
        ("MiB", 1024**2, "mebibyte"),
        ("GB", 1000**3, "gigabyte"),
        ("GiB", 1024**3, "gibibyte"),
        ("TB", 1000**4, "terabyte"),
        ("TiB", 1024**4, "tebibyte"),
    ),
    "speed": (
        ("km/h", 1 / 3.6, "kph kmh"),
        ("ft/s", 0.3048, "fps"),
        ("mph", 0.44704, "mi/h"),
        ("kn", 1852 / 3600, "knot kt"),
        ("m/s", 1, ""),
    ),
}

TEMPERATURES = (
    Unit("K", "temperature", 1, ("kelvin",)),
    Unit("C", "temperature", 1, ("celsius", "°c"), 273.15),
    Unit("F", "temperature", 5 / 9, ("fahrenheit", "°f"), 459.67 * 5 / 9),
)

UNITS = (
    *(
        Unit(symbol, kind, factor, tuple(names.split()))
        for kind, rows in TABLE.items()
        for symbol, factor, names in rows
    ),
    *TEMPERATURES,
)


def unit_of(text: str) -> Unit:
    """The unit with this symbol or name, in any case and in the plural too.

    Raises:
        ArgumentError: There is none; names the closest.
    """
    spelling = text.strip()
    for unit in UNITS:
        if spelling == unit.symbol:
            return unit
    folded = spelling.casefold().replace(" ", "-")
    for unit in UNITS:
        names = (unit.symbol.casefold(), *unit.names)
        if folded in names or folded.removesuffix("s") in unit.names:
            return unit
    spellings = [name for unit in UNITS for name in (unit.symbol, *unit.names)]
    symbols = "; known are " + ", ".join(unit.symbol for unit in UNITS)
    raise ArgumentError(f"unknown unit '{text}'{closest(text, spellings) or symbols}")


def convert_units(value: float, from_unit: str, to_unit: str) -> Quantity:
    """The value in another unit.

    Raises:
        ArgumentError: A unit is unknown, the two do not measure the same, or it cannot be so cold.
    """
    origin, target = unit_of(from_unit), unit_of(to_unit)
    if origin.kind != target.kind:
        fitting = ", ".join(unit.symbol for unit in UNITS if unit.kind == origin.kind)
        raise ArgumentError(
            f"'{from_unit}' measures {origin.kind} and '{to_unit}' {target.kind}; "
            f"units of {origin.kind} are {fitting}"
        )
    base = value * origin.factor + origin.offset
    if origin.kind == "temperature" and base < -1e-9:
        raise ArgumentError(f"{value} {origin.symbol} is below absolute zero")
    # Twelve digits hide the noise of binary fractions and keep more than anyone measures.
    result = float(f"{(base - target.offset) / target.factor:.12g}")
    return {"value": result, "unit": target.symbol, "kind": target.kind}


def table() -> list[UnitRow]:
    """All units, for the resource."""
    return [{"symbol": unit.symbol, "kind": unit.kind, "names": list(unit.names)} for unit in UNITS]
