"""The yard as a member sees it: found as the doors find it when that member calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from toolyard.core.caller import Caller
from toolyard.core.errors import StartError, UnknownNameError
from toolyard.core.model import Entry, Offer
from toolyard.core.tiers import Tier
from toolyard.features.members.directory import MemberDirectory
from toolyard.features.members.model import Admission, Member, ShutOut
from toolyard.links.credentials import Credentials
from toolyard.links.instances import Instances
from toolyard.links.owner import member_key
from toolyard.relay.profile_filter import ProfileFilter
from toolyard.relay.relay import Relay
from toolyard.relay.view import View
from toolyard.yard import Yard

NO_ISSUER = "no-issuer"
"""The verdict of a hub that lets nobody in by their own name."""


class MemberStep(Struct, frozen=True):
    """One thing that counts for what a member sees: by which rule, and what came of it."""

    stage: Literal["member", "admission", "profile", "tier", "server", "credential", "instances"]
    rule: str
    text: str
    decides: bool = False


@dataclass(frozen=True, slots=True)
class Outside:
    """A person who is not let in, and why."""

    label: str
    verdict: str
    text: str
    hint: str

    @property
    def step(self) -> MemberStep:
        """The step that decided."""
        return MemberStep("member", self.label, self.text, decides=True)


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member who is let in, with all that a call of theirs would meet."""

    member: Member
    caller: Caller
    admissions: list[Admission]
    view: View
    credentials: Credentials
    instances: Instances

    @property
    def label(self) -> str:
        """The name of the member for people."""
        return self.member.email or self.member.subject

    def shows(self, entry: Entry, tool: Offer | None = None) -> bool:
        """Tell whether a server, or one tool of it, is in the member's view."""
        alias = self.view.aliases.get(entry.server.id)
        return alias is not None and (tool is None or tool.key in self.view.tools_of(alias))

    def missing(self, entry: Entry) -> list[str]:
        """Return the secrets of the member that a server lacks; an empty one is a login."""
        return self.credentials.missing(entry.server, self.member.key)

    def shortage(self, entry: Entry) -> StartError | None:
        """Return the error that a call would end with for want of one more running server."""
        apart = self.view.apart.get(entry.alias)
        if apart is None or not apart.is_owned:
            return None
        if self.instances.find(apart, member_key(self.member.key)) is not None:
            return None
        return self.instances.shortage(self.caller.account, entry.alias)

    def rule_of(self, part: ProfileFilter) -> str:
        """Name a profile, and the admissions that give it as far as it goes."""
        name = part.profile.name if part.profile is not None else ""
        tier = Tier(part.tier or Tier.DESTROY)
        giving = [a.group for a in self.admissions if name in a.profiles and a.tier is tier]
        return f"admission of {' and '.join(map(repr, giving))}, profile {name!r}"


def look_as(yard: Yard, name: str) -> MemberView | Outside:
    """Return the yard as a member sees it; `name` is an email address, a subject or a key.

    Raises:
        ConfigError: The name stands for several members.
    """
    if MemberDirectory not in yard.parts:
        text = "this hub lets nobody in by their own name"
        return Outside(name, NO_ISSUER, text, "set TOOLYARD_ISSUER, then start the hub again")
    directory = yard.part(MemberDirectory)
    try:
        member = directory.find(name)
    except UnknownNameError as error:
        return Outside(name, ShutOut.UNKNOWN.value, f"{name!r} is not a member", error.hint)
    judged = directory.judge(member.key)
    if isinstance(judged, ShutOut):
        return _describe_outside(member, judged)
    views = yard.part(Relay).views
    return MemberView(
        member,
        judged,
        directory.admissions_of(member.key),
        views.look(views.usual_key.limited_to(judged)),
        yard.part(Credentials),
        yard.part(Instances),
    )


def tell_credentials(missing: list[str]) -> str:
    """Name credentials that a member has not given."""
    return " and ".join(f"the secret {name!r}" if name else "a login" for name in missing)


def _describe_outside(member: Member, why: ShutOut) -> Outside:
    label = member.email or member.subject
    groups = ", ".join(member.groups) or "none"
    text, hint = {
        ShutOut.UNKNOWN: (f"{label!r} is not a member", "see: toolyard member list"),
        ShutOut.REMOVED: (
            f"{label!r} was removed",
            "a new login, or with --issuer own a new invitation, makes them a member again",
        ),
        ShutOut.DISABLED: (f"{label!r} is disabled", f"toolyard member set {label} --enable"),
        ShutOut.NOT_ADMITTED: (
            f"no group of {label!r} has an admission; their groups: {groups}",
            "admit one with: toolyard member admission set GROUP PROFILE",
        ),
    }[why]
    return Outside(label, why.value, text, hint)
