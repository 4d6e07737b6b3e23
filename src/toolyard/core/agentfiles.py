"""How agents' lists and policies are written down, read with every fault named.

Nothing half-valid comes out of here: all faults of what was said are collected, each with the
server, the field and what to do, and raised together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, cast

from toolyard.core.agents import (
    MODES,
    TRANSPORTS,
    Agent,
    AgentConfig,
    AgentServer,
    Meta,
    Mode,
    Override,
    Pairs,
    Policy,
    Transport,
    spelled,
)
from toolyard.core.agentwords import write_config
from toolyard.core.errors import ConfigError
from toolyard.core.rewrite import check_rule
from toolyard.core.transports import plain_spelling, read_kind

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
NAME_HINT: Final = "use 1 to 64 letters, digits, '_', '.' or '-', not beginning with '.' or '-'"
MOST: Final = 1000
"""Servers of one list, or entries of one table."""
LONGEST_TEXT: Final = 100_000
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SERVER_KEYS: Final = (
    *("type", "transport", "command", "args", "env", "cwd", "url", "headers", "mode", "server"),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: with which server, in which field, and what to do."""

    server: str
    field: str
    text: str
    hint: str

    def __str__(self) -> str:
        where = f"server {self.server!r}: " if self.server else ""
        return f"{where}{self.text}"


class FaultsError(ConfigError):
    """What somebody wants to save cannot be used, for each of these reasons."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{faults[0]}{more}", faults[0].hint)
        self.faults = faults


class _Reader:
    """Reads fields by type and collects what is wrong with them."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.server = ""

    def fault(self, field: str, text: str, hint: str) -> None:
        self.faults.append(Fault(self.server, field, text, hint))

    def finish(self) -> None:
        if self.faults:
            raise FaultsError(tuple(self.faults))

    def text(self, said: Mapping[str, Any], field: str) -> str:
        value = said.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.fault(field, f"'{field}' is not text", "put it in double quotes")
            return ""
        return self._bounded(field, value)

    def flag(self, said: Mapping[str, Any], field: str, default: bool) -> bool:
        value = said.get(field)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fault(field, f"'{field}' is neither true nor false", "write true or false")
            return default
        return value

    def texts(self, said: Mapping[str, Any], field: str) -> tuple[str, ...]:
        value = said.get(field)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self.fault(field, f"'{field}' is not a list of texts", 'write it as ["a", "b"]')
            return ()
        if len(value) > MOST:
            self.fault(field, f"'{field}' has more than {MOST} entries", "shorten it")
        return tuple(self._bounded(field, each) for each in value)

    def pairs(self, said: Mapping[str, Any], field: str) -> Pairs:
        value = said.get(field)
        if value is None:
            return ()
        if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
            self.fault(field, f"'{field}' is not an object of texts", 'write it as {"A": "b"}')
            return ()
        if len(value) > MOST:
            self.fault(field, f"'{field}' has more than {MOST} entries", "shorten it")
        return tuple((self._bounded(field, k), self._bounded(field, v)) for k, v in value.items())

    def _bounded(self, field: str, value: str) -> str:
        if "\0" in value or len(value) > LONGEST_TEXT:
            hint = f"use at most {LONGEST_TEXT} characters and no NUL"
            self.fault(field, f"'{field}' is too long or holds a NUL", hint)
        return value

    def unknown(self, said: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
        # A misspelt key would silently not do what somebody relies on.
        for key in said:
            if key not in known:
                hint = f"there are: {', '.join(known)}"
                self.fault(str(key), f"there is no '{str(key)[:80]}' in {what}", hint)


def read_config(agent: str, said: Any) -> AgentConfig:
    """Make an agent's list of what a request says: `{enabled, servers, meta}`, or `mcpServers`.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    reader = _Reader()
    body = _object(reader, said, 'write it as {"enabled": true, "servers": {…}}')
    reader.unknown(body, ("enabled", "servers", "mcpServers", "meta"), "an agent's configuration")
    if body.get("enabled") is None:
        reader.fault("enabled", "'enabled' is missing", "write true or false")
    enabled = reader.flag(body, "enabled", False)
    if "servers" in body and "mcpServers" in body:
        reader.fault("servers", "it has both 'servers' and 'mcpServers'", "keep one of them")
    field = "mcpServers" if "mcpServers" in body else "servers"
    if body.get(field) is None:
        reader.fault(field, f"'{field}' is missing", "write {} for a list without servers")
    servers, gone = _servers(reader, body.get(field), field)
    if gone:
        reader.fault(field, f"server {gone[0]!r} is null", "leave it out, or say what it is")
    meta = _meta(reader, body.get("meta"), {server.name for server in servers})
    reader.finish()
    return AgentConfig(agent, enabled, servers, meta)


def fill_in(said: Any, now: AgentConfig) -> Any:
    """Return a request for an agent's list with the fields that it does not name as they are now.

    `meta` of servers that leave the list goes with them. A request that names neither the list
    nor whether it is on is returned as it came: `read_config` says what it lacks.
    """
    if not isinstance(said, Mapping):
        return said
    named = {key: value for key, value in said.items() if value is not None}
    listed = named.keys() & {"servers", "mcpServers"}
    if not listed and "enabled" not in named:
        return said
    before = write_config(now)
    whole = {"enabled": now.enabled, **named}
    if not listed:
        whole["servers"] = before["servers"]
    if "meta" not in named:
        servers = whole.get("servers", whole.get("mcpServers"))
        kept = servers if isinstance(servers, Mapping) else {}
        whole["meta"] = {name: each for name, each in before["meta"].items() if name in kept}
    return whole


def read_override(agent: str, executor: str, said: Any) -> Override:
    """Make an override of what a request says; a server that is null is left out there.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    reader = _Reader()
    body = _object(reader, said, 'write it as {"enabled": true, "servers": {"git": null}}')
    reader.unknown(body, ("enabled", "servers"), "an override")
    enabled = None if body.get("enabled") is None else reader.flag(body, "enabled", True)
    servers, without = _servers(reader, body.get("servers"), "servers")
    reader.finish()
    return Override(agent, executor, enabled, servers, without)


def read_policy(said: Any) -> Policy:
    """Make a policy of what a request says; what it leaves out is as usual.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    reader = _Reader()
    body = _object(reader, said, 'write it as {"allow_stdio": false}')
    usual = Policy()
    values: dict[str, Any] = {}
    for field in fields(Policy):
        default = getattr(usual, field.name)
        if isinstance(default, bool):
            values[field.name] = reader.flag(body, field.name, default)
        elif field.name in ("http_url_rewrite", "env_injection"):
            values[field.name] = reader.pairs(body, field.name)
        else:
            values[field.name] = reader.texts(body, field.name)
    reader.unknown(body, tuple(field.name for field in fields(Policy)), "a policy")
    for wanted, given in values["http_url_rewrite"]:
        if wrong := check_rule(wanted, given):
            hint = "write addresses as http://host:port/path on both sides, or hosts as host:port"
            reader.fault("http_url_rewrite", wrong, hint)
    _check_env(reader, "env_injection", values["env_injection"])
    reader.finish()
    return Policy(**values)


def read_agent(name: str, said: Any) -> Agent:
    """Make an agent that a user defines: `{title, transports}`.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    reader = _Reader()
    body = _object(reader, said, 'write it as {"title": "My agent", "transports": ["stdio"]}')
    reader.unknown(body, ("title", "transports"), "an agent")
    id_ = spelled(name)
    if not NAME.fullmatch(id_):
        reader.fault("id", f"{name[:80]!r} cannot name an agent", NAME_HINT)
    transports = reader.texts(body, "transports")
    for each in transports:
        if _transport(each) is None:
            hint = f"allowed is any of {', '.join(TRANSPORTS)}"
            reader.fault("transports", f"there is no transport {each[:40]!r}", hint)
    if not transports and not reader.faults:
        reader.fault("transports", "it takes no transport", "name at least one, e.g. stdio")
    title = reader.text(body, "title")
    reader.finish()
    found = tuple(dict.fromkeys(cast("Transport", _transport(each)) for each in transports))
    return Agent(id_, title or name.strip(), found, own=True)


# One server.


def _servers(
    reader: _Reader, said: Any, field: str
) -> tuple[tuple[AgentServer, ...], tuple[str, ...]]:
    """The servers in the order of their names, and the names of those that are null."""
    if said is None:
        return (), ()
    if not isinstance(said, Mapping):
        reader.fault(field, f"'{field}' is not an object", 'write it as {"git": {…}}')
        return (), ()
    if len(said) > MOST:
        reader.fault(field, f"'{field}' has more than {MOST} entries", "shorten it")
    found = []
    for name in sorted(said):
        reader.server = name
        if not NAME.fullmatch(name):
            reader.fault("name", f"{name[:80]!r} cannot name a server", NAME_HINT)
        elif said[name] is not None:
            found.append(_server(reader, name, said[name]))
    reader.server = ""
    return tuple(found), tuple(name for name in sorted(said) if said[name] is None)


def _server(reader: _Reader, name: str, said: Any) -> AgentServer:
    body = _object(reader, said, 'write it as {"command": "…"} or {"url": "…"}')
    reader.unknown(body, _SERVER_KEYS, "a server")
    mode = _mode(reader, body)
    if body.get("server") is not None:
        extra = [key for key in _SERVER_KEYS[:-2] if body.get(key) is not None]
        if extra:
            hint = "leave it out, or define the server here without 'server'"
            text = f"it refers to a server of the yard, and has '{extra[0]}' too"
            reader.fault(extra[0], text, hint)
        server = reader.text(body, "server")
        if not server and not extra:
            reader.fault("server", "'server' is empty", "name a server; see: toolyard list")
        return AgentServer(name, mode=mode, server=server)
    type_ = _type(reader, body)
    entry = AgentServer(
        name,
        type_,
        command=reader.text(body, "command"),
        args=reader.texts(body, "args"),
        env=reader.pairs(body, "env"),
        cwd=reader.text(body, "cwd"),
        url=reader.text(body, "url").strip(),
        headers=reader.pairs(body, "headers"),
        mode=mode,
    )
    if type_ is not None:
        _check_entry(reader, entry)
    return entry


def _type(reader: _Reader, body: Mapping[str, Any]) -> Transport | None:
    said = reader.text(body, "type") or reader.text(body, "transport")
    if said:
        found = _transport(said)
        if found is None:
            hint = f"allowed is one of {', '.join(TRANSPORTS)}"
            reader.fault("type", f"there is no type {said[:40]!r}", hint)
        return found
    has_command, has_url = bool(body.get("command")), bool(body.get("url"))
    if has_command and has_url:
        reader.fault("type", "it has both a command and a url", "say which by 'type'")
        return None
    if not has_command and not has_url:
        hint = "give 'command' or 'url', or name a server of the yard in 'server'"
        reader.fault("command", "it has neither a command nor a url", hint)
        return None
    return "stdio" if has_command else "http"


def _transport(said: str) -> Transport | None:
    # Two names of one thing, and each agent is told the one it knows.
    is_streamable = plain_spelling(said) == "streamablehttp"
    return "streamable_http" if is_streamable else read_kind(said)


def _mode(reader: _Reader, body: Mapping[str, Any]) -> Mode:
    said = reader.text(body, "mode") or "auto"
    found = said.strip().lower().replace("-", "_")
    if found not in MODES:
        reader.fault("mode", f"there is no mode {said[:40]!r}", f"use one of {', '.join(MODES)}")
        return "auto"
    return found


def _check_entry(reader: _Reader, entry: AgentServer) -> None:
    if entry.type == "stdio":
        if not entry.command.strip():
            reader.fault("command", "its type 'stdio' needs a 'command'", "name the program")
        _check_env(reader, "env", entry.env)
        return
    if not entry.url:
        reader.fault("url", f"its type {entry.type!r} needs a 'url'", "write http://host/path")
    elif not _is_address(entry.url):
        # An address may hold a secret, so it is not repeated.
        reader.fault("url", "its 'url' is not an http address", "write http://host:port/path")
    for name, value in entry.headers:
        if not _HEADER.fullmatch(name) or _CONTROL.search(value):
            hint = "use letters, digits and '-' in names, and no line ends in values"
            reader.fault("headers", f"the header {name[:80]!r} is not valid", hint)


def _check_env(reader: _Reader, field: str, env: Pairs) -> None:
    for name, _ in env:
        if not _VARIABLE.fullmatch(name):
            reader.fault(field, f"{name[:80]!r} cannot name a variable", "use letters, digits, '_'")


def _is_address(url: str) -> bool:
    if _CONTROL.search(url) or " " in url:
        return False
    return url.startswith("${") or bool(re.match(r"https?://[^/?#]+", url))


def _object(reader: _Reader, said: Any, hint: str) -> Mapping[str, Any]:
    if isinstance(said, Mapping):
        return cast("Mapping[str, Any]", said)
    reader.fault("", "it is not a JSON object", hint)
    return {}


def _meta(reader: _Reader, said: Any, names: set[str]) -> tuple[tuple[str, Meta], ...]:
    if said is None:
        return ()
    keys = tuple(field.name for field in fields(Meta))
    found = []
    for name, each in sorted(_object(reader, said, 'write it as {"git": {…}}').items()):
        reader.server = str(name)
        body = _object(reader, each, 'write it as {"description": "…"}')
        reader.unknown(body, keys, "a server's meta")
        if name not in names:
            reader.fault("meta", "'meta' speaks of a server that is not listed", "take it out")
        found.append((str(name), Meta(*(reader.text(body, key) for key in keys))))
    reader.server = ""
    return tuple(found)
