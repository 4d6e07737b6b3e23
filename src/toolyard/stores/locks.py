"""The lock file of a team: JSON that is meant to be kept beside its code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from toolyard.core.errors import ConfigError
from toolyard.core.locks import Lock, Locked
from toolyard.stores.files import read_bounded, write_atomic

LOCK_FILE: Final = "toolyard.lock"
_VERSION: Final = 1
_Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class _Server(msgspec.Struct, omit_defaults=True):
    launch: _Hash
    tools: dict[str, _Hash]
    package: str = ""
    server_version: str = ""


class _File(msgspec.Struct):
    version: int
    servers: dict[str, _Server]


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
    said = msgspec.json.decode(text, type=_File)
    if said.version > _VERSION:
        raise ConfigError("the lock file was written by a newer toolyard", "update toolyard")
    return {
        name: Locked(each.launch, each.tools, each.package, each.server_version)
        for name, each in said.servers.items()
    }


def plain_lock(lock: Lock) -> dict[str, Any]:
    """A lock as the file has it, in the one order that makes differences small."""
    servers = {
        name: _Server(each.launch, dict(sorted(each.tools.items())), each.package, each.release)
        for name, each in sorted(lock.items())
    }
    plain: dict[str, Any] = msgspec.to_builtins(_File(_VERSION, servers))
    return plain


def write_lock(path: Path, plain: dict[str, Any]) -> None:
    """Write a lock file.

    Raises:
        StoreError: It cannot be written.
    """
    write_atomic(path, json.dumps(plain, indent=2, ensure_ascii=False).encode() + b"\n")
