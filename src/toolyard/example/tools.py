"""The tools: how they are described, and how a call becomes a result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from toolyard.example.errors import ArgumentError, RefusedError
from toolyard.example.schema import check, described, result_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolyard.example.jsontypes import JsonObject

ZONE = "IANA name of a time zone, such as Europe/Paris, America/New_York or UTC"
DATE = "a date, written YYYY-MM-DD"

MOMENT = {
    "zone": "string",
    "time": "string",
    "weekday": "string",
    "abbreviation": "string",
    "utc_offset": "string",
    "daylight_saving": "boolean",
}

TOOLS: list[JsonObject] = [
    described(
        "time_in",
        "Time in a zone",
        "The current date and time in a time zone, with weekday, UTC offset and whether daylight "
        "saving time is in force.",
        {"zone": ("string", ZONE)},
        result_of(MOMENT),
    ),
    described(
        "convert_time",
        "Convert a time",
        "What a local time in one zone is in another zone. Says so when the time is skipped or "
        "happens twice because clocks are changed.",
        {
            "time": ("string", "local time: YYYY-MM-DDTHH:MM, or HH:MM for today in from_zone"),
            "from_zone": ("string", ZONE),
            "to_zone": ("string", ZONE),
        },
        result_of(
            {
                "from": result_of(MOMENT),
                "to": result_of(MOMENT),
                "days_later": "integer",
                "note": "string",
            },
            optional=frozenset({"note"}),
        ),
    ),
    described(
        "convert_units",
        "Convert units",
        "Convert a number between units of length, mass, temperature, volume, data or speed. "
        "Units go by symbol (km, lb, C, MiB, mph) or name (miles, celsius).",
        {
            "value": ("number", "how much"),
            "from_unit": ("string", "the unit of value"),
            "to_unit": ("string", "the unit wanted"),
        },
        result_of({"value": "number", "unit": "string", "kind": "string"}),
    ),
    described(
        "days_between",
        "Days between dates",
        "How many days lie between two dates (negative if the second is earlier), as weeks and "
        "days, and how many of them are Monday to Friday.",
        {"start": ("string", DATE), "end": ("string", DATE)},
        result_of({"days": "integer", "weeks_and_days": "string", "weekdays": "integer"}),
    ),
]
BY_NAME = {tool["name"]: tool for tool in TOOLS}


def call(params: JsonObject) -> JsonObject:
    """Run a tool; bad arguments are a result the model can learn from.

    Raises:
        RefusedError: There is no tool of that name.
    """
    name = str(params.get("name"))
    if name not in BY_NAME:
        raise RefusedError(-32602, f"unknown tool: {name} (there are {', '.join(BY_NAME)})")
    arguments = params.get("arguments") or {}
    try:
        check(BY_NAME[name]["inputSchema"], arguments)
        value = run(name, arguments)
    except ArgumentError as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    text = json.dumps(value, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "structuredContent": value}


def run(name: str, arguments: JsonObject) -> Mapping[str, object]:
    """Return the result of a tool; its module is imported when it is first needed.

    Raises:
        ArgumentError: An argument makes no sense.
    """
    if name == "convert_units":
        from toolyard.example import units

        return units.convert_units(**arguments)
    from toolyard.example import calendar

    if name == "days_between":
        return calendar.days_between(**arguments)
    if name == "time_in":
        return calendar.time_in(**arguments)
    return calendar.convert_time(**arguments)
