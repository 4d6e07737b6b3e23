"""The prompt, the resources and completion of their arguments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolyard.example.errors import ArgumentError, RefusedError

if TYPE_CHECKING:
    from toolyard.example.calendar import Moment
    from toolyard.example.jsontypes import JsonObject

PROMPTS: list[JsonObject] = [
    {
        "name": "plan-meeting",
        "title": "Plan a meeting",
        "description": "Find a time that suits people in several time zones.",
        "arguments": [
            {
                "name": "zones",
                "description": "time zones of those who take part, separated by commas",
                "required": True,
            },
            {"name": "date", "description": "the day, YYYY-MM-DD; the next working day if absent"},
        ],
    }
]

RESOURCES: list[JsonObject] = [
    {
        "uri": "example://units",
        "name": "units",
        "title": "Units",
        "description": "All units that convert_units knows, with their other names.",
        "mimeType": "application/json",
    }
]

ZONE_PREFIX = "example://zone/"
TEMPLATES: list[JsonObject] = [
    {
        "uriTemplate": ZONE_PREFIX + "{name}",
        "name": "zone",
        "title": "Time zone",
        "description": "The current time in a zone, e.g. example://zone/Europe%2FParis.",
        "mimeType": "application/json",
    }
]

MOST_COMPLETIONS = 100  # the protocol allows no more in one answer


def get_prompt(params: JsonObject) -> JsonObject:
    """The messages of the prompt.

    Raises:
        RefusedError: Another prompt is asked for, or the zones are missing or unknown.
    """
    if params.get("name") != "plan-meeting":
        raise RefusedError(-32602, f"unknown prompt: {params.get('name')} (there is plan-meeting)")
    arguments = params.get("arguments") or {}
    zones = [zone.strip() for zone in str(arguments.get("zones", "")).split(",") if zone.strip()]
    if not zones:
        raise RefusedError(-32602, "plan-meeting needs 'zones', e.g. Europe/Paris, Asia/Tokyo")
    now = "; ".join(f"{zone}: {time_in(zone)['time']}" for zone in zones)
    day = arguments.get("date") or "the next day that is a working day everywhere"
    text = (
        f"Find a good hour for a meeting on {day} between people in {', '.join(zones)}. "
        f"It is now {now}. Use convert_time to check each proposal in every zone. Prefer 9 to 17 "
        "local time, avoid 22 to 7, and if nobody can be spared say who has to stretch least. "
        "Answer with the three best times as a table with one column per zone."
    )
    return {
        "description": "Plan a meeting across time zones",
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }


def time_in(zone: str) -> Moment:
    """The time in a zone.

    Raises:
        RefusedError: There is no such zone.
    """
    from toolyard.example import calendar

    try:
        return calendar.time_in(zone)
    except ArgumentError as error:
        raise RefusedError(-32602, str(error)) from None


def read(params: JsonObject) -> JsonObject:
    """The content of a resource.

    Raises:
        RefusedError: There is no such resource.
    """
    uri = str(params.get("uri", ""))
    value: Any
    if uri == "example://units":
        from toolyard.example import units

        value = units.table()
    elif uri.startswith(ZONE_PREFIX):
        from urllib.parse import unquote

        value = time_in(unquote(uri.removeprefix(ZONE_PREFIX)))
    else:
        modern = "io.modelcontextprotocol/protocolVersion" in (params.get("_meta") or {})
        # The code for this changed with the eras.
        raise RefusedError(-32602 if modern else -32002, "resource not found", {"uri": uri})
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return {"contents": [{"uri": uri, "mimeType": "application/json", "text": text}]}


def complete(params: JsonObject) -> JsonObject:
    """Zone names that begin with what was typed, for the prompt and for the template."""
    argument = params.get("argument") or {}
    typed = str(argument.get("value", ""))
    names: list[str] = []
    if argument.get("name") in ("zones", "name"):
        from toolyard.example import calendar

        # Of a list with commas, only the last entry is still being typed.
        before, comma, last = typed.rpartition(",")
        prefix = last.strip().casefold().replace(" ", "_")
        head = f"{before}{comma} " if comma else ""
        names = [head + zone for zone in calendar.zone_names() if starts(zone, prefix)]
    values = names[:MOST_COMPLETIONS]
    more = len(names) > len(values)
    return {"completion": {"values": values, "total": len(names), "hasMore": more}}


def starts(zone: str, typed: str) -> bool:
    """Does the zone, or the city in it, begin with what was typed?"""
    folded = zone.casefold()
    return folded.startswith(typed) or folded.rpartition("/")[2].startswith(typed)
