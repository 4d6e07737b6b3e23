"""Reads the whole yard: every record as it is, and as a document shows it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from toolyard.core.canonical import canonical
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Snapshot
from toolyard.features.transfer.agent_sections import (
    AGENTS,
    EXECUTOR_SECTION,
    LISTS,
    OVERRIDES,
    POLICIES,
)
from toolyard.features.transfer.approved import PresentApprovals, read_approvals
from toolyard.features.transfer.imagining import find_definitions, imagine
from toolyard.features.transfer.interceptor_section import INTERCEPTORS
from toolyard.features.transfer.model import YardDocument, plain_document
from toolyard.features.transfer.record_sections import (
    APPS,
    CATALOG,
    DEFINITIONS,
    LIMITS,
    MARKS,
    PROFILES,
    QUIRKS,
    SERVERS,
)
from toolyard.features.transfer.references import References
from toolyard.features.transfer.rule_section import RULES
from toolyard.features.transfer.sections import Bodies, DocumentSection, SectionContents
from toolyard.features.transfer.team_sections import ADMISSIONS, MEMBERS
from toolyard.yard import Yard

ORDER: Final[tuple[DocumentSection, ...]] = (
    EXECUTOR_SECTION,
    MARKS,
    RULES,
    LIMITS,
    INTERCEPTORS,
    DEFINITIONS,
    CATALOG,
    SERVERS,
    APPS,
    QUIRKS,
    PROFILES,
    AGENTS,
    POLICIES,
    LISTS,
    OVERRIDES,
    ADMISSIONS,
    MEMBERS,
)
"""The sections in the order in which records are written: first what others refer to, and what
guards calls before the servers that these go to."""
SECTIONS_BY_NAME: Final = {section.name: section for section in ORDER}
SOURCES: Final = {"servers": "configured", "catalog": "catalog"}


@dataclass(frozen=True, slots=True)
class YardState:
    """The yard at one moment."""

    contents: Mapping[str, SectionContents]
    """The records of each section as they are, with their secrets."""
    shown: Mapping[str, Bodies]
    """The same with references in place of secrets."""
    picture: Snapshot
    approvals: PresentApprovals
    document: YardDocument
    notes: tuple[str, ...]

    @property
    def version(self) -> str:
        """The mark of this state: an order can name it."""
        plain = plain_document(self.document)
        return hashlib.sha256(canonical(plain)).hexdigest()[:32]


def read_yard(yard: Yard) -> YardState:
    """Read all records and approvals; it blocks.

    Raises:
        ConfigError, StoreError: Something cannot be read.
    """
    contents = {section.name: section.read(yard) for section in ORDER}
    records = {name: content.bodies for name, content in contents.items()}
    picture = imagine(yard, records)
    approvals = read_approvals(yard, picture)
    references = References()
    shown = {section.name: _show(section, records[section.name], references) for section in ORDER}
    shown["catalog"] = _hide_values(yard, shown, references)
    notes = [note for content in contents.values() for note in content.notes]
    waiting = [
        f"{name} waits for approval of how it is started, so it is left out;"
        f" look with: toolyard approve {name} --dry-run"
        for name in sorted(approvals.waiting)
    ]
    document = _document(contents, shown, approvals)
    every = (*notes, *references.notes, *approvals.notes, *waiting)
    return YardState(contents, shown, picture, approvals, document, every)


def _show(section: DocumentSection, bodies: Bodies, references: References) -> Bodies:
    """The records of a section without their secrets."""
    if not section.private:
        return bodies
    return {
        name: references.replace(section.spell(name), name, body, section.private)
        for name, body in bodies.items()
    }


def _hide_values(yard: Yard, shown: Mapping[str, Bodies], references: References) -> Bodies:
    """The servers of the catalog without values that their definitions call secret."""
    definitions = find_definitions(yard, shown["definitions"])
    bodies: dict[str, JsonObject] = {}
    for name, body in shown["catalog"].items():
        variables = definitions[name].authorization.variables if name in definitions else ()
        secrets = [variable.name for variable in variables if variable.secret]
        owner = CATALOG.spell(name)
        values = references.replace_values(owner, name, body.get("values", {}), secrets)
        bodies[name] = {**body, **({"values": values} if values else {})}
    return bodies


def _document(
    contents: Mapping[str, SectionContents],
    shown: Mapping[str, Bodies],
    approvals: PresentApprovals,
) -> YardDocument:
    sections = {
        section: {
            name: body
            for name, body in bodies.items()
            if f"{name}@{SOURCES.get(section)}" not in approvals.waiting
            and name not in contents[section].withheld
        }
        for section, bodies in shown.items()
    }
    approved = {
        name: server for name, server in approvals.servers.items() if name not in approvals.waiting
    }
    return YardDocument(approvals=approved, **cast("Any", sections))
