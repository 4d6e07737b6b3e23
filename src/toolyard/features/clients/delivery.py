"""The servers handed to a run of an agent: by words on its command line, variables or files.

Nothing of the user's is touched; only clients without a flag or variable for it get their servers
in the project's file, which is put back afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from toolyard.core.agents import KNOWN_AGENTS
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Command, Endpoint, Url
from toolyard.features.clients.formats import put
from toolyard.features.clients.known import BY_NAME
from toolyard.features.clients.places import Place, Surroundings, one_place
from toolyard.features.clients.shapes import FileShape
from toolyard.records.secrets.mask import is_secret_name

VARIABLE: Final = "TOOLYARD_MCP_CONFIG"
"""The variable that names the file of an agent that is not known, in the most common words."""
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_BEARER: Final = "Bearer "
Servers = Mapping[str, Endpoint]


@dataclass(frozen=True, slots=True)
class Merge:
    """A project's file that holds the servers during the run."""

    place: Place
    entries: tuple[tuple[str, Any], ...] = field(repr=False)

    def apply(self, data: bytes) -> bytes:
        """The file with the servers in it.

        Raises:
            ConfigError: It cannot be read or changed.
        """
        for name, raw in self.entries:
            data = put(self.place.client.shape, data, name, raw, self.place.keys)
        return data


@dataclass(frozen=True, slots=True)
class Delivery:
    """The way in which the servers of one run reach the agent."""

    how: str
    """In words for people."""
    words: tuple[str, ...] = ()
    """Put behind the agent's own arguments; `{folder}` stands for the run's folder."""
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    files: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    """In the run's folder, for the user alone."""
    merge: Merge | None = None

    def placed(self, folder: Path) -> Delivery:
        """The same, once the run's folder is known."""
        words = tuple(word.replace("{folder}", str(folder)) for word in self.words)
        env = tuple((name, value.replace("{folder}", str(folder))) for name, value in self.env)
        return replace(self, words=words, env=env)


def deliver(
    agent: str, servers: Servers, around: Surroundings, project: Path, others: tuple[str, ...] = ()
) -> Delivery:
    """Decide how an agent is handed its servers, with all references resolved.

    Args:
        others: Servers of the user's own file that the run is not to have, where that is possible.
    """
    ways: dict[str, Callable[[], Delivery]] = {
        "claude-code": lambda: _by_flag(servers),
        "codex": lambda: _by_words(servers, others),
        "opencode": lambda: _by_variable(servers),
    }
    if agent in ways:
        return ways[agent]()
    if agent in KNOWN_AGENTS:
        return _by_project(agent, servers, around, project)
    data = _written(BY_NAME["claude-code"].shape, servers)
    env = ((VARIABLE, "{folder}/mcp.json"),)
    return Delivery(f"a file named by {VARIABLE}", env=env, files=(("mcp.json", data),))


def _written(shape: FileShape, servers: Servers) -> bytes:
    body = {shape.top: {name: shape.write(endpoint) for name, endpoint in servers.items()}}
    return json.dumps(body, indent=2, ensure_ascii=False).encode() + b"\n"


def _by_flag(servers: Servers) -> Delivery:
    """Claude Code: a file and a flag; strict, so that the run has these servers and no others."""
    data = _written(BY_NAME["claude-code"].shape, servers)
    words = ("--mcp-config", "{folder}/mcp.json", "--strict-mcp-config")
    return Delivery("--mcp-config with a file", words, files=(("mcp.json", data),))


def _by_variable(servers: Servers) -> Delivery:
    """Opencode reads one more file if a variable names it."""
    data = _written(BY_NAME["opencode"].shape, servers)
    env = (("OPENCODE_CONFIG", "{folder}/opencode.json"),)
    return Delivery("OPENCODE_CONFIG with a file", env=env, files=(("opencode.json", data),))


def _by_project(agent: str, servers: Servers, around: Surroundings, project: Path) -> Delivery:
    """Clients that know neither: the project's file, merged and put back."""
    client = BY_NAME[agent]
    place = one_place(client, around, project)
    entries = tuple((name, client.shape.write(endpoint)) for name, endpoint in servers.items())
    return Delivery(f"the project's {client.project[0]}", merge=Merge(place, entries))


# Codex: everything on the command line, but secrets, which everybody could read there.


def _by_words(servers: Servers, others: tuple[str, ...]) -> Delivery:
    words: list[str] = []
    env: dict[str, str] = {}
    for name, endpoint in servers.items():
        fields = _codex_entry(endpoint, env)
        words += [_setting(name, key, value) for key, value in fields.items()]
    words += [_setting(name, "enabled", False) for name in others if name not in servers]
    flagged = tuple(part for word in words for part in ("-c", word))
    return Delivery("-c flags, secrets in the environment", flagged, tuple(env.items()))


def _codex_entry(endpoint: Endpoint, env: dict[str, str]) -> JsonObject:
    if isinstance(endpoint, Url):
        return {"url": endpoint.url, **_codex_headers(endpoint, env)}
    return {
        "command": endpoint.argv[0],
        "args": list(endpoint.argv[1:]),
        **({"cwd": endpoint.cwd} if endpoint.cwd else {}),
        **_codex_env(endpoint, env),
    }


def _codex_env(command: Command, env: dict[str, str]) -> JsonObject:
    plain: dict[str, str] = {}
    passed = []
    for name, value in command.env:
        # Two servers may want different values under one name; only one can be passed on.
        if is_secret_name(name) and env.get(name, value) == value:
            env[name] = value
            passed.append(name)
        else:
            plain[name] = value
    fields: JsonObject = {"env": plain} if plain else {}
    return fields | ({"env_vars": passed} if passed else {})


def _codex_headers(url: Url, env: dict[str, str]) -> JsonObject:
    named: dict[str, str] = {}
    fields: JsonObject = {}
    for name, value in url.headers:
        variable = f"TOOLYARD_HEADER_{len(env)}"
        if name.lower() == "authorization" and value.startswith(_BEARER):
            env[variable] = value.removeprefix(_BEARER)
            fields["bearer_token_env_var"] = variable
        else:
            env[variable] = value
            named[name] = variable
    return fields | ({"env_http_headers": named} if named else {})


def _setting(server: str, key: str, value: Any) -> str:
    name = server if _BARE.fullmatch(server) else json.dumps(server)
    return f"mcp_servers.{name}.{key}={_toml(value)}"


def _toml(value: Any) -> str:
    """A value as TOML has it; its strings are those of JSON."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items())
        return "{" + ", ".join(pairs) + "}"
    return json.dumps(value, ensure_ascii=True)
