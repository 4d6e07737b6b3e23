"""Makes the next picture out of the present one and an event."""

from __future__ import annotations

from dataclasses import replace

from toolyard.core.addresses import claimed
from toolyard.core.marks import Marks, marks_of
from toolyard.core.model import (
    NO_OFFERS,
    Entry,
    Event,
    Held,
    Judgement,
    Observation,
    Part,
    Remembered,
    Report,
    Server,
    Snapshot,
    SourceFailed,
    SourceState,
    Status,
)
from toolyard.core.naming import name_servers
from toolyard.core.problems import ProblemCode
from toolyard.core.shapes import unfit

OFFER_KINDS = ("tools", "prompts", "resources", "templates")


def fold(before: Snapshot, event: Event) -> Snapshot:
    """Return the picture after `event`; the very same object if nothing changed."""
    match event:
        case Report():
            after = _report(before, event)
        case SourceFailed():
            after = _failure(before, event)
        case Observation():
            after = _observation(before, event)
        case Judgement():
            after = _judgement(before, event)
        case Remembered():
            after = _declared(replace(before, owners=event.owners), before.sources)
    after = _claimed(before, after)
    if after == before:
        return before
    return replace(after, revision=before.revision + 1)


def _report(before: Snapshot, report: Report) -> Snapshot:
    return _declared(before, {**before.sources, report.source: SourceState(report)})


def _declared(before: Snapshot, sources: dict[str, SourceState]) -> Snapshot:
    """The picture of the servers that these sources declare."""
    aliases, owners = name_servers(before, sources)
    servers = {server.id: server for state in sources.values() for server in state.report.servers}
    marks = [mark for state in sources.values() for mark in state.report.marks]
    entries = {
        id_: _entry(before.entries.get(id_), servers[id_], alias, marks_of(str(id_), marks))
        for id_, alias in aliases.items()
    }
    return replace(before, entries=entries, sources=sources, owners=owners)


def _entry(old: Entry | None, server: Server, alias: str, marks: Marks) -> Entry:
    """Return the entry of a server; observations stay while its declaration does not change."""
    if old is None or not old.server.runs_like(server):
        offers = server.offers or NO_OFFERS
        return Entry(
            server,
            alias,
            offers=offers,
            peer=server.peer,
            held=server.held,
            unfit=unfit(offers),
            marks=marks,
        )
    if not server.enabled or server.problem is not None:
        old = replace(old, status=Status.KNOWN, problem=None)
    return replace(old, server=server, alias=alias, marks=marks)


def _failure(before: Snapshot, failure: SourceFailed) -> Snapshot:
    state = before.sources.get(failure.source) or SourceState(Report(failure.source))
    sources = {**before.sources, failure.source: replace(state, problem=failure.problem)}
    return replace(before, sources=sources)


def _observation(before: Snapshot, observation: Observation) -> Snapshot:
    entry = before.entries.get(observation.id)
    if entry is None:
        return before
    held = _held(entry.held, observation)
    peer = observation.peer or entry.peer
    after = replace(
        entry, status=observation.status, peer=peer, problem=observation.problem, held=held
    )
    if observation.offers is not None:
        left_out = entry.unfit if observation.offers is entry.offers else unfit(observation.offers)
        after = replace(after, offers=observation.offers, unfit=left_out)
    return replace(before, entries={**before.entries, observation.id: after})


def _held(before: Held, observation: Observation) -> Held:
    """Return all that waits after an observation, which judges the parts it speaks of."""
    spoken: set[str] = set(OFFER_KINDS) if observation.offers is not None else set()
    if observation.peer is not None:
        spoken.add("instructions")
    return Held(
        _rest(before.parts, spoken) | observation.held.parts,
        _rest(before.restless, spoken) | observation.held.restless,
    )


def _rest(parts: frozenset[Part], spoken: set[str]) -> frozenset[Part]:
    return frozenset(part for part in parts if part[0] not in spoken)


def _judgement(before: Snapshot, judged: Judgement) -> Snapshot:
    entry = before.entries.get(judged.id)
    if entry is None:
        return before
    server = replace(entry.server, held=judged.held)
    if server.problem is None or server.problem.code == ProblemCode.PIN_LAUNCH:
        server = replace(server, problem=judged.problem)
    after = replace(entry, server=server, held=judged.held)
    if server.problem is not None:
        after = replace(after, status=Status.KNOWN, problem=None)
    entries = {**before.entries, judged.id: after}
    return replace(before, entries=entries, sources=_declared_anew(before, server))


def _declared_anew(before: Snapshot, server: Server) -> dict[str, SourceState]:
    """The sources with one server declared so: the next report of another folds it in again."""
    state = before.sources.get(server.id.source)
    if state is None:
        return before.sources
    servers = tuple(server if other.id == server.id else other for other in state.report.servers)
    report = replace(state.report, servers=servers)
    return {**before.sources, server.id.source: replace(state, report=report)}


def _claimed(before: Snapshot, after: Snapshot) -> Snapshot:
    """The picture with the addresses that its servers list for the first time."""
    listed = {
        str(id_): entry.offers
        for id_, entry in after.entries.items()
        if not entry.server.app and _offers_anew(before.entries.get(id_), entry)
    }
    if not listed:
        return after
    owners, present = after.owners, {str(id_) for id_ in after.entries}
    for server, offers in listed.items():
        owners = owners.claim(server, claimed(offers), present)
    return after if owners is after.owners else replace(after, owners=owners)


def _offers_anew(old: Entry | None, entry: Entry) -> bool:
    return entry.offers is not (old.offers if old is not None else NO_OFFERS)
