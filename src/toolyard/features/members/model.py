"""Members and admissions: the values, and how they are written down."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from toolyard.core.caller import Caller, Role
from toolyard.core.errors import ConfigError
from toolyard.core.tiers import Tier
from toolyard.features.profiles.model import NAME as PROFILE_NAME

EVERYBODY: Final = "*"
"""The group that everybody is in who logs in."""
GROUPS: Final = 500
"""Groups of one member; more are not looked at."""
LONGEST: Final = 255
"""Characters of a subject, a group, a name or an email address."""
MOST_ALLOWED: Final = 10_000
"""The highest limit that an admission can name."""
Value = TypeVar("Value", bound=Struct)


class Member(Struct, frozen=True, omit_defaults=True):
    """A person whom an issuer knows by a subject; email, name and groups are as it told last."""

    issuer: str
    subject: str
    email: str = ""
    name: str = ""
    groups: tuple[str, ...] = ()
    role: Role = Role.MEMBER
    disabled: bool = False
    issued_at: float = 0.0
    """The time of the newest token that was seen: what an older one says counts no more."""
    used_at: float = 0.0
    """The time they last came in, to the hour."""
    removed_at: float = 0.0
    """The time they were removed, if they were: no token that is older lets them in again."""
    since: float = 0.0
    """The time they were last removed, if they came back since: no older token counts."""

    @property
    def key(self) -> str:
        """The key of the member: an issuer's address has no `#`."""
        return f"{self.issuer}#{self.subject}"

    @property
    def label(self) -> str:
        """The name for people; no token of an agent can be named so."""
        return self.email if "@" in self.email else f"member {self.subject}"


class Admission(Struct, frozen=True, omit_defaults=True):
    """A group, the profiles that it gets, and the limits for each of its members."""

    group: str
    profiles: tuple[str, ...]
    tier: Tier = Tier.DESTROY
    """The tools of the profiles that it gets, by the harm they can do; `destroy` for all."""
    instances: Annotated[int, Meta(ge=0, le=MOST_ALLOWED)] = 0
    """The servers that may run for the sessions of one member; 0 for no limit of its own."""
    sessions: Annotated[int, Meta(ge=0, le=MOST_ALLOWED)] = 0
    """The sessions that one member may have; 0 for no limit of its own."""


class Person(Struct, frozen=True):
    """A person as a verified token describes them."""

    issuer: str
    subject: str
    issued_at: float
    email: str = ""
    name: str = ""
    groups: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key of the member that they are, or would be."""
        return f"{self.issuer}#{self.subject}"

    def outdates(self, member: Member) -> bool:
        """Tell whether what the token says is newer than what is known."""
        return self.issued_at > max(member.issued_at, member.removed_at)

    def update(self, member: Member | None) -> Member:
        """Return the member as the token tells; who was removed begins anew."""
        if member is None or member.removed_at:
            since = member.removed_at if member is not None else 0.0
            member = Member(self.issuer, self.subject, since=since)
        return msgspec.structs.replace(
            member,
            email=self.email or member.email,
            name=self.name or member.name,
            groups=self.groups,
            issued_at=self.issued_at,
        )


def admitted_profiles(groups: Collection[str], admissions: Iterable[Admission]) -> tuple[str, ...]:
    """The profiles that somebody in these groups gets, in the order of their names."""
    names = {name for entry in of_groups(groups, admissions) for name in entry.profiles}
    return tuple(sorted(names))


def of_groups(groups: Collection[str], admissions: Iterable[Admission]) -> list[Admission]:
    """The admissions that somebody in these groups has."""
    theirs = {*groups, EVERYBODY}
    return [admission for admission in admissions if admission.group in theirs]


class ShutOut(StrEnum):
    """The reason why a member is not let in."""

    UNKNOWN = "not-a-member"
    REMOVED = "removed"
    DISABLED = "disabled"
    NOT_ADMITTED = "not-admitted"
    """No group of theirs has an admission."""


def judge_member(member: Member, admissions: Iterable[Admission]) -> Caller | ShutOut:
    """Return the caller that a member is, or why nothing lets them in."""
    own = of_groups(member.groups, admissions)
    profiles = admitted_profiles(member.groups, own)
    if member.removed_at:
        return ShutOut.REMOVED
    if member.disabled:
        return ShutOut.DISABLED
    if not profiles and member.role is not Role.KEEPER:
        return ShutOut.NOT_ADMITTED
    return Caller(
        member.label,
        member=member.key,
        admitted=profiles,
        profile_tiers=_profile_tiers(own),
        role=member.role,
        sessions=_most_of([admission.sessions for admission in own]),
        instances=_most_of([admission.instances for admission in own]),
    )


def _profile_tiers(admissions: Iterable[Admission]) -> tuple[tuple[str, str], ...]:
    """The tier of each profile that no admission gives wholly."""
    tiers: dict[str, Tier] = {}
    for admission in admissions:
        for name in admission.profiles:
            before = tiers.get(name, admission.tier)
            tiers[name] = admission.tier if admission.tier.covers(before) else before
    limited = {name: tier for name, tier in tiers.items() if tier is not Tier.DESTROY}
    return tuple(sorted((name, tier.value) for name, tier in limited.items()))


def _most_of(limits: list[int]) -> int:
    """The most that any admission allows; 0 if one of them sets no limit."""
    return 0 if 0 in limits else max(limits, default=0)


def check_admission(admission: Admission) -> Admission:
    """Return the admission of a group, each profile once.

    Raises:
        ConfigError: It cannot be used.
    """
    group, names = admission.group, tuple(dict.fromkeys(admission.profiles))
    if not 0 < len(group) <= LONGEST or not group.isprintable():
        hint = f"use 1 to {LONGEST} visible characters, or '*' for everybody who logs in"
        raise ConfigError(f"{group[:80]!r} cannot name a group", hint)
    if not names:
        raise ConfigError("an admission names at least one profile", "see: toolyard profile list")
    for name in names:
        if not PROFILE_NAME.fullmatch(name):
            raise ConfigError(f"{name[:80]!r} cannot name a profile", "see: toolyard profile list")
    return msgspec.structs.replace(admission, profiles=names)


def read_fields(plain: Any, kind: type[Value]) -> Value:
    """Make a value of plain data.

    Raises:
        ConfigError: It cannot be used.
    """
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error)) from error


GroupName = Annotated[str, Meta(min_length=1, max_length=LONGEST)]
