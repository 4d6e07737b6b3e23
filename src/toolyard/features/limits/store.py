"""The records of limits, by name."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.limits import Limit
from toolyard.core.model import Problem
from toolyard.core.names import closest
from toolyard.core.problems import ProblemCode
from toolyard.records.protocol import RecordKind

FILE: Final = "limits.json"
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LONGEST: Final = 500
LONGEST_SECONDS: Final = 31 * 86400.0
PARTS: Final = ("member", "token", "agent", "server", "tool")
Selector = Annotated[str, Meta(max_length=LONGEST)]
Amount = Annotated[int, Meta(ge=0, le=10**15)]
Seconds = Annotated[float, Meta(ge=1.0, le=LONGEST_SECONDS)]


class LimitBody(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a limit is about, and what it allows; a figure that is 0 is no limit."""

    member: Selector = ""
    """A member, or `*` for each by themselves."""
    token: Selector = ""
    """A token of an agent, or `*` for each by itself."""
    agent: Selector = ""
    """An agent, or `*` for each by itself."""
    server: Selector = ""
    """A server, or `*` for each by itself."""
    tool: Selector = ""
    """A tool, by its name at its server, or `*` for each by itself."""
    calls: Amount = 0
    """Calls that may be made in `seconds`."""
    bytes: Amount = 0
    """Bytes of arguments and results that may pass in `seconds`."""
    seconds: Seconds = 60.0
    concurrent: Annotated[int, Meta(ge=0, le=100_000)] = 0
    """Calls that may be under way at a time."""
    instances: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """Servers that may run for the sessions of the member or token."""


def check_limit(name: str, body: LimitBody) -> Limit:
    """Return a limit.

    Raises:
        ConfigError: It cannot be used.
    """
    if not NAME.fullmatch(name):
        hint = "use up to 64 letters, digits, '.', '_' and '-'"
        raise ConfigError(f"{name[:80]!r} cannot name a limit", hint)
    if not (body.calls or body.bytes or body.concurrent or body.instances):
        hint = "name at least one of calls, bytes, concurrent and instances"
        raise ConfigError(f"the limit {name!r} limits nothing", hint)
    if body.member and body.token:
        hint = "a member's own tokens count as the member; leave one of them out"
        raise ConfigError("a limit is about a member or about a token", hint)
    is_of_caller = body.member or body.token
    if body.instances and (not is_of_caller or body.agent or body.server or body.tool):
        hint = "name a member or a token, or '*' for each, and nothing else"
        raise ConfigError("running servers are limited for a member or a token", hint)
    return Limit(name, **asdict(body))


def read_limit(name: str, plain: Any) -> Limit:
    """Read a limit; raises like `check_limit`."""
    try:
        return check_limit(name, msgspec.convert(plain, LimitBody))
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), "see: toolyard limit set --help") from error


def limit_body(limit: Limit) -> LimitBody:
    """Return a limit as it is written down."""
    fields = LimitBody.__struct_fields__
    return LimitBody(**{field: getattr(limit, field) for field in fields})


class LimitCodec:
    """Reads and writes limits.

    One whose figures are wrong is read as far as it says what it is about: none of that passes.

    Args:
        where: The place where they are kept, for people.
    """

    def __init__(self, where: str) -> None:
        self._where = where

    def read(self, key: str, plain: Any) -> Limit:
        """Make a limit of plain data; raises like `check_limit`."""
        try:
            return read_limit(key, plain)
        except ConfigError as error:
            parts = _read_parts(plain)
            if not parts:
                raise
            fault = f"{key!r} in '{self._where}' is damaged ({error})"
            return replace(Limit(key, fault=fault), **parts)

    def write(self, value: Limit) -> Any:
        """Make plain data of a limit."""
        return msgspec.to_builtins(limit_body(value))

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that limits cannot be read."""
        about = f"'{where}' cannot be used" if key is None else f"{key!r} in '{where}' is damaged"
        text = f"{about} ({error}); calls of tools are refused until it is known whom it limits"
        return Problem(ProblemCode.LIMITS_FILE, text, error.hint or "correct it", where)

    def damaged(self, limit: Limit) -> Problem:
        """Say that the figures of a limit cannot be read."""
        text = f"{limit.fault}; calls that it is about are refused"
        hint = f"correct it, or write it anew with: toolyard limit set {limit.name}"
        return Problem(ProblemCode.LIMITS_FILE, text, hint, self._where)


def _read_parts(plain: Any) -> JsonObject:
    """Read whom and what a damaged limit is about; nothing if that cannot be told."""
    if not isinstance(plain, dict) or any(
        key in plain and not isinstance(plain[key], str) for key in PARTS
    ):
        return {}
    # A misspelt part would make it about more than was meant, which is closed, not open.
    return {key: plain[key] for key in PARTS if plain.get(key)}


class LimitRecords(RecordKind[Limit]):
    """All limits."""

    def remove(self, name: str, expected: frozenset[str], *, by: str = "") -> None:
        """Delete a limit that is at one of the expected versions, if any are named.

        Raises:
            UnknownNameError: There is none of that name.
            ConflictError: It is at another version.
            StoreError: It cannot be deleted.
        """
        if name not in self.names():
            near = ", ".join(closest(name, self.names()) or self.names()[:20])
            hint = f"there are: {near}" if near else "see: toolyard limit set --help"
            raise UnknownNameError(f"unknown limit {name[:80]!r}", hint)
        self.write_over(expected, name, None, by=by)
