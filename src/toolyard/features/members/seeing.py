"""Questions about what a member sees, and why: answered as a call of theirs would be."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from toolyard.core.model import Entry
from toolyard.core.tiers import Tier, tier_of
from toolyard.features.members.explaining import MemberStory, explain
from toolyard.features.members.model import LONGEST, Admission
from toolyard.features.members.sight import MemberView, Outside, look_as
from toolyard.operation import operation
from toolyard.yard import Yard

MemberWord = Annotated[str, Meta(min_length=1, max_length=2 * LONGEST)]
ToolWord = Annotated[str, Meta(min_length=1, max_length=200)]


class AdmissionRow(Struct, frozen=True):
    """A group, the profiles it is admitted to, and the limits for each of its members."""

    group: str
    profiles: list[str]
    tier: Tier = Tier.DESTROY
    """The tools that it gets, by the harm they can do; `destroy` for all."""
    instances: int = 0
    """The servers that may run for the sessions of one member; 0 for no limit of its own."""
    sessions: int = 0
    """The sessions that one member may have; 0 for no limit of its own."""


class MemberTool(Struct, frozen=True):
    """A tool that a member sees."""

    name: str
    """The name by which their clients call it."""
    tool: str
    """The name that its server gives it."""
    tier: Tier


class MemberServer(Struct, frozen=True):
    """A server that a member sees."""

    server: str
    rules: list[str]
    """The admissions and profiles that show it."""
    tools: list[MemberTool]
    hidden: int
    """Its other tools, which the member does not see."""
    missing: list[str]
    """The member's secrets that it needs and they have not set; empty for a login."""


class MemberSight(Struct, frozen=True):
    """Everything that a member sees."""

    member: str
    verdict: str
    """`let-in`, or why they are not: `no-issuer`, `not-a-member`, `removed`, `disabled` or
    `not-admitted`."""
    text: str
    hint: str
    groups: list[str]
    admissions: list[AdmissionRow]
    """The admissions that they have by their groups."""
    servers: list[MemberServer]


class MemberQuery(Struct, frozen=True):
    """The member who is meant: an email address, a subject or a key."""

    member: MemberWord


class MemberWhyQuery(Struct, frozen=True):
    """The server or tool that is meant, and the member."""

    name: ToolWord
    member: MemberWord


@operation("GET", "/api/v1/resolve/member")
async def resolve_member(yard: Yard, order: MemberQuery) -> MemberSight:
    """Everything that a member sees, and by which admission."""
    sight = look_as(yard, order.member)
    if isinstance(sight, Outside):
        return MemberSight(sight.label, sight.verdict, sight.text, sight.hint, [], [], [])
    servers = [_server(sight, entry) for entry in sight.view.entries.values()]
    count = sum(len(server.tools) for server in servers)
    text = f"{sight.label!r} sees {_count(count, 'tool')} of {_count(len(servers), 'server')}"
    admissions = [admission_row(admission) for admission in sight.admissions]
    groups = list(sight.member.groups)
    return MemberSight(sight.label, "let-in", text, "", groups, admissions, servers)


@operation("GET", "/api/v1/why/member", errors=(404,))
async def explain_to_keeper(yard: Yard, order: MemberWhyQuery) -> MemberStory:
    """The reason why a member can use a server or tool, or cannot."""
    return explain(order.name, look_as(yard, order.member), yard.snapshot)


def admission_row(admission: Admission) -> AdmissionRow:
    """Return an admission as an answer tells it."""
    limits = admission.tier, admission.instances, admission.sessions
    return AdmissionRow(admission.group, list(admission.profiles), *limits)


def _server(sight: MemberView, entry: Entry) -> MemberServer:
    view, marks = sight.view, dict(entry.marks)
    tools = [
        MemberTool(name, route.key, tier_of(route.offer, marks))
        for name, route in view.tools.items()
        if route.alias == entry.alias
    ]
    rules = [sight.rule_of(part) for part in view.filter.parts if part.shows(entry)]
    hidden = len(entry.offers.tools) - len(tools)
    return MemberServer(entry.alias, rules, tools, hidden, sight.missing(entry))


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
