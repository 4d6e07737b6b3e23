"""Interceptors as they are written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from toolyard.core.endpoint import Command, Url, is_address
from toolyard.core.errors import ConfigError
from toolyard.core.interceptors import (
    LARGEST,
    SECONDS,
    ArgumentRule,
    Interceptor,
    Kind,
    Masking,
    Phase,
    Rewriting,
    Sent,
    Work,
)
from toolyard.core.jsontypes import JsonObject
from toolyard.features.profiles.model import LONGEST_TEXT, MOST, NAME, NAME_HINT, Pattern

MaskKind = Literal["email", "phone", "card", "iban", "token", "key", "secret", "opaque"]
MASK_KINDS: Final[tuple[MaskKind, ...]] = (
    "email",
    "phone",
    "card",
    "iban",
    "token",
    "key",
    "secret",
)
"""The kinds that are masked unless others are named; `opaque` must be."""
WORKS: Final = ("mask", "arguments", "program", "url")
_OF_OTHERS: Final = ("type", "phase", "invoke", "config")
"""Fields that only a program or an endpoint has."""
Word = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT)]
AnyValue = Annotated[Any, Meta(description="Whatever the tool takes.")]
OpenConfig = Annotated[JsonObject, Meta(description="Whatever the interceptor takes.")]
ArgumentName = Annotated[str, Meta(min_length=1, max_length=255)]


class MaskFields(Struct, frozen=True, forbid_unknown_fields=True):
    """What is masked in results; all usual kinds if none is named."""

    kinds: Annotated[list[MaskKind], Meta(max_length=20)] = []


class ArgumentFields(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What becomes of one argument."""

    hide: bool = False
    """Callers do not see it, and the server does not get it."""
    fix: AnyValue = UNSET
    """Callers do not see it; the server gets this value."""
    default: AnyValue = UNSET
    """The server gets this value if the caller says nothing."""
    rename: ArgumentName | UnsetType = UNSET
    """Callers see it under this name."""
    sent: Sent = "refuse"
    """The answer to a caller that sends what it does not see: refuse the call, or override."""


class InterceptorFields(
    Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """An interceptor: whose calls it sees, and what it does."""

    tools: Annotated[list[Pattern], Meta(min_length=1, max_length=MOST)]
    """Patterns, as profiles have them; one after `!` excepts something."""
    mask: MaskFields | UnsetType = UNSET
    arguments: Annotated[dict[ArgumentName, ArgumentFields], Meta(min_length=1, max_length=100)] | (
        UnsetType
    ) = UNSET
    program: Annotated[list[Word], Meta(min_length=1, max_length=MOST)] | UnsetType = UNSET
    """A program and its arguments."""
    env: dict[str, str] = {}
    cwd: str = ""
    url: Word | UnsetType = UNSET
    headers: dict[str, str] = {}
    type: Kind | UnsetType = UNSET
    phase: Phase | UnsetType = UNSET
    invoke: str = ""
    """The name that the program or endpoint knows it by; usually its own."""
    config: OpenConfig | UnsetType = UNSET
    mode: Literal["enforce", "audit"] = "enforce"
    failure: Literal["closed", "open"] = "closed"
    seconds: Annotated[float, Meta(ge=0.01, le=60)] = SECONDS
    largest: Annotated[int, Meta(ge=1024, le=64 << 20)] = LARGEST
    priority: Annotated[int, Meta(ge=-(1 << 31), lt=1 << 31)] = 0


def check_name(name: str) -> str:
    """Return the name if an interceptor can have it.

    Raises:
        ConfigError: It cannot.
    """
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name[:80]!r} cannot name an interceptor", NAME_HINT)
    return name


def read_fields(plain: Any) -> InterceptorFields:
    """Read the fields of a file or an order.

    Raises:
        ConfigError: They cannot be used.
    """
    if not isinstance(plain, Mapping):
        raise ConfigError("an interceptor is a JSON object", 'write {"tools": ["*"], "mask": {}}')
    try:
        return msgspec.convert(plain, InterceptorFields)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), "see the page 'Interceptors' of the reference") from error


def make_interceptor(name: str, fields: InterceptorFields) -> Interceptor:
    """Make an interceptor of its fields.

    Raises:
        ConfigError: It cannot be used.
    """
    check_name(name)
    _check_fields(fields)
    work = _work(fields)
    kind, phase = _shape(work, fields)
    return Interceptor(
        name,
        tuple(dict.fromkeys(fields.tools)),
        work,
        kind,
        phase,
        fields.invoke or name,
        b"" if fields.config is UNSET else msgspec.json.encode(fields.config),
        fields.mode == "audit",
        fields.failure == "open",
        fields.seconds,
        fields.largest,
        fields.priority,
    )


def patterns_of(plain: Any) -> tuple[str, ...]:
    """The patterns of an interceptor that cannot be read, if these can; else none."""
    tools = plain.get("tools") if isinstance(plain, Mapping) else None
    try:
        return tuple(msgspec.convert(tools, Annotated[list[Pattern], Meta(min_length=1)]))
    except msgspec.ValidationError:
        return ()


def _check_fields(fields: InterceptorFields) -> None:
    works = [name for name in WORKS if getattr(fields, name) is not UNSET]
    if len(works) != 1:
        text = f"has {' and '.join(works)}" if works else "says nothing of what it does"
        raise ConfigError(f"the interceptor {text}", f"it has one of: {', '.join(WORKS)}")
    (work,) = works
    allowed = {"program": ("env", "cwd", *_OF_OTHERS), "url": ("headers", *_OF_OTHERS)}
    for name in ("env", "cwd", "headers", *_OF_OTHERS):
        if getattr(fields, name) not in (UNSET, "", {}) and name not in allowed.get(work, ()):
            raise ConfigError(f"'{name}' means nothing beside '{work}'", "leave it out")
    if work in allowed and (fields.type is UNSET or fields.phase is UNSET):
        hint = 'write "type": "validation" or "mutation", "phase": "request", "response" or "both"'
        raise ConfigError(f"a {work} needs 'type' and 'phase'", hint)


def _shape(work: Work, fields: InterceptorFields) -> tuple[Kind, Phase]:
    if isinstance(work, Masking):
        return "mutation", "response"
    if isinstance(work, Rewriting):
        return "mutation", "request"
    assert fields.type is not UNSET and fields.phase is not UNSET
    return fields.type, fields.phase


def _work(fields: InterceptorFields) -> Work:
    if isinstance(fields.mask, MaskFields):
        return Masking(frozenset(fields.mask.kinds or MASK_KINDS))
    if isinstance(fields.arguments, dict):
        return Rewriting(_rules(fields.arguments))
    if isinstance(fields.program, list):
        pairs = tuple(fields.env.items())
        return Command(tuple(fields.program), pairs, fields.cwd or None)
    assert isinstance(fields.url, str)
    if "${" not in fields.url and not is_address(fields.url):
        raise ConfigError(f"{fields.url[:80]!r} is no http address", "write http://… or https://…")
    return Url(fields.url, headers=tuple(fields.headers.items()))


def _rules(arguments: Mapping[str, ArgumentFields]) -> tuple[ArgumentRule, ...]:
    rules = tuple(_rule(name, fields) for name, fields in arguments.items())
    shown = [rule.shown for rule in rules if rule.shown]
    twice = sorted({name for name in shown if shown.count(name) > 1})
    if twice:
        raise ConfigError(f"two arguments would be called {twice[0]!r}", "choose another for one")
    return rules


def _rule(name: str, fields: ArgumentFields) -> ArgumentRule:
    is_fixed, has_default = fields.fix is not UNSET, fields.default is not UNSET
    is_renamed = fields.rename is not UNSET
    if is_fixed + fields.hide + (has_default or is_renamed) != 1:
        hint = "it has one of: hide, fix; or else default, rename, or both of these"
        raise ConfigError(f"the rule of the argument {name[:80]!r} is not clear", hint)
    shown = "" if is_fixed or fields.hide else fields.rename if fields.rename else name
    return ArgumentRule(
        name,
        shown,
        msgspec.json.encode(fields.fix) if is_fixed else None,
        msgspec.json.encode(fields.default) if has_default else None,
        fields.sent,
    )
