"""The lock file of a team: JSON that is meant to be kept beside its code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from toolyard.core.errors import ConfigError
from toolyard.core.locks import LOCKED_KINDS, Lock, Locked
from toolyard.core.model import Kind, Part
from toolyard.core.parts import INSTRUCTIONS
from toolyard.records.files import read_bounded, write_atomic

LOCK_FILE: Final = "toolyard.lock"
_VERSION: Final = 2
_TOOLS_ALONE: Final[frozenset[Kind]] = frozenset({"tools"})
"""What a file of the first version speaks of."""
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
    """What a lock file says.

    Raises:
        ConfigError: It is not there, or is none.
    """
    try:
        return parse_lock(read_bounded(path))
    except FileNotFoundError:
        raise ConfigError(
            f"there is no lock file '{path}'", "write one with: toolyard lock"
        ) from None
    except OSError as error:
        raise ConfigError(f"cannot read '{path}' ({error.strerror})") from error
    except msgspec.DecodeError as error:
        hint = "get it back from where it was, or write it anew with: toolyard lock"
        raise ConfigError(f"'{path}' is no lock file: {error}", hint) from error


def parse_lock(text: bytes) -> dict[str, Locked]:
    """What the text of a lock file says.

    Raises:
        ConfigError: It was written by a newer toolyard.
        msgspec.DecodeError: It is none.
    """
    said = msgspec.json.decode(text, type=LockFile)
    if said.version > _VERSION:
        raise ConfigError("the lock file was written by a newer toolyard", "update toolyard")
    kinds = LOCKED_KINDS if said.version > 1 else _TOOLS_ALONE
    return {name: _locked(each, kinds) for name, each in said.servers.items()}


def _locked(said: LockedServer, kinds: frozenset[Kind]) -> Locked:
    parts: dict[Part, str] = {
        (kind, key): mark for kind in _KINDS for key, mark in getattr(said, kind).items()
    }
    if said.instructions is not None:
        parts[INSTRUCTIONS] = said.instructions
    also: dict[Part, tuple[str, ...]] = {
        (kind, key): tuple(marks) for kind in said.also for key, marks in said.also[kind].items()
    }
    return Locked(said.launch, parts, said.package, said.server_version, kinds, also)


def lock_file(lock: Lock) -> LockFile:
    """Return a lock as the file has it, in the one order that makes differences small."""
    return LockFile(_VERSION, {name: _server(each) for name, each in sorted(lock.items())})


def _server(locked: Locked) -> LockedServer:
    by_kind: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS}
    also: dict[Kind, dict[str, list[str]]] = {}
    for (kind, key), mark in sorted(locked.parts.items()):
        by_kind.setdefault(kind, {})[key] = mark
    for (kind, key), marks in sorted(locked.also.items()):
        also.setdefault(kind, {})[key] = list(marks)
    said = by_kind.pop("instructions", {}).get("")
    return LockedServer(
        locked.launch,
        **by_kind,
        instructions=said,
        package=locked.package,
        server_version=locked.release,
        also=also,
    )


def write_lock(path: Path, plain: dict[str, Any]) -> None:
    """Write a lock file.

    Raises:
        StoreError: It cannot be written.
    """
    for server in plain["servers"].values():
        server.pop("also", None)
    write_atomic(path, json.dumps(plain, indent=2, ensure_ascii=False).encode() + b"\n")
