"""The rules for the HTTP headers that go with a message.

`Mcp-Name` and `Mcp-Param-*` let something in between route without reading the
body; whoever reads the body must see that they agree with it. `traceparent` and
`tracestate` tell tracers which call belongs to which, and are passed on.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolyard.core.jsontypes import JsonObject

_SENTINEL: Final = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DECIMAL: Final = re.compile(r"-?[0-9]+(\.0+)?")
_KINDS: Final = frozenset({"string", "integer", "boolean"})
MARK: Final = "x-mcp-header"
PARAM: Final = b"mcp-param-"

TRACE: Final = re.compile(
    rb"traceparent: [0-9a-f]{2}-[0-9a-f-]{16,100}|tracestate: [\x20-\x7e]{1,512}"
)
"""The header lines of a trace that are passed on, as W3C Trace Context bounds them."""
TRACE_LIMIT: Final = 1024
"""Bytes of all of them."""

Path = tuple[str, ...]


def add_trace(lines: bytes, key: bytes, value: bytes) -> bytes:
    """Header lines of a trace with one more, if it is one and there is room for it."""
    line = b"%b: %b" % (key, value)
    fits = TRACE.fullmatch(line) and len(lines) + len(line) <= TRACE_LIMIT
    return b"%b%b\r\n" % (lines, line) if fits else lines


def encode_value(text: str) -> str:
    """A header value that arrives as it left: plain where that is safe, else in base64."""
    if _PLAIN.fullmatch(text) and text == text.strip() and not _SENTINEL.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def decode_value(value: str) -> str | None:
    """Return the text that `encode_value` took; None if the value cannot have come from it."""
    match = _SENTINEL.fullmatch(value)
    if match is None:
        return value
    try:
        raw = base64.b64decode(match[1], validate=True)
        text = raw.decode()
    except ValueError:
        return None
    return text if base64.b64encode(raw).decode() == match[1] else None


def param_headers(schema: Any) -> dict[Path, tuple[str, str]]:
    """Which arguments travel as headers too: path of the argument -> header name, JSON type.

    Empty if the schema marks none, or marks any in a way the specification
    forbids: then nobody may rely on them.
    """
    marked: dict[Path, tuple[str, str]] = {}
    names: set[str] = set()
    for path, node in _positions(schema):
        if MARK not in node:
            continue
        name, kind = node[MARK], node.get("type")
        if not path or not isinstance(name, str) or not _TOKEN.fullmatch(name):
            return {}
        if not isinstance(kind, str) or kind not in _KINDS or name.lower() in names:
            return {}
        names.add(name.lower())
        marked[path] = (f"Mcp-Param-{name}", kind)
    return marked


def _positions(root: Any) -> Iterator[tuple[Path | None, JsonObject]]:
    """Every place where a schema stands; its path is None off the chain of properties."""
    stack: list[tuple[Path | None, Any]] = [((), root)]
    while stack:
        path, node = stack.pop()
        if not isinstance(node, dict):
            continue
        yield path, node
        for key, value in node.items():
            if key == "properties" and isinstance(value, dict):
                stack += [((*path, k) if path is not None else None, v) for k, v in value.items()]
            elif key in _HOLDS_ONE:
                stack.append((None, value))
            elif key in _HOLDS_LIST and isinstance(value, list):
                stack += [(None, v) for v in value]
            elif key in _HOLDS_MAP and isinstance(value, dict):
                stack += [(None, v) for v in value.values()]


_HOLDS_ONE: Final = frozenset(
    "items contains unevaluatedItems additionalProperties propertyNames unevaluatedProperties "
    "not if then else contentSchema".split()
)
_HOLDS_LIST: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_HOLDS_MAP: Final = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})


def render(value: Any) -> str | None:
    """An argument as header text; None if it has no such form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return None


def mirror(marked: Mapping[Path, tuple[str, str]], arguments: Any) -> list[tuple[str, str]]:
    """The headers that a call with these arguments must carry."""
    texts = ((name, render(_at(arguments, path))) for path, (name, _) in marked.items())
    return [(name, encode_value(text)) for name, text in texts if text is not None]


def disagreement(
    marked: Mapping[Path, tuple[str, str]], arguments: Any, headers: Mapping[str, str]
) -> str:
    """The difference between headers and arguments in words; an empty string if they agree.

    `headers` holds lower-case names.
    """
    for path, (name, kind) in marked.items():
        sent = headers.get(name.lower())
        value = _at(arguments, path)
        text = render(value)
        if (sent is None) != (text is None):
            return f"{name} and the argument {'.'.join(path)!r} must be present together"
        if sent is None or text is None:
            continue
        plain = decode_value(sent)
        if plain is None or not _same(kind, value, text, plain):
            return f"{name} differs from the argument {'.'.join(path)!r}"
    return ""


def _same(kind: str, value: Any, text: str, sent: str) -> bool:
    if kind == "integer" and _is_whole(value) and _DECIMAL.fullmatch(sent):
        try:
            return int(sent.partition(".")[0]) == int(value)
        except ValueError:  # thousands of digits
            return False
    return sent == text


def _is_whole(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _at(arguments: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(arguments, Mapping):
            return None
        arguments = arguments.get(key)
    return arguments
