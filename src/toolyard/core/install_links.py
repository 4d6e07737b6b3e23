"""Install links of VS Code and Cursor: one server, written into an address.

vscode:mcp/install?{"name": ..}               or ?name=..&config={..}; also vscode-insiders:
https://vscode.dev/redirect/mcp/install?name=..&config={..}&inputs=[..]
https://vscode.dev/redirect?url=vscode:mcp/install?..         also at insiders.vscode.dev
cursor://anysphere.cursor-deeplink/mcp/install?name=..&config=BASE64
https://cursor.com/install-mcp?name=..&config=BASE64          also below /en
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import shlex
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urlsplit

from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject

LONGEST: Final = 64 * 1024
"""Characters; browsers pass on no more."""
_LINK: Final = re.compile(r"(?:vscode|vscode-insiders|cursor|https?):", re.IGNORECASE)
_EDITORS: Final = ("vscode", "vscode-insiders")
_VSCODE_HOSTS: Final = ("vscode.dev", "insiders.vscode.dev")
_CURSOR_HOSTS: Final = ("cursor.com", "www.cursor.com")
_HINT: Final = "copy the address of an 'Install in VS Code' or 'Add to Cursor' button"


@dataclass(frozen=True, slots=True)
class LinkedServer:
    """A server as a link describes it."""

    name: str
    entry: JsonObject
    inputs: tuple[JsonObject, ...] = ()
    """The values that VS Code would ask for."""


def is_link(text: str) -> bool:
    """Tell whether a text looks like an address, be it an install link or not."""
    return _LINK.match(text.strip()) is not None


def read_link(text: str) -> LinkedServer:
    """Read an install link.

    Raises:
        ConfigError: It is none, or says nothing that can be used.
    """
    link = text.strip()
    if len(link) > LONGEST:
        raise ConfigError(f"the link has more than {LONGEST} characters", _HINT)
    try:
        parts = urlsplit(link)
        fields = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    except ValueError as error:
        raise ConfigError("the link cannot be read", _HINT) from error
    place = f"{parts.netloc}{parts.path}".strip("/").lower()
    if parts.scheme in _EDITORS and place == "mcp/install":
        return _from_vscode(parts.query, fields)
    if parts.scheme == "cursor" and place.endswith("/mcp/install"):
        return _from_cursor(fields)
    if parts.hostname in _VSCODE_HOSTS and parts.path.rstrip("/") == "/redirect/mcp/install":
        return _from_vscode(parts.query, fields)
    if parts.hostname in _VSCODE_HOSTS and parts.path.rstrip("/") == "/redirect":
        inner = unquote(parts.query.partition("url=")[2])
        if inner.startswith(_EDITORS):
            return read_link(inner)
    if parts.hostname in _CURSOR_HOSTS and parts.path.rstrip("/").endswith("/install-mcp"):
        return _from_cursor(fields)
    raise ConfigError("this is no install link of VS Code or Cursor", _HINT)


def vscode_link(name: str, entry: JsonObject) -> str:
    """Return the link with which VS Code adds a server."""
    return f"vscode:mcp/install?{quote(_compact({'name': name, **entry}), safe='')}"


def cursor_link(name: str, entry: JsonObject) -> str:
    """Return the link with which Cursor adds a server."""
    config = base64.b64encode(_compact(entry).encode()).decode()
    place = "cursor://anysphere.cursor-deeplink/mcp/install"
    return f"{place}?name={quote(name, safe='')}&config={quote(config, safe='')}"


def _from_vscode(query: str, fields: dict[str, str]) -> LinkedServer:
    if "config" not in fields:
        whole = _object(unquote(query))
        inputs = whole.pop("inputs", None)
        return LinkedServer(_text(whole.pop("name", "")), whole, _objects(inputs))
    inputs = _json(fields["inputs"]) if "inputs" in fields else None
    return LinkedServer(fields.get("name", ""), _object(fields["config"]), _objects(inputs))


def _from_cursor(fields: dict[str, str]) -> LinkedServer:
    # A plus sign in base64 that nobody encoded has become a space.
    encoded = fields.get("config", "").replace(" ", "+").replace("-", "+").replace("_", "/")
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ConfigError("the 'config' of the link is not base64", _HINT) from error
    entry = _object(text)
    name = fields.get("name", "")
    inner = entry.get(name)
    if isinstance(inner, dict) and len(entry) == 1:
        entry = inner
    command = entry.get("command")
    if isinstance(command, str) and " " in command and not entry.get("args"):
        entry = {**entry, **_split(command)}
    return LinkedServer(name, entry)


def _split(command: str) -> JsonObject:
    """The words of a command line: Cursor takes one in place of a program."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError("the command of the link cannot be split into words", _HINT) from error
    return {"command": words[0], "args": words[1:]} if words else {}


def _object(text: str) -> JsonObject:
    value = _json(text)
    if not isinstance(value, dict):
        raise ConfigError("the link holds no server", _HINT)
    return value


def _objects(value: Any) -> tuple[JsonObject, ...]:
    return (
        tuple(item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()
    )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError("the link holds no JSON", _HINT) from error


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _compact(value: JsonObject) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
