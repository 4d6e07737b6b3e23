"""The members as the doors go by them: in memory, and followed wherever they are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from toolyard.core.caller import ACCOUNT, Caller
from toolyard.core.errors import UnknownNameError
from toolyard.features.members.model import (
    Admission,
    Member,
    Person,
    ShutOut,
    judge_member,
    of_groups,
)
from toolyard.features.members.store import (
    MOST,
    AdmissionRecords,
    MemberRecords,
    find_member,
    present,
)
from toolyard.records.protocol import Kept, amend
from toolyard.relay.dismissals import Dismissals
from toolyard.yard import Yard

USE_SECONDS: Final = 3600.0
"""The time of the last use is written down to the hour, not with every call."""


class MemberNews(NamedTuple):
    """What was learnt of a member: by their token, and when they came in."""

    person: Person
    used_at: float

    def merge(self, kept: Member | None) -> Member:
        """Put it together with what is kept of the member."""
        is_older = kept is not None and not self.person.outdates(kept)
        member = kept if kept is not None and is_older else self.person.update(kept)
        return msgspec.structs.replace(member, used_at=max(self.used_at, member.used_at))


class MemberDirectory:
    """Who is a member, and which caller each of them is; it lives on the loop of the doors."""

    def __init__(
        self,
        members: MemberRecords,
        admissions: AdmissionRecords,
        dismissals: Dismissals,
        clock: Callable[[], float],
    ) -> None:
        """Know nobody yet."""
        self.members = members
        self.admissions = admissions
        self.news = asyncio.Event()
        """Set while something waits to be written down."""
        self.revision = 0
        """Grows whenever somebody may be another caller than before."""
        self._dismissals = dismissals
        self._clock = clock
        self._by_key: dict[str, Member] = {}
        self._admissions: tuple[Admission, ...] = ()
        self._is_readable = True
        self._callers: dict[str, Caller | None] = {}
        self._narrowed: dict[str, tuple[Caller, Caller]] = {}
        """By the mark of a token: its member, and the member with that token."""
        self._untold: dict[str, Person] = {}
        """The people whose members are to be written down, by key."""

    def take_members(self, kept: Kept[Member]) -> None:
        """Go by these members from now on; what cannot be read lets nobody new in."""
        self._is_readable = not kept.problems
        untold, before = self.untold(), self._by_key
        if kept.failure is None:
            self._by_key = {key: _carry(before.get(key), m) for key, m in kept.values.items()}
        for news in untold:
            self._by_key[news.person.key] = news.merge(self._by_key.get(news.person.key))
        self._review()

    def take_admissions(self, kept: Kept[Admission]) -> None:
        """Go by these admissions from now on."""
        if kept.failure is None:
            self._admissions = tuple(kept.values.values())
        self._review()

    def _review(self) -> None:
        """End what was opened by whoever is let in no longer, or for something else."""
        self._callers, self._narrowed = {}, {}
        self.revision += 1
        self._dismissals.dismiss_all(self._is_gone)
        gone = {key for key, m in self._by_key.items() if m.disabled or m.removed_at}
        self._dismissals.dismiss_members(lambda key: self.caller(key) is None, gone)

    def recognise(self, person: Person) -> Caller | None:
        """Return the caller that a person is; None if nothing lets them in.

        Whoever comes for the first time and is admitted becomes a member.
        """
        member = self._by_key.get(person.key)
        if member is not None and not person.outdates(member):
            # A token from before a removal counts no more, also for one who came back.
            return self.caller(person.key) if person.issued_at > member.since else None
        before = self.caller(person.key)
        if self._update(person) != member:
            self._callers.pop(person.key, None)
            self.revision += 1
            if member is not None and member.removed_at:
                self._review()  # they begin anew, and what they keep from now on stays
        after = self.caller(person.key)
        if before is not None and after != before:
            self._dismissals.dismiss(before)
        return after

    def caller(self, key: str) -> Caller | None:
        """Return the caller that a member is now; None if nothing lets them in."""
        if key not in self._callers:
            judged = self.judge(key)
            self._callers[key] = None if isinstance(judged, ShutOut) else judged
        return self._callers[key]

    def judge(self, key: str) -> Caller | ShutOut:
        """Return the caller that a member is now, or why nothing lets them in."""
        member = self._by_key.get(key)
        return ShutOut.UNKNOWN if member is None else judge_member(member, self._admissions)

    def admissions_of(self, key: str) -> list[Admission]:
        """Return the admissions that a member has by their groups."""
        member = self._by_key.get(key)
        return [] if member is None else of_groups(member.groups, self._admissions)

    def narrow(self, token: Caller) -> Caller | None:
        """Return the member who comes in with a token of theirs; None if nothing lets them in."""
        member, caller = self._by_key.get(token.member), self.caller(token.member)
        if member is None or caller is None or token.made_at <= member.since:
            return None
        narrowed = self._narrowed.get(token.token)
        if narrowed is None or narrowed[0] is not caller:
            if len(self._narrowed) >= MOST:
                self._narrowed.clear()
            narrowed = self._narrowed[token.token] = caller, caller.narrow(token)
        return narrowed[1]

    def instances_of(self, account: str) -> int:
        """Return how many servers may run for the sessions of an account; 0 for no such limit."""
        caller = self._of_account(account)
        return caller.instances if caller is not None else 0

    def get(self, key: str) -> Member | None:
        """Return the member of a key."""
        return self._by_key.get(key)

    def find(self, name: str) -> Member:
        """Return the member of a name, who may have come in a moment ago; else one removed.

        Raises:
            UnknownNameError: There is none.
            ConfigError: There are several.
        """
        members = self._by_key.values()
        try:
            return find_member(present(members), name)
        except UnknownNameError as error:
            removed = [member for member in members if member.removed_at]
            try:
                return find_member(removed, name)
            except UnknownNameError:
                raise error from None

    def used(self, key: str) -> None:
        """A member has come in; the time is written down if the last one is long ago."""
        member, now = self._by_key.get(key), self._clock()
        if member is None or now - member.used_at < USE_SECONDS:
            return
        self._by_key[key] = msgspec.structs.replace(member, used_at=now)
        self._tell(_person_of(member))

    def untold(self) -> list[MemberNews]:
        """The news of members that are not written down yet."""
        return [MemberNews(person, self._used_at(key)) for key, person in self._untold.items()]

    def told(self, news: Iterable[MemberNews]) -> None:
        """These news are written down."""
        for item in news:
            if self._untold.get(item.person.key) == item.person:
                del self._untold[item.person.key]

    def _update(self, person: Person) -> Member | None:
        """Take in what a newer token says; return the member, None if they do not become one."""
        member = self._by_key.get(person.key)
        updated = person.update(member)
        if member is None or member.removed_at:
            is_full = len(self._by_key) >= MOST or not self._is_readable
            if is_full or isinstance(judge_member(updated, self._admissions), ShutOut):
                return member
        self._by_key[person.key] = updated
        if member is None or _told(updated) != _told(member):
            self._tell(person)
        return updated

    def _used_at(self, key: str) -> float:
        member = self._by_key.get(key)
        return member.used_at if member is not None else 0.0

    def _tell(self, person: Person) -> None:
        self._untold[person.key] = person
        self.news.set()

    def _is_gone(self, caller: Caller) -> bool:
        if not caller.member:
            return False
        member = self.narrow(caller) if caller.token else self.caller(caller.member)
        return member != caller

    def _of_account(self, account: str) -> Caller | None:
        is_member = account.startswith(ACCOUNT)
        return self.caller(account.removeprefix(ACCOUNT)) if is_member else None


def _carry(before: Member | None, kept: Member) -> Member:
    """Return a member with what was learnt of them and is not worth writing down."""
    if before is None or before.groups != kept.groups or kept.removed_at:
        return kept
    issued_at = max(before.issued_at, kept.issued_at)
    return msgspec.structs.replace(
        kept, issued_at=issued_at, used_at=max(before.used_at, kept.used_at)
    )


def _told(member: Member) -> tuple[object, ...]:
    """The part of a member that is worth writing down when it changes."""
    return member.email, member.name, member.groups, member.removed_at


def _person_of(member: Member) -> Person:
    return Person(
        member.issuer, member.subject, member.issued_at, member.email, member.name, member.groups
    )


async def follow_records(yard: Yard) -> None:
    """Let the doors go by what was written before an order is answered."""
    if MemberDirectory not in yard.parts:
        return
    directory = yard.part(MemberDirectory)
    directory.take_members(await asyncio.to_thread(directory.members.read))
    directory.take_admissions(await asyncio.to_thread(directory.admissions.read))


def write_down(members: MemberRecords, news: Iterable[MemberNews]) -> None:
    """Write down what the doors have learnt of members. It blocks.

    Raises:
        StoreError: It cannot be written.
    """
    for item in news:
        amend(members, item.person.key, item.merge)
