"""The lock file of a team: JSON that is meant to be kept beside its code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import msgspec

from toolyard.core.errors import ConfigError
from toolyard.core.locks import LOCKED_KINDS, Lock, Locked
from toolyard.core.model import Kind, Part
from toolyard.core.parts import INSTRUCTIONS
from toolyard.records.files import read_bounded, write_atomic

_VERSION: Final = 2
_TOOLS_ALONE: Final[frozenset[Kind]] = frozenset({"tools"})
"""The kinds of parts in a file of the first version."""
_Hash = Annotated[str, msgspec.Meta(pattern="^(any:)?[0-9a-f]{64}$")]
_KINDS: Final[tuple[Kind, ...]] = ("tools", "prompts", "templates")


class LockedServer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One server of a lock file: the hashes of its launch and of all it offers."""

    launch: _Hash
    tools: dict[str, _Hash]
    prompts: dict[str, _Hash] = {}
    templates: dict[str, _Hash] = {}
    instructions: _Hash | None = None
    package: str = ""
    server_version: str = ""
    also: dict[Kind, dict[str, list[_Hash]]] = {}
    """Never in a file: of a server as it is now, all that stands for each part."""


class LockFile(msgspec.Struct, frozen=True):
    """A lock file."""

    version: int
    servers: dict[str, LockedServer]


def read_lock(path: Path) -> dict[str, Locked]:
    """Read a lock file.

    Raises:
        ConfigError: It is not there, or is none.
    """
    try:
        file = msgspec.json.decode(read_bounded(path), type=LockFile)
    except FileNotFoundError:
        raise ConfigError(
            f"there is no lock file '{path}'", "write one with: toolyard lock"
        ) from None
    except OSError as error:
        raise ConfigError(f"cannot read '{path}' ({error.strerror})") from error
    except msgspec.DecodeError as error:
        hint = "get it back from where it was, or write it anew with: toolyard lock"
        raise ConfigError(f"'{path}' is no lock file: {error}", hint) from error
    return lock_of(file)


def lock_of(file: LockFile) -> dict[str, Locked]:
    """Return what a lock file says.

    Raises:
        ConfigError: It was written by a newer toolyard.
    """
    if file.version > _VERSION:
        raise ConfigError("the lock file was written by a newer toolyard", "update toolyard")
    kinds = LOCKED_KINDS if file.version > 1 else _TOOLS_ALONE
    return {name: _locked(server, kinds) for name, server in file.servers.items()}


def _locked(server: LockedServer, kinds: frozenset[Kind]) -> Locked:
    parts: dict[Part, str] = {
        (kind, key): mark for kind in _KINDS for key, mark in getattr(server, kind).items()
    }
    if server.instructions is not None:
        parts[INSTRUCTIONS] = server.instructions
    also: dict[Part, tuple[str, ...]] = {
        (kind, key): tuple(marks)
        for kind, keys in server.also.items()
        for key, marks in keys.items()
    }
    return Locked(server.launch, parts, server.package, server.server_version, kinds, also)


def lock_file(lock: Lock) -> LockFile:
    """Return a lock as the file has it, in the one order that makes differences small."""
    return LockFile(_VERSION, {name: _server(locked) for name, locked in sorted(lock.items())})


def _server(locked: Locked) -> LockedServer:
    by_kind: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS}
    also: dict[Kind, dict[str, list[str]]] = {}
    for (kind, key), mark in sorted(locked.parts.items()):
        by_kind.setdefault(kind, {})[key] = mark
    for (kind, key), marks in sorted(locked.also.items()):
        also.setdefault(kind, {})[key] = list(marks)
    instructions = by_kind.pop("instructions", {}).get("")
    return LockedServer(
        locked.launch,
        **by_kind,
        instructions=instructions,
        package=locked.package,
        server_version=locked.release,
        also=also,
    )


def write_lock(path: Path, file: LockFile) -> None:
    """Write a lock file.

    Raises:
        StoreError: It cannot be written.
    """
    servers = {
        name: msgspec.structs.replace(server, also={}) for name, server in file.servers.items()
    }
    plain = msgspec.to_builtins(LockFile(file.version, servers))
    write_atomic(path, json.dumps(plain, indent=2, ensure_ascii=False).encode() + b"\n")
