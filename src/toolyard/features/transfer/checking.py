"""Checks a document as a whole before anything of it is done: every record, and what they name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from toolyard.board import Board
from toolyard.core.agentfiles import read_config, read_override
from toolyard.core.agents import Roster
from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.core.fields import FaultsError, FieldFault, Fields
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Remembered, Snapshot
from toolyard.features.agents.checks import check_config, check_override
from toolyard.features.agents.resolutions import Resolutions
from toolyard.features.transfer.agent_sections import split_override
from toolyard.features.transfer.approved import ApprovedServer, check_approved, find_id
from toolyard.features.transfer.imagining import find_definitions, imagine
from toolyard.features.transfer.model import APPROVALS, MOST, SECTIONS, VERSION
from toolyard.features.transfer.reading import ORDER
from toolyard.features.transfer.sections import Bodies, DocumentSection
from toolyard.features.transfer.source import ReachedEverywhere
from toolyard.links.sites import LOCAL
from toolyard.yard import Yard

HINT: Final = "write it as `toolyard export` does"


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """A document in which nothing is wrong: its sections, each record in its one form."""

    sections: Mapping[str, Bodies]
    approvals: Mapping[str, ApprovedServer]


def check_document(plain: Any) -> CheckedDocument:
    """Check every record of a document by itself.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    document = Fields(plain, f"{HINT}: version: {VERSION}, servers: ...")
    document.finish()
    document.only(("version", *SECTIONS), "a document")
    if document.get("version") != VERSION:
        text = f"'version' is {document.get('version')!r}, and {VERSION} is what we read"
        document.fault("version", text, f"write version: {VERSION}, or update toolyard")
    sections = {
        section.name: _check_section(document, section)
        for section in ORDER
        if section.name in document.value
    }
    approvals = _check_approvals(document)
    document.finish()
    return CheckedDocument(sections, approvals)


def _check_approvals(document: Fields) -> dict[str, ApprovedServer]:
    approvals: dict[str, ApprovedServer] = {}
    for name, body in _members(document, APPROVALS):
        try:
            approvals[name] = check_approved(name, body)
        except ConfigError as error:
            _fault(document, APPROVALS, f"approvals of '{name[:80]}'", error)
    return approvals


def _check_section(document: Fields, section: DocumentSection) -> Bodies:
    bodies: dict[str, JsonObject] = {}
    for name, body in _members(document, section.name):
        try:
            bodies[name] = section.check(name, body)
        except (ConfigError, msgspec.MsgspecError) as error:
            _fault(document, section.name, section.spell(name[:80]), error)
    return dict(sorted(bodies.items()))


def _members(document: Fields, section: str) -> Iterator[tuple[str, JsonObject]]:
    value = document.value.get(section, {})
    if not isinstance(value, Mapping) or len(value) > MOST:
        text = f"'{section}' is not an object of at most {MOST} records"
        document.fault(section, text, "write {} for none, or leave the section out")
        return
    for name, body in value.items():
        if isinstance(body, dict):
            yield str(name), body
        else:
            document.fault(section, f"'{str(name)[:80]}' in '{section}' is not an object", HINT)


def _fault(document: Fields, section: str, record: str, error: Exception) -> None:
    """Note what is wrong with one record; it may be several things."""
    if isinstance(error, FaultsError):
        for fault in error.faults:
            document.fault(section, f"{record}: {fault}", fault.hint)
    else:
        document.fault(section, f"{record}: {error}", getattr(error, "hint", "") or HINT)


def check_references(
    yard: Yard, records: Mapping[str, Bodies], document: CheckedDocument
) -> Snapshot:
    """Return the picture of a yard with these records, in which all is found that they name.

    Raises:
        FaultsError: A record of the document refers to what is in neither.
    """
    after = imagine(yard, records)
    definitions = find_definitions(yard, records["definitions"])
    faults = list(_find_strangers(document.sections, after.roster))
    faults += [] if faults else _find_list_faults(document.sections, after)
    for name in document.sections.get("catalog", {}).keys() - definitions.keys():
        text = f"catalog server '{name}': the catalog has no definition of it"
        faults.append(FieldFault("", "catalog", text, "add one to 'definitions'"))
    faults += _find_unknown_profiles(document.sections, records["profiles"])
    for name in document.approvals:
        if find_id(name) not in after.entries:
            text = f"approvals of '{name}': there is no such server"
            faults.append(FieldFault("", APPROVALS, text, "add the server, or take them out"))
    if faults:
        raise FaultsError(sorted(faults, key=str))
    return after


def _find_strangers(sections: Mapping[str, Bodies], roster: Roster) -> Iterator[FieldFault]:
    """The faults of records that name an agent or executor which nobody defines."""
    for name in sections.get("lists", ()):
        yield from _look("lists", f"list '{name}'", name, roster.agent)
    for name in sections.get("policies", ()):
        yield from _look("policies", f"policy '{name}'", name, roster.executor)
    for name in sections.get("overrides", ()):
        agent, executor = split_override(name)
        yield from _look("overrides", f"override '{name}'", agent, roster.agent)
        yield from _look("overrides", f"override '{name}'", executor, roster.executor)


def _find_unknown_profiles(
    sections: Mapping[str, Bodies], profiles: Bodies
) -> Iterator[FieldFault]:
    """The faults of admissions to profiles that nobody defines."""
    for group, body in sections.get("admissions", {}).items():
        for name in body["profiles"]:
            if name not in profiles:
                text = f"admission of '{group}': there is no profile '{name}'"
                yield FieldFault("", "admissions", text, "add it to 'profiles'")


def _look(
    section: str, record: str, name: str, find: Callable[[str], object]
) -> Iterator[FieldFault]:
    try:
        find(name)
    except UnknownNameError as error:
        yield FieldFault("", section, f"{record}: {error}", error.hint)


def _find_list_faults(sections: Mapping[str, Bodies], after: Snapshot) -> Iterator[FieldFault]:
    """The faults for which a list would be refused once everything else is written."""
    board = Board()
    board.post(Remembered(after.owners))
    for state in after.sources.values():
        board.post(state.report)
    resolutions = Resolutions(board, ReachedEverywhere())
    for name, body in sections.get("lists", {}).items():
        checked = check_config(resolutions, read_config(name, body), LOCAL)
        yield from _told("lists", f"list '{name}'", checked.faults)
    for name, body in sections.get("overrides", {}).items():
        override = read_override(*split_override(name), body)
        checked = check_override(resolutions, override)
        yield from _told("overrides", f"override '{name}'", checked.faults)


def _told(section: str, record: str, faults: Iterable[FieldFault]) -> Iterator[FieldFault]:
    return (FieldFault("", section, f"{record}: {fault}", fault.hint) for fault in faults)
