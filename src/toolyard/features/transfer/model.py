"""The document of a yard, and what comes of applying one."""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from toolyard.core.jsontypes import JsonObject
from toolyard.features.policies.operations import PlanChangeRow
from toolyard.features.transfer.approved import ApprovedServer
from toolyard.operation import OpenObject

VERSION: Final = 1
APPROVALS: Final = "approvals"
MOST: Final = 10_000
"""Records of one section."""
Records = dict[str, OpenObject] | UnsetType
Action = Literal["added", "changed", "removed"]


class YardDocument(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A yard; a section that is left out is left alone when the document is applied."""

    version: Literal[1] = VERSION
    servers: Records = UNSET
    """The servers of the servers file, as it has them."""
    definitions: Records = UNSET
    """The user's own definitions of the catalog."""
    catalog: Records = UNSET
    """The servers that were added from the catalog."""
    profiles: Records = UNSET
    agents: Records = UNSET
    """Agents that a user defined."""
    lists: Records = UNSET
    """The servers that agents are given, by agent."""
    overrides: Records = UNSET
    """The differences of a list with one executor, by `agent/executor`."""
    policies: Records = UNSET
    """The rules of executors."""
    executors: Records = UNSET
    quirks: Records = UNSET
    """The limits that were set for clients."""
    marks: Records = UNSET
    """The tiers that the user says tools have, by the full names of servers, `name@source`."""
    rules: Records = UNSET
    """The calls that wait for a yes, or are refused."""
    limits: Records = UNSET
    """How much callers may use, by the names of limits."""
    interceptors: Records = UNSET
    """All that checks or changes calls of tools on their way."""
    apps: Records = UNSET
    admissions: Records = UNSET
    """The profiles that groups of people get, with limits, by group."""
    members: Records = UNSET
    """What keepers set of members, by `issuer#subject`, or by email address if they log in with
    the hub itself."""
    approvals: dict[str, ApprovedServer] | UnsetType = UNSET
    """All that was approved, by the full names of servers, `name@source`."""


SECTIONS: Final = tuple(name for name in YardDocument.__struct_fields__ if name != "version")


class ExportedYard(Struct, frozen=True):
    """The document of a yard, and sentences about what it does not hold."""

    document: YardDocument
    notes: list[str]


class DocumentChange(Struct, frozen=True):
    """One record that a document adds, changes or removes."""

    section: str
    name: str
    action: Action
    members: list[str]
    """The members that differ, if it is changed."""
    starts: list[str] = []
    """The commands and addresses that it lets the hub start and reach, without passwords."""
    done: bool = False


class FailedChange(Struct, frozen=True):
    """The change at which applying stopped; none after it was made."""

    section: str
    name: str
    text: str
    hint: str


class AppliedDocument(Struct, frozen=True):
    """All that a document changes, and what of it was done."""

    dry_run: bool
    changes: list[DocumentChange]
    plans: list[PlanChangeRow]
    """The servers that agents gain and lose, with each executor."""
    notes: list[str]
    failed: FailedChange | None = None


def plain_document(document: YardDocument) -> JsonObject:
    """Return a document as plain data, in the order of its sections."""
    plain: JsonObject = msgspec.to_builtins(document)
    return plain
