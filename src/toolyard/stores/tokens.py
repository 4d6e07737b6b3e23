"""The tokens of agents: who may use the MCP door, and how much of the yard they see there.

Kept as hashes in one file for its owner alone: what is lost with the file opens nothing, and a
token is shown once, when it is made. All of it blocks, though a lookup costs one `stat`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from toolyard.core.errors import ConfigError, StoreError, TakenError, UnknownNameError
from toolyard.core.model import Problem
from toolyard.core.names import closest
from toolyard.core.problems import ProblemCode
from toolyard.records.files import locked, read_bounded, write_atomic

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
NAME_HINT: Final = "use 1 to 64 letters, digits, '_', '.' or '-', not beginning with '.' or '-'"
TOKEN_BYTES: Final = 32
PREFIX: Final = "ty_"
"""By which people, and those who look for leaked secrets, tell what it is."""
MOST: Final = 1000
RESERVED: Final = frozenset({"control", "page"})
"""What the hub itself and its page are called where callers are told apart."""
VERSION: Final = 1
"""Of the file; what a later one means is not known here."""

Mark = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class AgentToken:
    """A token without its secret: whose it is, and what may be seen with it."""

    name: str
    digest: str
    servers: frozenset[str] = frozenset()
    """The servers it is limited to; empty for all."""
    profile: str = ""
    """The profile it is limited to; empty for any."""
    created_at: str = ""
    agent: str = ""
    """The agent whose servers it is for; empty for the yard's."""
    executor: str = ""
    """Where that agent runs; empty for any place."""
    discovers: bool = False
    """Whether it opens the list of announced servers, and nothing else."""


class TokensFile:
    """The file with the tokens of agents."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mark: Mark = None
        self._known: dict[str, AgentToken] = {}

    def find(self, token: bytes) -> AgentToken | None:
        """Whose token this is; None if nobody's, or if the file cannot be read.

        It is looked up by its hash, so that how long that takes says nothing about any token.
        """
        found = self._tokens().get(hash_of(token))
        # A file of an older version may hold such a name.
        return None if found is None or found.name in RESERVED else found

    def list(self) -> list[AgentToken]:
        """All tokens, by name.

        Raises:
            StoreError: The file cannot be read.
        """
        return sorted(self._read().values(), key=lambda each: each.name)

    def mark(self) -> Mark:
        """Equal as long as nothing changed."""
        return _mark(self.path)

    def load(self) -> tuple[Problem, ...]:
        """The problem of the file, if it has one."""
        try:
            self._read()
        except StoreError as error:
            text = f"{error}; agents with tokens of their own are not let in"
            return (Problem(ProblemCode.TOKENS_FILE, text, error.hint, str(self.path)),)
        return ()

    def create(
        self,
        name: str,
        servers: frozenset[str],
        profile: str,
        agent: str = "",
        executor: str = "",
        *,
        discovers: bool = False,
    ) -> str:
        """Make a token; give it. It cannot be given again.

        Raises:
            TakenError: The name is in use.
            ConfigError: It cannot be used.
            StoreError: The file cannot be read or written.
        """
        if not NAME.fullmatch(name):
            raise ConfigError(f"{name[:80]!r} cannot name a token", NAME_HINT)
        if name in RESERVED:
            text = f"no token can be named {name!r}: the hub goes by that name itself"
            raise ConfigError(text, "choose another name")
        token = new_token()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with locked(self.path):
            known = self._read()
            if any(each.name == name for each in known.values()):
                raise TakenError(f"there is a token '{name}' already", "revoke it first")
            if len(known) >= MOST:
                raise ConfigError(f"there are {MOST} tokens already", "revoke what is not used")
            digest = hash_of(token.encode())
            made = AgentToken(name, digest, servers, profile, now, agent, executor, discovers)
            self._write({**known, made.digest: made})
        return token

    def get(self, name: str) -> AgentToken | None:
        """The token of a name; None if there is none.

        Raises:
            StoreError: The file cannot be read.
        """
        return next((token for token in self._read().values() if token.name == name), None)

    def keep(self, token: AgentToken) -> None:
        """Keep a token that somebody has already, in the place of any other of its name.

        Raises:
            StoreError: The file cannot be read or written.
        """
        with locked(self.path):
            others = {key: other for key, other in self._read().items() if other.name != token.name}
            self._write({**others, token.digest: token})

    def revoke(self, name: str) -> None:
        """Make a token worthless.

        Raises:
            UnknownNameError: There is none of that name.
            StoreError: The file cannot be read or written.
        """
        with locked(self.path):
            known = self._read()
            kept = {digest: each for digest, each in known.items() if each.name != name}
            if len(kept) == len(known):
                names = sorted(each.name for each in known.values())
                near = ", ".join(closest(name, names) or names[:20]) or "none"
                raise UnknownNameError(f"unknown token {name[:80]!r}", f"there are: {near}")
            self._write(kept)

    def _tokens(self) -> dict[str, AgentToken]:
        """What the file says, read again only if it changed."""
        mark = _mark(self.path)
        if mark != self._mark:
            try:
                self._known = self._read()
            except StoreError:
                self._known = {}  # who cannot be known is not let in
            self._mark = mark
        return self._known

    def _read(self) -> dict[str, AgentToken]:
        try:
            said = json.loads(read_bounded(self.path))
            if said.get("version", VERSION) > VERSION:
                raise StoreError(
                    f"'{self.path}' was written by a newer toolyard", "update toolyard"
                )
            found = [_token(name, each) for name, each in said["tokens"].items()]
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            text = f"'{self.path}' is damaged ({error})"
            raise StoreError(text, "move it away; all agents then need new tokens") from error
        return {each.digest: each for each in found}

    def _write(self, tokens: dict[str, AgentToken]) -> None:
        said = {
            each.name: {
                "sha256": each.digest,
                "servers": sorted(each.servers),
                "profile": each.profile,
                "created_at": each.created_at,
                "agent": each.agent,
                "executor": each.executor,
                **({"discovers": True} if each.discovers else {}),
            }
            for each in sorted(tokens.values(), key=lambda each: each.name)
        }
        write_atomic(self.path, json.dumps({"version": VERSION, "tokens": said}, indent=2).encode())


def new_token() -> str:
    """A token that nobody has."""
    return PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


def hash_of(token: bytes) -> str:
    """The hash a token is kept as; it is long and random, so a plain one will do."""
    return hashlib.sha256(token).hexdigest()


def _token(name: str, said: Any) -> AgentToken:
    digest, servers = said["sha256"], said.get("servers", [])
    own = [said.get(key, "") for key in ("profile", "created_at", "agent", "executor")]
    texts = [name, digest, *own, *servers]
    if not isinstance(servers, list) or not all(isinstance(each, str) for each in texts):
        raise ValueError(f"the token {name!r} is not what it should be")
    profile, created_at, agent, executor = own
    limits = frozenset(servers), profile, created_at, agent, executor
    return AgentToken(name, digest, *limits, discovers=said.get("discovers") is True)


def _mark(path: Path) -> Mark:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
