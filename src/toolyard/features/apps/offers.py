"""The hub's own offers to a client of one app: those that the app's own hub would have."""

from __future__ import annotations

from msgspec import Struct

from toolyard.core.apps import App
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Entry, Offer
from toolyard.wire import jsonrpc

Own = dict[str, tuple[Offer, ...]]


class CallShape(Struct, frozen=True):
    """An example of the arguments with which a variant's tool is called."""

    variant: str
    tool: str
    arguments: JsonObject


def introduction(app: App, separator: str) -> str:
    """Return the words that tell a model how to work with an app."""
    name, title = app.name, app.title
    named = f"are named variant{separator}tool and " if separator else ""
    return (
        f"This is the hub of {title}, which can run in several variants at once "
        f"({', '.join(variant for variant, _ in app.variants)}).\n"
        f"The tools of a variant that runs {named}come and go with it. "
        f"{name}_call(variant, tool, arguments) is always there and reaches every one of them; "
        f"read {name}://tools for their schemas.\n"
        f"{name}_status says which variants run; {name}_launch starts an installed one; "
        f"{name}_refresh looks again at once."
    )


def own_offers(app: App, entries: list[Entry]) -> Own:
    """The tools, resources and prompts that are always there."""
    return {"tools": _tools(app, entries), "resources": _resources(app), "prompts": _prompts(app)}


def _tools(app: App, entries: list[Entry]) -> tuple[Offer, ...]:
    looks = {"readOnlyHint": True, "openWorldHint": False}
    starts = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
    calls = {
        "readOnlyHint": False,
        # No more harmless than what it can reach.
        "destructiveHint": any(_is_destructive(entry) for entry in entries),
        "openWorldHint": True,
    }
    name, title = app.name, app.title
    labels = " or ".join(f'"{install.label}"' for install in app.installs[:2]) or '"dev"'
    return (
        _tool(
            f"{name}_status",
            f"Which variants of {title} run, where, with how many tools; what is installed.",
            {},
            looks,
        ),
        _tool(
            f"{name}_launch",
            f"Start {title} on this machine. Without a variant, the first one that is installed.",
            {"variant": _text(f"What to start: a label such as {labels}, or a variant's name.")},
            starts,
        ),
        _tool(
            f"{name}_refresh",
            f"Look for the variants of {title} now and connect to those that run.",
            {},
            looks,
        ),
        _tool(f"{name}_call", _call_text(app), _call_arguments(app), calls, ["variant", "tool"]),
    )


def _call_text(app: App) -> str:
    example = call_shape(app)
    return (
        f"Stable tool entrypoint for {app.title} operations. Call a variant tool via "
        f'(variant, tool, arguments), e.g. variant="{example.variant}", tool="{example.tool}". '
        f"Use {app.name}://tools to discover full downstream tool schemas and metadata."
    )


def _call_arguments(app: App) -> JsonObject:
    variants = [name for name, _ in app.variants]
    first = [name for name in ("dev", "stable", "local") if name in variants] or variants[:3]
    quoted = ", ".join(f'"{name}"' for name in first)
    tool = call_shape(app).tool
    return {
        "variant": _text(f"{app.title} variant name, e.g. {quoted}."),
        "tool": _text(f'Remote tool name without variant prefix, e.g. "{tool}".'),
        "arguments": {
            "type": "object",
            "additionalProperties": {},
            "description": "Arguments object passed to the target variant tool. Match the "
            f"selected tool inputSchema from {app.name}://tools.",
        },
    }


def call_shape(app: App) -> CallShape:
    """A call that shows how it is done."""
    variant, tool, arguments = app.example
    return CallShape(
        variant or app.variants[0][0],
        tool or "tool",
        jsonrpc.to_python(arguments.encode()) if arguments else {},
    )


def _resources(app: App) -> tuple[Offer, ...]:
    name, title = app.name, app.title
    return (
        _resource(f"{name}://status", f"{name}-status", f"The variants of {title}, as JSON."),
        _resource(
            f"{name}://tools",
            f"{name}-tools",
            f"Every tool, resource and prompt of every variant of {title}, with full schemas.",
        ),
    )


def _prompts(app: App) -> tuple[Offer, ...]:
    return (
        _prompt(f"{app.name}-setup", f"Get {app.title} running and connected."),
        _prompt(f"{app.name}-doctor", f"Find out why {app.title} is not reached."),
    )


def _tool(
    name: str,
    text: str,
    properties: JsonObject,
    annotations: dict[str, bool],
    required: list[str] | None = None,
) -> Offer:
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    tool = {"name": name, "description": text, "inputSchema": schema, "annotations": annotations}
    return Offer(name, jsonrpc.encode(tool))


def _resource(uri: str, name: str, text: str) -> Offer:
    fields = {"uri": uri, "name": name, "description": text, "mimeType": "application/json"}
    return Offer(uri, jsonrpc.encode(fields))


def _prompt(name: str, text: str) -> Offer:
    return Offer(name, jsonrpc.encode({"name": name, "description": text}))


def _text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


def _is_destructive(entry: Entry) -> bool:
    """Return whether a variant has a tool that says it destroys something."""
    for offer in entry.offers.tools:
        if b'"destructiveHint"' in offer.raw:
            annotations = jsonrpc.to_python(offer.raw).get("annotations")
            if isinstance(annotations, dict) and annotations.get("destructiveHint") is True:
                return True
    return False
