"""The values that travel through the house, frozen all the way down.

Declared (by sources), observed (by links) and broken (problems) are three
different facts, so they are three different types. Whatever a server said is
kept as the bytes it sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from toolyard.core.agents import Roster
from toolyard.core.endpoint import Command as Command
from toolyard.core.endpoint import Endpoint as Endpoint
from toolyard.core.endpoint import Pairs as Pairs
from toolyard.core.endpoint import Url as Url
from toolyard.core.endpoint import uses_member_secrets
from toolyard.core.interceptors import Interceptor
from toolyard.core.limits import Limit
from toolyard.core.marks import Marks, ToolMark
from toolyard.core.owners import NO_OWNERS, Owners
from toolyard.core.problems import ProblemCode
from toolyard.core.profiles import Profile
from toolyard.core.quirks import ClientQuirk
from toolyard.core.rules import CallRule
from toolyard.core.sites import ANYWHERE, Placement

MEMBER_LOGIN: Final = "member"
"""The login of a server at which every member logs in by their own account."""


@dataclass(frozen=True, slots=True, order=True)
class ServerId:
    """The name of a server and the source that declared it: unique across the hub."""

    name: str
    source: str

    def __str__(self) -> str:
        return f"{self.name}@{self.source}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Trouble a person should know of: what it is, what happened, what to do next."""

    code: ProblemCode
    text: str
    hint: str
    subject: str = ""
    """What it is about: a server (`name@source`), a file with its line, a source."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The marks by which a running server is recognised, whatever port it has."""

    executable: str
    name: str
    """What it calls itself."""


Kind = Literal["tools", "prompts", "resources", "templates", "instructions"]
Part = tuple[Kind, str]
"""One thing of a server that a person approves: its kind, and its key (instructions have none)."""


@dataclass(frozen=True, slots=True)
class Held:
    """The parts of a server that wait for approval: known, but neither listed nor usable."""

    parts: frozenset[Part] = frozenset()
    restless: frozenset[Part] = frozenset()
    """What has changed again and again, whether it waits just now or not."""

    @property
    def tools(self) -> frozenset[str]:
        """The tools among it, by their names at the server."""
        return self.of("tools")

    def of(self, kind: str) -> frozenset[str]:
        """The keys of one kind among it."""
        if not self.parts:
            return frozenset()
        return frozenset(key for part_kind, key in self.parts if part_kind == kind)


NOTHING_HELD = Held()


@dataclass(frozen=True, slots=True)
class Server:
    """A server as its source declares it.

    Strings of the endpoint may hold references such as `${TOKEN}`; they are
    resolved when a link is opened, so that no picture ever holds a secret.
    """

    id: ServerId
    endpoint: Endpoint
    title: str = ""
    enabled: bool = True
    timeout: float | None = None
    """Seconds one call may take; None means the hub's default."""
    folder: str | None = None
    """What `${workspaceFolder}` stands for: where the declaration was found."""
    project: str = ""
    """The folder of the project whose clients alone it is offered to; empty for everybody."""
    local_name: str = ""
    """What the clients of its project call it, where none of theirs has that name already."""
    problem: Problem | None = None
    """Why it cannot be used as declared, e.g. a variable that is not set."""
    identity: Identity | None = None
    """Who must be behind the address; it is looked for if it has moved to another port."""
    steady: bool = False
    """Its source sees to its leaving: as long as it is declared, its offers stay listed."""
    offers: Offers | None = None
    """What it offered when last looked at: listed at once, before it is ever started."""
    peer: Peer | None = None
    """What it said of itself then."""
    held: Held = NOTHING_HELD
    """What of these offers waits for approval."""
    agents: frozenset[str] = frozenset()
    """The agents it is for, if it is on their lists and nowhere else; empty for everybody."""
    placement: Placement = ANYWHERE
    """Where a command runs, and within which bounds."""
    spare: bool = False
    """Whoever uses it gets a process of their own: this one is for finding out what it offers."""
    launch: str = ""
    """What stands for how it is started, where the endpoint also holds what a user gave it."""
    app: str = ""
    """The app it is a variant of, if it is one: its resources carry its name, as its tools do."""
    exclusive: bool = False
    """There must never be two of its process at a time."""
    login: str = ""
    """`member` if each member logs in there by themselves; empty for one login of the owner."""

    @property
    def is_per_member(self) -> bool:
        """True if it runs, or is reached, for one member alone: with credentials of their own."""
        return self.login == MEMBER_LOGIN or uses_member_secrets(self.endpoint)

    def runs_like(self, other: Server) -> bool:
        """Return whether what runs for one may go on for the other."""
        own = self.endpoint, self.placement, self.exclusive, self.login
        return own == (other.endpoint, other.placement, other.exclusive, other.login)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything one source knows now; it replaces the source's previous report."""

    source: str
    servers: tuple[Server, ...] = ()
    problems: tuple[Problem, ...] = ()
    profiles: tuple[Profile, ...] = ()
    quirks: tuple[ClientQuirk, ...] = ()
    marks: tuple[ToolMark, ...] = ()
    """What the user says of tools."""
    interceptors: tuple[Interceptor, ...] = ()
    """What the user has look at calls."""
    rules: tuple[CallRule, ...] = ()
    """The calls that wait for a yes, or are refused."""
    limits: tuple[Limit, ...] = ()
    """How much the user lets callers use."""
    roster: Roster | None = None
    """Agents, policies and executors, from the one source that knows them."""


@dataclass(frozen=True, slots=True)
class SourceFailed:
    """A source stopped; its last report stands."""

    source: str
    problem: Problem


class Status(StrEnum):
    """The state of a server, as its link sees it."""

    KNOWN = "known"
    STARTING = "starting"
    INSTALLING = "installing"
    """It starts, and its launcher seems to install its package first."""
    READY = "ready"
    IDLE = "idle"
    """Rested because nobody needed it; the next call starts it again."""
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool, prompt, resource or template: its key, and the bytes the server described it with."""

    key: str
    """The name of a tool or prompt, the URI of a resource, the URI template of a template."""
    raw: bytes


@dataclass(frozen=True, slots=True)
class Offers:
    """All a server offers, in its own order."""

    tools: tuple[Offer, ...] = ()
    prompts: tuple[Offer, ...] = ()
    resources: tuple[Offer, ...] = ()
    templates: tuple[Offer, ...] = ()


NO_OFFERS = Offers()
NO_ROSTER = Roster()


@dataclass(frozen=True, slots=True)
class Peer:
    """A server's description of itself, from when a link to it was opened."""

    era: Literal["legacy", "modern"]
    version: str
    """The protocol revision spoken with it."""
    name: str = ""
    release: str = ""
    capabilities: bytes = b"{}"
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """The report of a link: replaces the status and problem, and the parts that are not None."""

    id: ServerId
    status: Status
    offers: Offers | None = None
    peer: Peer | None = None
    problem: Problem | None = None
    held: Held = NOTHING_HELD
    """What waits for approval; counts only for the offers, and for what the peer says, if given."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A person looked, here or at another hub: this of a server waits, and perhaps its launch."""

    id: ServerId
    held: Held
    problem: Problem | None = None
    """The reason why it may not be started as it is declared."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The owners of addresses when the hub last ran."""

    owners: Owners


@dataclass(frozen=True, slots=True)
class Entry:
    """One server of the picture: declared plus observed."""

    server: Server
    alias: str
    """The short name it is exposed under; unique in the picture."""
    status: Status = Status.KNOWN
    offers: Offers = NO_OFFERS
    peer: Peer | None = None
    problem: Problem | None = None
    held: Held = NOTHING_HELD
    unfit: frozenset[str] = frozenset()
    """Tools that no client could read or call; they are left out."""
    marks: Marks = ()
    """The tiers that the user says its tools have, whatever the server says."""

    @property
    def instructions(self) -> str:
        """The server's advice to whoever uses it; empty while that waits for approval."""
        if self.peer is None or self.held.of("instructions"):
            return ""
        return self.peer.instructions


@dataclass(frozen=True, slots=True)
class SourceState:
    """The state of a source: what it last reported, and what is wrong with it."""

    report: Report
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The picture: complete, numbered, never edited."""

    revision: int = 0
    entries: dict[ServerId, Entry] = field(default_factory=dict)
    sources: dict[str, SourceState] = field(default_factory=dict)
    owners: Owners = NO_OWNERS
    """The servers that have addresses of resources, also those that are gone."""

    @property
    def profiles(self) -> dict[str, Profile]:
        """The profiles that sources report, by name."""
        reports = (state.report for state in self.sources.values())
        return {profile.name: profile for report in reports for profile in report.profiles}

    @property
    def roster(self) -> Roster:
        """The agents, what each is given, and what executors allow."""
        reports = (state.report for state in self.sources.values())
        return next((report.roster for report in reports if report.roster is not None), NO_ROSTER)

    @property
    def marks(self) -> tuple[ToolMark, ...]:
        """What the user says of tools."""
        reports = (state.report for state in self.sources.values())
        return tuple(mark for report in reports for mark in report.marks)

    @property
    def interceptors(self) -> tuple[Interceptor, ...]:
        """What the user has look at calls, in the order in which it was written."""
        reports = (state.report for state in self.sources.values())
        return tuple(one for report in reports for one in report.interceptors)

    @property
    def rules(self) -> tuple[CallRule, ...]:
        """The calls that wait for a yes, or are refused."""
        reports = (state.report for state in self.sources.values())
        return tuple(rule for report in reports for rule in report.rules)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """How much the user lets callers use."""
        reports = (state.report for state in self.sources.values())
        return tuple(limit for report in reports for limit in report.limits)

    @property
    def quirks(self) -> dict[str, ClientQuirk]:
        """The quirks that the user set for clients, by the client's name."""
        reports = (state.report for state in self.sources.values())
        return {quirk.name: quirk for report in reports for quirk in report.quirks}


Event = Report | SourceFailed | Observation | Judgement | Remembered
