"""Rules as people write them, read and checked."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from toolyard.core.canonical import canonical
from toolyard.core.errors import ConfigError
from toolyard.core.rules import ASK_SECONDS, ArgumentTest, CallRule
from toolyard.core.tiers import Tier

MOST_STEPS: Final = 16
Pattern = Annotated[str, Meta(min_length=1, max_length=200)]
Patterns = Annotated[list[Pattern], Meta(max_length=100)]
RuleWord = Annotated[
    str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
]
JsonValue = Annotated[Any, Meta(description="Any JSON value.")]
HINT: Final = "see: toolyard rule set --help"


class ArgumentTestFields(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A test of one argument: its path, and a pattern or a value."""

    path: Annotated[str, Meta(min_length=1, max_length=400)]
    """The names that lead to it, with dots between them; `*` is any. Lists are looked into."""
    glob: Annotated[str, Meta(max_length=200)] = ""
    """A pattern of its text."""
    equals: JsonValue | UnsetType = UNSET
    """The value that it has."""


class RuleFields(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The members of a rule."""

    says: Literal["ask", "refuse"] = "ask"
    """`ask`: somebody must say yes to each call. `refuse`: no call passes."""
    tools: Patterns = []
    """Servers and tools, as profiles name them; `!` before a pattern excepts. All if empty."""
    tier: Tier | None = None
    """Only tools that can do this much harm, or more."""
    arguments: Annotated[list[ArgumentTestFields], Meta(max_length=20)] = []
    """Only calls with such arguments; all of the tests must hold."""
    members: Patterns = []
    """Only calls of these members, by email address or key."""
    agents: Patterns = []
    """Only calls of these agents."""
    reason: Annotated[str, Meta(max_length=500)] = ""
    """The sentence that the person reads."""
    wait: Annotated[int, Meta(ge=1, le=3600)] = ASK_SECONDS
    """Seconds to wait for the answer."""


def read_rule(name: str, plain: Any) -> CallRule:
    """Read a rule.

    Raises:
        ConfigError: It cannot be used.
    """
    try:
        msgspec.convert(name, RuleWord)
        fields = msgspec.convert(plain, RuleFields)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), HINT) from error
    return CallRule(
        name,
        fields.says,
        tuple(fields.tools),
        fields.tier.value if fields.tier is not None else "",
        tuple(_read_test(test) for test in fields.arguments),
        tuple(fields.members),
        tuple(fields.agents),
        fields.reason,
        fields.wait,
    )


def _read_test(test: ArgumentTestFields) -> ArgumentTest:
    path = tuple(test.path.split("."))
    if not all(path) or len(path) > MOST_STEPS:
        text = f"{test.path[:80]!r} is no path of an argument"
        raise ConfigError(text, f"write at most {MOST_STEPS} names with dots between them")
    if (test.equals is UNSET) is not bool(test.glob):
        raise ConfigError(f"the test of {test.path[:80]!r} needs either a glob or equals", HINT)
    equals = "" if test.equals is UNSET else canonical(test.equals).decode()
    return ArgumentTest(path, test.glob, equals)


def write_rule(rule: CallRule) -> RuleFields:
    """Return a rule as it is written down."""
    return RuleFields(
        says=rule.says,
        tools=list(rule.tools),
        tier=Tier(rule.tier) if rule.tier else None,
        arguments=[
            ArgumentTestFields(
                ".".join(test.path),
                test.glob,
                json.loads(test.equals) if test.equals else UNSET,
            )
            for test in rule.arguments
        ],
        members=list(rule.members),
        agents=list(rule.agents),
        reason=rule.reason,
        # Only the default itself is left out when it is written.
        wait=ASK_SECONDS if rule.wait == ASK_SECONDS else rule.wait,
    )


def reach_of(plain: Any) -> tuple[tuple[str, ...], str]:
    """Return the tools and the tier that a damaged rule is about, as far as that can be told."""
    if not isinstance(plain, dict):
        return (), ""
    try:
        tools = tuple(msgspec.convert(plain.get("tools", []), Patterns))
    except msgspec.ValidationError:
        tools = ()
    try:
        tier = msgspec.convert(plain.get("tier"), Tier | None)
    except msgspec.ValidationError:
        tier = None
    return tools, tier.value if tier is not None else ""
