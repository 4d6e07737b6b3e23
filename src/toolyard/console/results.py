"""The answer of a tool on the terminal."""

from __future__ import annotations

import json
import sys

import click

from toolyard.console.context import CliContext
from toolyard.console.exits import Exit
from toolyard.console.terminal import visible
from toolyard.core.jsontypes import JsonObject

MARGIN = 10.0
"""Seconds the hub gets beyond a call's own timeout, so that it is the one to say so."""


def call_patience(context: CliContext) -> float:
    """Return the seconds after which a call that the hub does not end itself is given up."""
    return context.settings.call_timeout + context.settings.start_timeout + MARGIN


def finish_call(context: CliContext, server: str, tool: str, result: JsonObject) -> None:
    """Show what a tool answered, and end as it did."""
    context.terminal.answer(result, lambda: _show_result(context, result))
    if result.get("isError"):
        sys.stdout.flush()
        if not context.terminal.as_json:
            context.terminal.note(f"toolyard: '{tool}' of '{server}' answered with an error")
        raise click.exceptions.Exit(Exit.REFUSED)


def _show_result(context: CliContext, result: JsonObject) -> None:
    """Show what a tool gave: its texts, harmless to a terminal; of everything else what it is."""
    content = result.get("content") or []
    for part in content:
        context.terminal.say(visible(_show_part(part)))
    if not content and "structuredContent" in result:
        structured = result["structuredContent"]
        context.terminal.say(visible(json.dumps(structured, ensure_ascii=False, indent=2)))


def _show_part(part: JsonObject) -> str:
    match part.get("type"):
        case "text":
            return str(part.get("text", ""))
        case "image" | "audio":
            size = len(str(part.get("data", ""))) * 3 // 4
            return f"[{part['type']} {part.get('mimeType', '')}, about {size} bytes]"
        case "resource_link":
            return f"[resource {part.get('uri', '')}]"
        case "resource":
            held = part.get("resource") or {}
            return str(held.get("text", f"[resource {held.get('uri', '')}]"))
        case other:
            return f"[{other}]"
