"""Reads an endpoint from the fields of a JSON object, in any spelling that clients use.

    command, args, env | environment, cwd    a process; `command` may be the whole array
    httpUrl | url | serverUrl, headers       an address; the first that says something counts
    auth                                     a client that is registered with the server's issuer
    forward_headers                          headers of callers that go on to the server
    type | transport                         see `toolyard.core.transports`

Every door reads endpoints here, so that all give the same verdict. A null and an empty text count
as absent. Numbers and truth values in `args`, `env` and `headers` are taken as text. Types are
checked in every field, what a text says only in those of the process or address that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast, get_args

from toolyard.core.endpoint import (
    CLIENT_TEXTS,
    PERSONAL_GRANTS,
    Command,
    Endpoint,
    GrantType,
    RegisteredClient,
    Url,
    may_be_address,
)
from toolyard.core.errors import ConfigError
from toolyard.core.fields import FaultsError, FieldFault, Fields
from toolyard.core.transports import TRANSPORT_KEYS, Kind, read_transport

ENV_KEYS: Final = ("environment", "env")
"""The later one wins."""
URL_KEYS: Final = ("httpUrl", "url", "serverUrl")
"""The first that says something counts: a client that knows `httpUrl` means it first."""
ENDPOINT_KEYS: Final = (
    *(*TRANSPORT_KEYS, "command", "args", "env", "environment", "cwd"),
    *("url", "httpUrl", "serverUrl", "headers", "auth", "forward_headers"),
)
MILLISECONDS_FROM: Final = 1000.0
"""Clients disagree on the unit; nobody waits 1000 seconds, and nobody only 1000 milliseconds or
less, for a call on purpose."""
LONGEST_CALL: Final = 86_400.0
"""Seconds; who writes more than a day means no end."""

FORWARDED_MOST: Final = 16
"""Headers of a caller that go on to one server."""
_NEVER_FORWARDED: Final = frozenset(
    {
        *("authorization", "cookie", "set-cookie", "host", "origin", "referer", "forwarded"),
        *("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect"),
        *("traceparent", "tracestate", "last-event-id"),
    }
)
_NEVER_FORWARDED_FROM: Final = ("mcp-", "proxy-", "content-", "accept", "x-forwarded-", "sec-")
"""Beginnings of names: of credentials, of the connection, and of what the protocol itself says."""
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def read_endpoint(entry: Mapping[str, Any], *, has_image: bool = False) -> Endpoint:
    """Read an endpoint; with an image, a process needs no command.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    fields = Fields(entry, 'write it as {"command": "..."} or {"url": "..."}')
    fields.finish()
    kind = _kind(fields, has_image)
    command, address = _command(fields), _address(fields)
    if kind == "stdio":
        _check_command(fields, command, has_image)
        if address.auth is not None:
            text = "'auth' is about an address, and this server has a command"
            fields.fault("auth", text, "remove 'auth', and give it what it needs in 'env'")
        if address.forward:
            text = "'forward_headers' is about an address, and a command has no headers"
            fields.fault("forward_headers", text, "remove 'forward_headers'")
    elif kind is not None:
        _check_address(fields, address)
        _check_forward(fields, address, kind)
    fields.finish()
    assert kind is not None  # or something is wrong
    return command if kind == "stdio" else replace(address, kind=kind)


def check_variables(fields: Fields, field: str) -> None:
    """Note every name in a table that no process can have a variable of."""
    names = () if fields.is_faulty(field) else fields.get(field) or ()
    for name in names:
        if not name or "=" in name:
            fields.fault(field, f"{name[:80]!r} cannot name a variable", "rename it")


def read_timeout(value: Any) -> float | None:
    """Return the seconds that one call may take; None if nothing is said.

    Raises:
        FaultsError: It is no number above 0.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        hint = "write seconds, or 1000 and more for milliseconds"
        raise FaultsError([FieldFault("", "timeout", "'timeout' is not a number above 0", hint)])
    bounded = min(value, LONGEST_CALL * 1000)
    return float(bounded / 1000 if bounded >= MILLISECONDS_FROM else bounded)


def write_timeout(seconds: float) -> float:
    """Return a timeout as an entry says it, which is in milliseconds from 1000 on."""
    value = seconds * 1000 if seconds >= MILLISECONDS_FROM else seconds
    return int(value) if value == int(value) else value


def _kind(fields: Fields, has_image: bool) -> Kind | None:
    """Return what is meant; None where that is wrong, which is noted."""
    spelled = {key: fields.text(key) for key in TRANSPORT_KEYS}
    key = next((key for key in TRANSPORT_KEYS if fields.has(key)), "")
    if not key:
        return _meant(fields, has_image)
    if fields.is_faulty(key):
        return None
    try:
        kind = read_transport(spelled[key])
    except ConfigError as error:
        fields.fault(key, str(error), error.hint)
        return None
    needed = "url" if kind != "stdio" else "" if has_image else "command"
    if needed and not _has(fields, needed):
        fields.fault(needed, f"its {key} {kind!r} needs a '{needed}'", f"add '{needed}'")
        return None
    return kind


def _meant(fields: Fields, has_image: bool) -> Kind | None:
    """Return what an endpoint without a transport means."""
    has_command, has_url = _has(fields, "command"), _has(fields, "url")
    if has_command and has_url:
        hint = "keep one, or say which by 'type': 'stdio' or 'http'"
        fields.fault("type", "it has both a command and a url", hint)
        return None
    if has_url:
        return "http"
    if has_command or has_image:
        return "stdio"
    fields.fault("command", "it has neither 'command' nor 'url'", "add one of them")
    return None


def _has(fields: Fields, needed: str) -> bool:
    return any(fields.has(key) for key in (URL_KEYS if needed == "url" else (needed,)))


def _command(fields: Fields) -> Command:
    is_list = isinstance(fields.get("command"), list)
    first = fields.texts("command", scalars=True) if is_list else (fields.text("command"),)
    env: dict[str, str] = {}
    for key in ENV_KEYS:
        env |= dict(fields.pairs(key, scalars=True))
    argv = (first or ("",)) + fields.texts("args", scalars=True)
    return Command(argv, tuple(env.items()), fields.text("cwd") or None)


def _address(fields: Fields) -> Url:
    urls = {key: fields.text(key).strip() for key in URL_KEYS}
    headers = fields.pairs("headers", scalars=True)
    url = next((urls[key] for key in URL_KEYS if fields.has(key)), "")
    return Url(url, headers=headers, auth=_client(fields), forward=fields.pairs("forward_headers"))


def _client(fields: Fields) -> RegisteredClient | None:
    """The client in an entry; other clients keep settings of another form in `auth`."""
    given = fields.get("auth")
    if not isinstance(given, Mapping):
        return None
    if "client_id" not in given and given.get("grant") not in PERSONAL_GRANTS:
        return None
    client = Fields(given, 'write {"client_id": "...", "client_secret": "..."}', within=fields)
    texts = {name: client.text(name) for name in CLIENT_TEXTS}
    has_proof = bool(texts["client_secret"] or texts["private_key"])
    grant = client.text("grant") or ("client_credentials" if has_proof else "authorization_code")
    if grant not in get_args(GrantType):
        hint = f"write one of: {', '.join(get_args(GrantType))}"
        fields.fault("auth", f"'auth' has no grant {grant[:80]!r}", hint)
    elif grant in PERSONAL_GRANTS:
        _check_personal(fields, grant, texts)
    elif not texts["client_id"] or (grant == "client_credentials" and not has_proof):
        hint = 'add "client_secret": "${keyring:NAME}", or "private_key": "${file:PATH}"'
        fields.fault("auth", "the client in 'auth' cannot prove who it is", hint)
    return RegisteredClient(**texts, grant=cast("GrantType", grant))


def _check_personal(fields: Fields, grant: str, texts: Mapping[str, str]) -> None:
    """Note what is missing where the hub's issuer vouches for whoever calls."""
    if grant == "exchange":
        return  # the hub's own client at its issuer is all it takes
    if not texts["client_id"] or not may_be_address(texts["issuer"]):
        hint = 'add "client_id", and "issuer": the address of the server\'s authorization server'
        fields.fault("auth", "the grant 'identity' needs a client and an issuer", hint)


def _check_command(fields: Fields, command: Command, has_image: bool) -> None:
    is_told = fields.has("command") or not has_image
    if is_told and not command.argv[0].strip() and not fields.is_faulty("command"):
        fields.fault("command", "its command is empty", "name the program to start")
    for key in ENV_KEYS:
        check_variables(fields, key)


def _check_address(fields: Fields, address: Url) -> None:
    key = next(key for key in URL_KEYS if fields.has(key))
    # The address may hold a secret, so it is not repeated.
    if not fields.is_faulty(key) and not may_be_address(address.url):
        hint = "write it as http://host:port/path or https://..."
        fields.fault(key, f"'{key}' is not an http address", hint)
    for name, value in address.headers:
        if not _HEADER_NAME.fullmatch(name) or _CONTROL.search(value):
            hint = "use letters, digits and '-' in names, and no line ends in values"
            fields.fault("headers", f"the header {name[:80]!r} is not valid", hint)


def _check_forward(fields: Fields, address: Url, kind: Kind) -> None:
    """Note all that must not go from callers to a server."""
    field = "forward_headers"
    if address.forward and kind == "sse":
        text = "headers of callers cannot be forwarded over the older HTTP+SSE"
        fields.fault(field, text, "use the server's streamable HTTP address, with type 'http'")
    if len(address.forward) > FORWARDED_MOST:
        text = f"more than {FORWARDED_MOST} headers of callers are forwarded"
        fields.fault(field, text, "forward fewer")
    own = [name.lower() for name, _ in address.headers]
    targets = [target.lower() for _, target in address.forward]
    for name in dict.fromkeys(name for pair in address.forward for name in pair):
        if not _HEADER_NAME.fullmatch(name) or not _may_be_forwarded(name.lower()):
            text = f"the header {name[:80]!r} is never forwarded"
            fields.fault(field, text, "forward headers of your own, such as X-Tenant")
    for target in targets:
        if target in own or targets.count(target) > 1:
            text = f"the header {target[:80]!r} would be sent twice"
            fields.fault(field, text, "give it once, in 'headers' or in 'forward_headers'")


def _may_be_forwarded(name: str) -> bool:
    return name not in _NEVER_FORWARDED and not name.startswith(_NEVER_FORWARDED_FROM)
