"""The records of tokens: one file for its owner alone, or rows of a shared database.

Tokens are kept as hashes: what is lost with the file opens nothing, and a token is shown once,
when it is made. All of it blocks, though a lookup costs one `stat`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from toolyard.core.caller import Caller, TurnedAway
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
from toolyard.features.tokens.model import (
    RESERVED,
    AgentToken,
    check_token_name,
    hash_of,
    iso,
    new_token,
    read_token,
    seconds,
    token_key,
    write_token,
)
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import ABSENT, Kept, Records

MOST: Final = 1000
MOST_OF_MEMBER: Final = 20
"""Tokens that one member may have."""
VERSION: Final = 1
"""The version of the file; a later one cannot be understood here."""
USE_SECONDS: Final = 3600.0
"""The time of the last use is written down to the hour, not with every call."""
_DAY: Final = 86400.0
_BLANK: Final = b'{\n  "version": 1,\n  "tokens": {}\n}\n'
_EFFECT: Final = "; agents with tokens of their own are not let in"


class TokenCodec:
    """Reads and writes a token; its key is its name."""

    def read(self, key: str, plain: Any) -> AgentToken:
        """Make a token of plain data; raises like `read_token`."""
        return read_token(key, plain)

    def write(self, value: AgentToken) -> object:
        """Make plain data of a token."""
        return msgspec.to_builtins(write_token(value))

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that the tokens cannot be read; one that cannot may be anybody's, so none counts."""
        text, hint = str(error), error.hint
        if isinstance(error, ConfigError):
            text = f"'{where}' is damaged ({error})"
            hint = "move it away; all agents then need new tokens"
        return Problem(ProblemCode.TOKENS_FILE, text + _EFFECT, hint, where)


def open_tokens(places: RecordPlaces, path: Path) -> Records[AgentToken]:
    """Open the records of tokens; as a file they are at that path."""

    def check(plain: Any) -> None:
        if not isinstance(plain.get("tokens"), dict):
            raise ConfigError("it holds no tokens")
        version = plain.get("version", VERSION)
        if not isinstance(version, int):
            raise ConfigError("its version is not a number")
        if version > VERSION:
            raise StoreError(f"'{path}' was written by a newer toolyard", "update toolyard")

    return places.document("token", path, TokenCodec(), top="tokens", check=check, blank=_BLANK)


@dataclass(slots=True)
class _KnownToken:
    """A token as the gate goes by it."""

    key: str
    caller: Caller
    used: float


class TokensFile:
    """The tokens of agents."""

    def __init__(
        self, records: Records[AgentToken], clock: Callable[[], float] = time.time
    ) -> None:
        self.records = records
        """The tokens as they are kept, by key."""
        self.news = asyncio.Event()
        """Set while there are uses that are not written down."""
        self._clock = clock
        self._revision = 0
        self._known: dict[str, _KnownToken] = {}
        self._used: dict[str, float] = {}
        """The time of the last use that is to be written down, by key."""

    def find(self, token: bytes) -> Caller | TurnedAway | None:
        """Return whose token this is; None if nobody's, or if the file cannot be read.

        It is looked up by its hash, so that how long that takes says nothing about any token.
        """
        tokens = self._tokens_by_hash()
        record = tokens.get(hash_of(token)) or tokens.get(hash_of(token, is_members=True))
        if record is None:
            return None
        now = self._clock()
        if record.caller.expires <= now:
            name = record.caller.name
            return TurnedAway(401, f"the token {name!r} has expired; ask for a new one", "Bearer")
        if now - record.used >= USE_SECONDS:
            record.used = self._used[record.key] = now
            self.news.set()
        return record.caller

    def callers(self) -> set[Caller]:
        """Return every caller that a token lets in."""
        return {record.caller for record in self._tokens_by_hash().values()}

    def write_uses(self) -> None:
        """Write down when tokens were last used.

        Raises:
            StoreError: The file cannot be read or written.
        """
        uses, self._used = self._used, {}
        for key, at in uses.items():
            tokens = self._read()
            token = tokens.values.get(key)
            if token is not None:
                with suppress(ConflictError):  # who changed it just now knows more of it
                    used = replace(token, used_at=iso(at))
                    self.records.write(key, used, expect=tokens.version(key))

    def list(self) -> list[AgentToken]:
        """Return all tokens, by name.

        Raises:
            StoreError: The file cannot be read.
        """
        tokens = self._read().values.values()
        return sorted(tokens, key=lambda token: (token.member, token.name))

    def create(
        self,
        name: str,
        servers: frozenset[str],
        profile: str,
        agent: str = "",
        executor: str = "",
        *,
        discovers: bool = False,
        days: int = 0,
        tier: str = "",
        member: str = "",
        by: str = "",
    ) -> str:
        """Make a token, for so many days or, with 0, for ever; return its secret.

        Raises:
            TakenError: The name is in use.
            ConfigError: It cannot be used.
            StoreError: The file cannot be read or written.
        """
        check_token_name(name)
        tokens = self._read().values.values()
        if len(tokens) >= MOST:
            raise ConfigError(f"there are {MOST} tokens already", "revoke what is not used")
        if member and sum(token.member == member for token in tokens) >= MOST_OF_MEMBER:
            text = f"this member has {MOST_OF_MEMBER} tokens already"
            raise ConfigError(text, "revoke what is not used")
        secret = new_token()
        now = self._clock()
        ends = iso(now + days * _DAY) if days else ""
        digest = hash_of(secret.encode(), is_members=bool(member))
        limits = servers, profile, iso(now), agent, executor, discovers, ends, tier
        token = AgentToken(name, digest, *limits, member=member)
        try:
            self.records.write(token.key, token, expect=ABSENT, by=by)
        except ConflictError as error:
            raise TakenError(f"there is a token '{name}' already", "revoke it first") from error
        return secret

    def get(self, name: str) -> AgentToken | None:
        """Return the token of a name; None if there is none.

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
        self.records.write(token.key, token)

    def revoke(self, name: str, member: str = "", *, by: str = "") -> AgentToken:
        """Make a token worthless, of a member or of the hub's owner; return what it was.

        Raises:
            UnknownNameError: There is none of that name.
            StoreError: The file cannot be read or written.
        """
        tokens, key = self._read().values, token_key(name, member)
        if key not in tokens:
            names = sorted(token.name for token in tokens.values() if token.member == member)
            near = ", ".join(closest(name, names) or names[:20]) or "none"
            raise UnknownNameError(f"unknown token {name[:80]!r}", f"there are: {near}")
        self.records.write(key, None, by=by)
        return tokens[key]

    def _tokens_by_hash(self) -> dict[str, _KnownToken]:
        """The tokens by their hashes, read again only if the file changed."""
        if self.records.revision() != self._revision:
            stored = self.records.read()
            self._revision = stored.revision
            # A file that cannot be read wholly lets nobody in.
            tokens = () if stored.problems else stored.values.values()
            # A file of an older version may hold a reserved name.
            self._known = {
                token.digest: _KnownToken(token.key, token.caller, seconds(token.used_at))
                for token in tokens
                if token.key not in RESERVED
            }
        return self._known

    def _read(self) -> Kept[AgentToken]:
        stored = self.records.read()
        for problem in stored.problems:
            raise StoreError(problem.text.removesuffix(_EFFECT), problem.hint)
        return stored
