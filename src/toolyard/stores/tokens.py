"""The tokens of agents: who may use the MCP door, and how much of the yard they see there.

Kept as hashes in one file for its owner alone: what is lost with the file opens nothing, and a
token is shown once, when it is made. All of it blocks, though a lookup costs one `stat`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from toolyard.core.errors import (
    ConfigError,
    ConflictError,
    StoreError,
    TakenError,
    UnknownNameError,
)
from toolyard.core.model import Problem
from toolyard.core.names import closest
from toolyard.core.problems import ProblemCode
from toolyard.records.document import DocumentFile, DocumentRecords
from toolyard.records.follow import Follower
from toolyard.records.protocol import ABSENT, Kept

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
_BLANK: Final = b'{\n  "version": 1,\n  "tokens": {}\n}\n'
_EFFECT: Final = "; agents with tokens of their own are not let in"


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


class TokenCodec:
    """Reads and writes a token; its key is its name."""

    def read(self, key: str, plain: Any) -> AgentToken:
        """Make a token of plain data.

        Raises:
            ConfigError: It cannot be used.
        """
        try:
            return _token(key, plain)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigError(str(error)) from error

    def write(self, value: AgentToken) -> dict[str, Any]:
        """Make plain data of a token."""
        return {
            "sha256": value.digest,
            "servers": sorted(value.servers),
            "profile": value.profile,
            "created_at": value.created_at,
            "agent": value.agent,
            "executor": value.executor,
            **({"discovers": True} if value.discovers else {}),
        }

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that the tokens cannot be read; one that cannot may be anybody's, so none counts."""
        text, hint = str(error), error.hint
        if isinstance(error, ConfigError):
            text = f"'{where}' is damaged ({error})"
            hint = "move it away; all agents then need new tokens"
        return Problem(ProblemCode.TOKENS_FILE, text + _EFFECT, hint, where)


def open_tokens(path: Path, follower: Follower | None = None) -> DocumentRecords[AgentToken]:
    """Open the records of tokens in a file."""

    def check(plain: Any) -> None:
        if not isinstance(plain.get("tokens"), dict):
            raise ConfigError("it holds no tokens")
        version = plain.get("version", VERSION)
        if not isinstance(version, int):
            raise ConfigError("its version is not a number")
        if version > VERSION:
            raise StoreError(f"'{path}' was written by a newer toolyard", "update toolyard")

    file = DocumentFile(path, follower)
    return DocumentRecords(file, TokenCodec(), top="tokens", check=check, blank=_BLANK)


class TokensFile:
    """The file with the tokens of agents."""

    def __init__(self, path: Path, follower: Follower | None = None) -> None:
        self.records = open_tokens(path, follower)
        """The tokens as they are kept, by name."""
        self._revision = 0
        self._known: dict[str, AgentToken] = {}

    def find(self, token: bytes) -> AgentToken | None:
        """Give whose token this is; None if nobody's, or if the file cannot be read.

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
        return sorted(self._read().values.values(), key=lambda token: token.name)

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
        kept = self._read()
        if len(kept.records) >= MOST:
            raise ConfigError(f"there are {MOST} tokens already", "revoke what is not used")
        token = new_token()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        digest = hash_of(token.encode())
        made = AgentToken(name, digest, servers, profile, now, agent, executor, discovers)
        try:
            self.records.write(name, made, expect=ABSENT)
        except ConflictError as error:
            raise TakenError(f"there is a token '{name}' already", "revoke it first") from error
        return token

    def get(self, name: str) -> AgentToken | None:
        """The token of a name; None if there is none.

        Raises:
            StoreError: The file cannot be read.
        """
        return self._read().values.get(name)

    def keep(self, token: AgentToken) -> None:
        """Keep a token that somebody has already, in the place of any other of its name.

        Raises:
            StoreError: The file cannot be read or written.
        """
        self._read()
        self.records.write(token.name, token)

    def revoke(self, name: str) -> None:
        """Make a token worthless.

        Raises:
            UnknownNameError: There is none of that name.
            StoreError: The file cannot be read or written.
        """
        names = sorted(self._read().records)
        if name not in names:
            near = ", ".join(closest(name, names) or names[:20]) or "none"
            raise UnknownNameError(f"unknown token {name[:80]!r}", f"there are: {near}")
        self.records.write(name, None)

    def _tokens(self) -> dict[str, AgentToken]:
        """The tokens by hash, read again only if the file changed."""
        if self.records.revision() != self._revision:
            kept = self.records.read()
            self._revision = kept.revision
            # Who cannot be known is not let in.
            tokens = () if kept.problems else kept.values.values()
            self._known = {token.digest: token for token in tokens}
        return self._known

    def _read(self) -> Kept[AgentToken]:
        kept = self.records.read()
        for problem in kept.problems:
            raise StoreError(problem.text.removesuffix(_EFFECT), problem.hint)
        return kept


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
