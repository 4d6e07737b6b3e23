"""Endpoints: a command to start or an address to reach, written down and told apart.

`toolyard.core.endpoint_fields` reads them, in any spelling.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from toolyard.core.canonical import canonical

Pairs = tuple[tuple[str, str], ...]
"""Names and values, frozen all the way down, so that an endpoint can be a key."""
CLIENT_TEXTS: Final = ("client_id", "client_secret", "private_key", "scope", "issuer", "audience")
"""The fields of a registered client that may hold references."""
_MEMBER: Final = re.compile(r"(?<!\$)\$\{member:")
"""The beginning of a reference to a secret of whoever calls."""
_BREAKS: Final = re.compile(r"[\x00-\x20\x7f]")
"""Characters that would end an address, or the line of a request that it stands in."""


@dataclass(frozen=True, slots=True)
class Command:
    """Start this process and speak MCP over its stdin and stdout."""

    argv: tuple[str, ...]
    """Program and arguments; an empty program is the one that the image of its placement names."""
    env: Pairs = field(default=(), repr=False)
    cwd: str | None = None


GrantType = Literal["client_credentials", "authorization_code", "identity", "exchange"]
PERSONAL_GRANTS: Final = ("identity", "exchange")
"""The grants for which the hub's issuer vouches for whoever calls."""


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """A client that somebody registered with the issuer of a server's tokens."""

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)
    """A key in PEM, in place of a secret."""
    scope: str = ""
    grant: GrantType = "client_credentials"
    """Whether the client is let in by itself, a person logs in with it, or the hub's issuer vouches
    for the person: to the server's issuer (`identity`), or to the server (`exchange`)."""
    issuer: str = ""
    """The issuer of the server's tokens: secrets and assertions of identity go to no other."""
    audience: str = ""
    """The name of the server at the hub's issuer, if that is not its address."""

    @property
    def is_personal(self) -> bool:
        """True if the hub's issuer vouches for whoever calls."""
        return self.grant in PERSONAL_GRANTS


@dataclass(frozen=True, slots=True)
class Url:
    """Speak MCP to this address: streamable HTTP, or the older HTTP+SSE."""

    url: str
    kind: Literal["http", "sse"] = "http"
    headers: Pairs = field(default=(), repr=False)
    auth: RegisteredClient | None = None
    forward: Pairs = ()
    """The headers of a caller that its calls carry on, and what the server knows them as."""


Endpoint = Command | Url


EndpointEntry = dict[str, str | list[str] | dict[str, str]]
"""An endpoint as a file has it: a command with its arguments, or an address."""


def write_endpoint(endpoint: Endpoint) -> EndpointEntry:
    """Return an endpoint as an entry of a servers file says it."""
    if isinstance(endpoint, Command):
        program, *args = endpoint.argv
        entry: EndpointEntry = {"command": program, "args": args}
        more: EndpointEntry = {"env": dict(endpoint.env), "cwd": endpoint.cwd or ""}
    else:
        entry = {"type": endpoint.kind, "url": endpoint.url}
        more = {
            "headers": dict(endpoint.headers),
            "auth": _write_client(endpoint.auth),
            "forward_headers": dict(endpoint.forward),
        }
    return entry | {key: value for key, value in more.items() if value}


def _write_client(client: RegisteredClient | None) -> dict[str, str]:
    if client is None:
        return {}
    fields = {name: getattr(client, name) for name in CLIENT_TEXTS}
    return {name: text for name, text in fields.items() if text} | {"grant": client.grant}


def change_texts(endpoint: Endpoint, change: Callable[[str], str]) -> Endpoint:
    """Return the endpoint with every text in it changed; names stay."""
    if isinstance(endpoint, Command):
        return Command(
            tuple(map(change, endpoint.argv)),
            _changed(endpoint.env, change),
            change(endpoint.cwd) if endpoint.cwd else None,
        )
    return replace(
        endpoint,
        url=change(endpoint.url),
        headers=_changed(endpoint.headers, change),
        auth=change_client(endpoint.auth, lambda _name, text: change(text)),
    )


def change_client(
    client: RegisteredClient | None, change: Callable[[str, str], str]
) -> RegisteredClient | None:
    """Return a client with its texts changed, by their names and values."""
    if client is None:
        return None
    texts = {name: change(name, text) for name, text in client_texts(client)}
    return RegisteredClient(**texts, grant=client.grant)


def client_texts(client: RegisteredClient | None) -> Pairs:
    """Return the texts of a client, by their names."""
    if client is None:
        return ()
    return tuple((name, getattr(client, name)) for name in CLIENT_TEXTS)


def uses_member_secrets(endpoint: Endpoint) -> bool:
    """Tell whether a text of an endpoint refers to a secret of whoever calls."""
    if isinstance(endpoint, Command):
        texts = [*endpoint.argv, endpoint.cwd or "", *(value for _, value in endpoint.env)]
    else:
        pairs = (*endpoint.headers, *client_texts(endpoint.auth))
        texts = [endpoint.url, *(value for _, value in pairs)]
    return any(_MEMBER.search(text) for text in texts)


def _changed(pairs: Pairs, change: Callable[[str], str]) -> Pairs:
    return tuple((name, change(value)) for name, value in pairs)


def fingerprint(endpoint: Endpoint, variables: tuple[str, ...] = ()) -> str:
    """Return what stands for an endpoint, and for the variables that it asks the user for.

    Approvals, locks and findings are kept under it, so its bytes must never change.
    """
    if isinstance(endpoint, Command):
        parts: list[Any] = ["command", endpoint.argv, endpoint.env, endpoint.cwd]
    else:
        parts = ["url", endpoint.kind, endpoint.url, endpoint.headers]
        if endpoint.auth is not None:
            parts.append(sorted(_write_client(endpoint.auth).items()))
        if endpoint.forward:
            parts.append(["forward", endpoint.forward])
    text = canonical([*parts, sorted(variables)])
    return hashlib.sha256(b"toolyard launch\0" + text).hexdigest()


def is_address(text: str) -> bool:
    """Return whether a text is an http or https address that can be reached."""
    return not _BREAKS.search(text) and _begins_address(text, needs_host=True)


def may_be_address(text: str) -> bool:
    """Return whether a text is an address once its references, such as `${HOST}`, are filled in."""
    if "${" not in text:
        return is_address(text)
    if _BREAKS.search(text):
        return False
    if "${" in text.split("://")[0]:
        return True  # even the scheme is known only then
    return _begins_address(text.split("${")[0], needs_host=False)


def _begins_address(text: str, *, needs_host: bool) -> bool:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - raises for a port that is none
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and (bool(parts.hostname) or not needs_host)
