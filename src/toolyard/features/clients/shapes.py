"""The shape in which a client writes one server down, read and written.

A shape says in which words: all clients mean the same two things, a command or an address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from toolyard.core.endpoint import change_texts
from toolyard.core.endpoint_fields import LONGEST_CALL
from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Command, Endpoint, Pairs
from toolyard.core.server_entries import LAUNCH_KEYS, SWITCH_KEYS, TITLE_KEYS, read_entry
from toolyard.core.transports import TRANSPORT_KEYS
from toolyard.features.clients.untaken import (
    Untaken,
    nothing_else,
    untaken_keys,
    untaken_references,
)

Raw = JsonObject
"""An entry as the client has it, in plain values."""
Syntax = Literal["json", "toml"]
Mend = Callable[[Raw], Raw]
Change = Callable[[str], str]
Elsewhere = Callable[[Raw, str], Iterable[Untaken]]

_THEIRS: Final = ("timeout", "project")
BY_VARIABLE: Final = ("http_headers", "env_http_headers", "bearer_token_env_var", "env_vars")
"""Keys of headers and variables that are given by the name of a variable."""


def _same(raw: Raw) -> Raw:
    return raw


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class ClientEntry:
    """One server of a client's file."""

    name: str
    endpoint: Endpoint
    enabled: bool = True
    title: str = ""
    timeout: float | None = None
    """Seconds a call may take, if the client says so."""
    untaken: tuple[Untaken, ...] = ()
    env_file: str = ""
    """The file with more variables, as the client writes its path."""


@dataclass(frozen=True, slots=True)
class FileShape:
    """The words of one client, or of several that use the same."""

    top: str = "mcpServers"
    """The key under which servers stand."""
    syntax: Syntax = "json"
    fixed: tuple[tuple[str, Any], ...] = ()
    """The keys that every entry begins with."""
    words: Mapping[str, str] = field(default_factory=dict)
    """The value of `type`, by stdio, http and sse; without one there is no `type`."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """The key of the address, by http and sse; what is missing the client cannot take."""
    one_list: bool = False
    """The command and its arguments are one list."""
    env: str = "env"
    headers: str = "headers"
    mend: Mend = _same
    """Makes of an entry one in the words that all understand."""
    mended: tuple[str, ...] = ()
    """The keys beyond the usual ones that `mend` understands."""
    refer: Change = _as_it_is
    """Makes of the client's references to variables those of ours."""
    timeout: tuple[str, float] | None = None
    """The key that says how long a call may take, and its unit in seconds."""
    elsewhere: Elsewhere = nothing_else
    """Finds what the whole file says of a server outside of its entry."""

    def takes(self, kind: str) -> bool:
        """Return whether the client can be given an address of that kind."""
        return kind in self.addresses

    def write(self, endpoint: Endpoint) -> Raw:
        """Give the entry for an endpoint.

        Raises:
            ConfigError: The client cannot take it.
        """
        raw = dict(self.fixed)
        kind = "stdio" if isinstance(endpoint, Command) else endpoint.kind
        if word := self.words.get(kind):
            raw["type"] = word
        if isinstance(endpoint, Command):
            return raw | self._command(endpoint)
        key = self.addresses.get(kind)
        if key is None:
            raise ConfigError(
                f"this client takes no address that is spoken to by {kind}",
                "give it a command, as 'toolyard connect' does without --http",
            )
        return raw | {key: endpoint.url} | _filled(self.headers, endpoint.headers)

    def _command(self, command: Command) -> Raw:
        if self.one_list:
            raw: Raw = {"command": list(command.argv)}
        else:
            raw = {"command": command.argv[0], "args": list(command.argv[1:])}
        raw |= _filled(self.env, command.env)
        return raw | ({"cwd": command.cwd} if command.cwd else {})

    def read(self, name: str, raw: object) -> ClientEntry:
        """Understand an entry.

        Raises:
            FaultsError: It cannot be used.
        """
        fields = raw if isinstance(raw, dict) else {}
        mended: Any = raw
        if isinstance(raw, dict):
            # Clients mean other things by these, so they are not read as ours.
            mended = {key: value for key, value in self.mend(raw).items() if key not in _THEIRS}
        entry = read_entry(mended)
        endpoint = change_texts(entry.endpoint, self.refer)
        untaken = (*self._untaken(fields), *untaken_references(endpoint))
        seconds = self._seconds(fields)
        file = fields.get("envFile")
        env_file = file if isinstance(file, str) and isinstance(endpoint, Command) else ""
        return ClientEntry(name, endpoint, entry.enabled, entry.title, seconds, untaken, env_file)

    def _seconds(self, raw: Raw) -> float | None:
        key, unit = self.timeout or ("", 0.0)
        value = raw.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        seconds = round(value * unit, 3)
        return seconds if 0 < seconds <= LONGEST_CALL else None

    def _untaken(self, raw: Raw) -> Iterator[Untaken]:
        usual = [key for key, value in self.fixed if raw.get(key) == value]
        taken = [self.timeout[0]] if self.timeout and self._seconds(raw) else []
        keys = (*LAUNCH_KEYS, *SWITCH_KEYS, *TITLE_KEYS, *self.mended, *usual, *taken)
        return untaken_keys(raw, keys)


def _filled(key: str, pairs: Pairs) -> Raw:
    return {key: dict(pairs)} if pairs else {}


# What clients write in words of their own.


def bare_url_is_sse(raw: Raw) -> Raw:
    """For clients that say `httpUrl` for HTTP, and `url` for the older way."""
    is_told = raw.get("httpUrl") or any(raw.get(key) for key in TRANSPORT_KEYS)
    is_bare = raw.get("url") and not is_told
    return {**raw, "type": "sse"} if is_bare else raw


def nested_command(raw: Raw) -> Raw:
    """For a command with its path, arguments and variables inside."""
    inner = raw.get("command")
    if not isinstance(inner, dict):
        return raw
    outer = {key: value for key, value in raw.items() if key != "command"}
    return (
        outer
        | {key: inner[key] for key in ("args", "env") if inner.get(key)}
        | {"command": inner.get("path")}
    )


def headers_by_variable(raw: Raw) -> Raw:
    """For headers and variables that are given by the name of a variable."""
    headers = dict(raw.get("http_headers") or {})
    for name, variable in dict(raw.get("env_http_headers") or {}).items():
        headers[name] = f"${{{variable}}}"
    if variable := raw.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    passed = raw.get("env_vars") or ()
    env = {name: f"${{{name}}}" for name in passed if isinstance(name, str)}
    mended = raw | ({"headers": headers} if headers else {})
    return mended | ({"env": env | dict(raw.get("env") or {})} if env else {})


_SHELL: Final = re.compile(r"\$(?!\$)([A-Za-z_][A-Za-z0-9_]*)")
_BRACES: Final = re.compile(r"(?<!\$)\{(env|file):([^{}]+)\}")


def literal(text: str) -> str:
    """For clients that know no references: what looks like one is meant as it stands."""
    return text.replace("${", "$${")


def from_shell(text: str) -> str:
    """For clients that also write `$NAME`."""
    return _SHELL.sub(r"${\1}", text)


def from_braces(text: str) -> str:
    """For clients that write `{env:NAME}` and `{file:path}`."""
    return _BRACES.sub(r"${\1:\2}", literal(text))
