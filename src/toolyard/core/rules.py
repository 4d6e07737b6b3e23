"""Rules: the calls that wait for a person's yes, or are refused.

A rule names tools (by patterns, as profiles do, and by tier), and callers and arguments to narrow
that down. Whatever cannot be judged in bounded time counts as named: a rule closes, it never opens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final, Literal

from toolyard.core.canonical import read_unique

ASK_SECONDS: Final = 600
"""The time that a person has, unless the rule says otherwise."""
LONGEST_TEXT: Final = 1 << 16
"""Characters of an argument that a pattern is compared with; longer ones count as a match."""
MOST_VALUES: Final = 10_000
"""Values of the arguments that a path may lead to; more count as a match."""
EVERY: Final = "*"
"""The step of a path that leads to every member."""
Says = Literal["ask", "refuse"]


@dataclass(frozen=True, slots=True)
class ArgumentTest:
    """A test of one argument; lists on the way are looked into."""

    path: tuple[str, ...]
    glob: str = ""
    """The pattern of a text or number; empty if the value is compared."""
    equals: str = ""
    """The value as JSON; empty if there is a pattern."""

    def holds(self, arguments: Any) -> bool:
        """Tell whether a value at the path passes the test, or cannot be judged."""
        try:
            return any(self._passes(value) for value in _reach(arguments, self.path, [MOST_VALUES]))
        except (RecursionError, _TooMuchError):
            return True

    def _passes(self, value: Any) -> bool:
        if self.equals:
            return _same(value, json.loads(self.equals))
        text = value if isinstance(value, str) else json.dumps(value)
        return len(text) > LONGEST_TEXT or fnmatchcase(text, self.glob)


@dataclass(frozen=True, slots=True)
class CallRule:
    """Calls that somebody must be asked about, or that are refused."""

    name: str
    says: Says = "ask"
    tools: tuple[str, ...] = ()
    """Patterns of servers and tools; all if there is none. One after `!` is an exception."""
    tier: str = ""
    """The harm that its tools can do at least; empty for any."""
    arguments: tuple[ArgumentTest, ...] = ()
    """All of them must hold."""
    members: tuple[str, ...] = ()
    """Patterns of the callers it is about; all if there is none."""
    agents: tuple[str, ...] = ()
    """Patterns of the agents it is about; all if there is none."""
    reason: str = ""
    """The sentence that the person reads."""
    wait: int = ASK_SECONDS
    """Seconds to wait for the answer."""
    fault: str = ""
    """The reason why it cannot be read: then it refuses all that it may be about."""
    written: str = ""
    """A rule that cannot be read, as it is written, in JSON."""

    def concerns(self, spellings: tuple[str, ...]) -> bool:
        """Tell whether a tool that goes by these spellings is among its own, whatever its tier."""
        return _names(self.tools, spellings)

    def applies(self, call: CallFacts) -> bool:
        """Tell whether a call of one of its tools is meant."""
        return (
            _names(self.members, call.callers)
            and _names(self.agents, (call.agent,))
            and all(call.is_unclear or test.holds(call.arguments) for test in self.arguments)
        )


@dataclass
class CallFacts:
    """All that a rule is told of a call."""

    callers: tuple[str, ...]
    """The names of whoever calls."""
    agent: str
    raw: bytes = field(repr=False)
    """The arguments, as JSON."""

    @property
    def is_unclear(self) -> bool:
        """True if two readers might read other arguments."""
        return self._read[1]

    @property
    def arguments(self) -> Any:
        """The arguments, read."""
        return self._read[0]

    @cached_property
    def _read(self) -> tuple[Any, bool]:
        try:
            return read_unique(self.raw) if self.raw else {}, False
        except (ValueError, RecursionError):
            return None, True


def closing_rule(
    name: str, fault: str, tools: tuple[str, ...] = (), tier: str = "", written: str = "null"
) -> CallRule:
    """The rule in the place of one that cannot be read: it refuses what that may be about."""
    return CallRule(name, "refuse", tools, tier, fault=fault, written=written)


class _TooMuchError(Exception):
    """A path leads to more values than are looked at."""


def _names(patterns: tuple[str, ...], texts: tuple[str, ...]) -> bool:
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    if wanted and not _match(wanted, texts):
        return False
    return not _match([p[1:] for p in patterns if p.startswith("!")], texts)


def _match(patterns: Iterable[str], texts: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns for text in texts)


def _reach(value: Any, path: tuple[str, ...], budget: list[int]) -> Iterator[Any]:
    """The values that a path leads to; of a list, also its items."""
    budget[0] -= 1
    if budget[0] < 0:
        raise _TooMuchError
    if isinstance(value, list):
        if not path:
            yield value
        rest = path[1:] if path and path[0] == EVERY else path
        for item in value:
            yield from _reach(item, rest, budget)
    elif not path:
        yield value
    elif isinstance(value, dict):
        names = value if path[0] == EVERY else [path[0]] if path[0] in value else []
        for name in names:
            yield from _reach(value[name], path[1:], budget)


def _same(value: Any, expected: Any) -> bool:
    """Compare as JSON does: 1 is 1.0, and not true."""
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    return bool(value == expected)
