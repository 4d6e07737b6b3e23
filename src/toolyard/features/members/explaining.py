"""The reason why a member sees a server or tool, or does not: which rule decided.

What they see is read off their view, and the reasons are asked of the filters that made it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from toolyard.core.counting import counted
from toolyard.core.errors import UnknownNameError
from toolyard.core.lookup import find_tools
from toolyard.core.model import Entry, Offer, Snapshot
from toolyard.core.names import closest
from toolyard.core.tiers import find_tier
from toolyard.features.members.model import Admission
from toolyard.features.members.sight import MemberStep, MemberView, Outside, tell_credentials
from toolyard.relay.profile_filter import ProfileFilter, ToolVerdict

WHO_SAYS: Final = {
    "user": "as its mark says",
    "server": "as its server says",
    "nobody": "because neither a mark nor its server says what it does",
}


class MemberStory(Struct, frozen=True):
    """The reason why a member can use a server or tool, or cannot."""

    name: str
    member: str
    verdict: str
    """`given`, or what is in the way: `no-issuer`, `not-a-member`, `removed`, `disabled`,
    `not-admitted`, `not-shown`, `tier`, `off`, `held`, `failing`, `needs-credential`, `limit`."""
    text: str
    hint: str
    server: str
    tool: str
    decided: MemberStep
    """The step that decided."""
    steps: list[MemberStep]
    also: list[str]
    """Other servers with a tool of that name."""


class Ending(NamedTuple):
    """The end of a story: the verdict, and the step that led to it."""

    verdict: str
    text: str
    hint: str
    step: MemberStep


class Subject(NamedTuple):
    """The server that is asked about, and the tool of it, if it is one."""

    entry: Entry
    tool: Offer | None = None

    def __str__(self) -> str:
        alias = self.entry.alias
        return f"{alias!r}" if self.tool is None else f"{self.tool.key!r} of {alias!r}"


def explain(name: str, sight: MemberView | Outside, snapshot: Snapshot) -> MemberStory:
    """Explain a name to a keeper: that of a server, or of a tool, in any spelling.

    Raises:
        UnknownNameError: Nobody knows it.
    """
    if isinstance(sight, Outside):
        step, words = sight.step, (sight.verdict, sight.text, sight.hint)
        return MemberStory(name, sight.label, *words, "", "", step, [step], [])
    route = sight.view.tools.get(name)
    if route is not None and route.server is None:
        step = MemberStep("server", "the hub's own tools", "every member sees them", decides=True)
        text = f"{sight.label!r} sees {name!r}, a tool of the hub itself"
        return MemberStory(name, sight.label, "given", text, "", "", name, step, [step], [])
    subject, *others = find_subjects(name, sight, snapshot)
    story = _Explainer(name, sight, subject).explain()
    return msgspec.structs.replace(story, also=[other.entry.alias for other in others])


def find_subjects(name: str, sight: MemberView, snapshot: Snapshot) -> list[Subject]:
    """Find the servers or tools that a name may mean, those that the member sees first.

    Raises:
        UnknownNameError: Nobody knows it.
    """
    view = sight.view
    if (route := view.tools.get(name)) is not None:
        entry = view.entries[route.alias]
        return [Subject(entry, _tool(entry, route.key))]
    if (withheld := view.withheld.get(name)) is not None:
        return [Subject(withheld[0], _tool(*withheld))]
    entries = [
        view.entries.get(view.aliases.get(entry.server.id, ""), entry)
        for entry in snapshot.entries.values()
        if not entry.server.agents
    ]
    for entry in entries:
        if name in (entry.alias, str(entry.server.id)):
            return [Subject(entry)]
    tools = [Subject(e, tool) for e in entries for tool in find_tools(name, (e.alias,), e)]
    if tools:
        return sorted(tools, key=lambda subject: not sight.shows(subject.entry, subject.tool))
    known = [word for e in entries for word in (e.alias, *(o.key for o in e.offers.tools))]
    near = closest(name, dict.fromkeys([*view.tools, *known]))
    hint = f"did you mean {', '.join(near)}?" if near else "see: toolyard tools"
    raise UnknownNameError(f"nobody knows a server or tool {name[:80]!r}", hint)


def _tool(entry: Entry, key: str) -> Offer:
    return next(offer for offer in entry.offers.tools if offer.key == key)


class _Explainer:
    def __init__(self, name: str, sight: MemberView, subject: Subject) -> None:
        self.name = name
        self.sight = sight
        self.subject = subject
        self.entry, self.tool = subject
        self.parts = {part: self._judge(part) for part in sight.view.filter.parts}

    def explain(self) -> MemberStory:
        steps = [*self._come_in(), *(self._tell(part) for part in self.parts)]
        ending = self._end()
        decided = msgspec.structs.replace(ending.step, decides=True)
        if ending.step not in steps:
            steps.append(ending.step)
        steps = [decided if step == ending.step else step for step in steps]
        key = self.tool.key if self.tool is not None else ""
        words = ending.verdict, ending.text, ending.hint, self.entry.alias, key
        return MemberStory(self.name, self.sight.label, *words, decided, steps, [])

    def _end(self) -> Ending:
        hidden = self._withheld() or self._unseen()
        unusable = self._failing() or self._without_credential() or self._too_many()
        return hidden or unusable or self._given()

    def _judge(self, part: ProfileFilter) -> ToolVerdict:
        if self.tool is not None:
            return part.judge(self.entry, self.tool)
        return ToolVerdict.SHOWN if part.shows(self.entry) else ToolVerdict.SERVER

    # The steps.

    def _come_in(self) -> Iterator[MemberStep]:
        member = self.sight.member
        groups = ", ".join(member.groups) or "none"
        yield MemberStep("member", self.sight.label, f"is a {member.role}; groups: {groups}")
        for admission in self.sight.admissions:
            yield _tell_admission(admission)
        names = {part.profile.name for part in self.parts if part.profile is not None}
        for name in self.sight.caller.admitted or ():
            if name not in names:
                yield MemberStep("profile", f"profile {name!r}", "there is no such profile")

    def _tell(self, part: ProfileFilter) -> MemberStep:
        rule, verdict = self.sight.rule_of(part), self.parts[part]
        if verdict is ToolVerdict.TIER:
            return MemberStep("tier", rule, f"shows tools up to {part.tier}; {self._tier()}")
        words = {
            ToolVerdict.SHOWN: f"shows {self.subject}",
            ToolVerdict.SERVER: f"shows nothing of {self.entry.alias!r}",
            ToolVerdict.TOOL: f"leaves out {self.subject}",
        }
        return MemberStep("profile", rule, words[verdict])

    def _tier(self) -> str:
        """The tier of the tool, and who says so."""
        assert self.tool is not None
        tier, by = find_tier(self.tool, dict(self.entry.marks))
        return f"{self.tool.key!r} counts as {tier}, {WHO_SAYS[by]}"

    # The endings, in the order in which a call would meet them.

    def _withheld(self) -> Ending | None:
        key = self.tool.key if self.tool is not None else ""
        if not any(k == key and e.alias == self.entry.alias for e, k in self._all_withheld()):
            return None
        if key in self.entry.held.tools:
            text = f"{self.subject} changed since it was approved, and waits for approval"
            hint = f"look with: toolyard approve {self.entry.alias} --dry-run"
            return Ending("held", text, hint, MemberStep("server", "approvals", text))
        text = f"{self.subject} is left out: its inputSchema is not of type object"
        step = MemberStep("server", self.entry.alias, text)
        return Ending("failing", text, "its author has to correct it", step)

    def _all_withheld(self) -> list[tuple[Entry, str]]:
        return list(self.sight.view.withheld.values())

    def _unseen(self) -> Ending | None:
        if self.sight.shows(self.entry, self.tool):
            return None
        alias, project = self.entry.alias, self.entry.server.project
        if not self.entry.server.enabled:
            text, hint = f"{alias!r} is disabled", f"toolyard server enable {alias}"
            return Ending("off", text, hint, MemberStep("server", alias, text))
        if project and ToolVerdict.SHOWN in self.parts.values():
            text = f"{alias!r} is for clients that work in '{project}', and for no others"
            return Ending("not-shown", text, "", MemberStep("server", alias, text))
        for verdict in (ToolVerdict.TIER, ToolVerdict.TOOL, ToolVerdict.SERVER):
            for part in (part for part, judged in self.parts.items() if judged is verdict):
                return self._hidden(part)
        text = f"{self.sight.label!r} is admitted to no profile, so they see no server"
        hint = "admit a group of theirs with: toolyard member admission set GROUP PROFILE"
        return Ending("not-admitted", text, hint, MemberStep("admission", "admissions", text))

    def _hidden(self, part: ProfileFilter) -> Ending:
        who, name = self.sight.label, part.profile.name if part.profile is not None else ""
        if self.parts[part] is ToolVerdict.TIER and self.tool is not None:
            text = f"{who!r} may use tools up to {part.tier} by the {self.sight.rule_of(part)}"
            mark = f"toolyard mark set {self.entry.alias} {self.tool.key} {part.tier}"
            hint = f"raise the tier of the admission, or say what the tool does: {mark}"
            return Ending("tier", f"{text}, and {self._tier()}", hint, self._tell(part))
        if self.parts[part] is ToolVerdict.TOOL:
            text = f"no profile that {who!r} is admitted to shows {self.subject}"
            return Ending("not-shown", text, f"see: toolyard profile show {name}", self._tell(part))
        text = f"no profile that {who!r} is admitted to shows {self.entry.alias!r}"
        hint = f"admit a group of theirs to a profile that allows {self.entry.alias!r}"
        return Ending("not-shown", text, hint, self._tell(part))

    def _failing(self) -> Ending | None:
        problem = self.entry.server.problem
        if problem is None and not self.entry.server.is_per_member:
            problem = self.entry.problem  # that of a shared process
        if problem is None:
            return None
        text = f"{self.sight.label!r} sees {self.subject}, and it fails: {problem.text}"
        step = MemberStep("server", self.entry.alias, problem.text)
        return Ending("failing", text, problem.hint, step)

    def _without_credential(self) -> Ending | None:
        missing = self.sight.missing(self.entry)
        if not missing:
            return None
        what = tell_credentials(missing)
        text = f"{self.sight.label!r} sees {self.subject}, which needs {what}; it is not there yet"
        step = MemberStep("credential", self.entry.alias, f"needs {what} of each member")
        return Ending("needs-credential", text, "their next call asks them for it", step)

    def _too_many(self) -> Ending | None:
        shortage = self.sight.shortage(self.entry)
        if shortage is None:
            return None
        text = f"{self.sight.label!r} sees {self.subject}, and a call would fail: {shortage}"
        step = MemberStep("instances", "the limit of running servers", str(shortage))
        return Ending("limit", text, shortage.hint, step)

    def _given(self) -> Ending:
        part = next(part for part, judged in self.parts.items() if judged is ToolVerdict.SHOWN)
        rule = self.sight.rule_of(part)
        text = f"{self.sight.label!r} sees {self.subject}, by the {rule}"
        return Ending("given", text, "", self._tell(part))


def _tell_admission(admission: Admission) -> MemberStep:
    limits = [
        f"tools up to {admission.tier}" if admission.tier != "destroy" else "",
        counted(admission.instances, "instance") if admission.instances else "",
        counted(admission.sessions, "session") if admission.sessions else "",
    ]
    words = [f"gives {', '.join(admission.profiles)}", *(limit for limit in limits if limit)]
    return MemberStep("admission", f"admission of {admission.group!r}", ", ".join(words))
