"""Questions and orders about trust; no MCP tool leads here, so no model approves anything."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from toolyard.core.errors import ConfigError, ConflictError, UnknownNameError
from toolyard.core.lookup import find_entry
from toolyard.core.model import NOTHING_HELD, Held, Kind, Part
from toolyard.core.names import closest, quoted
from toolyard.core.parts import INSTRUCTIONS, parts_of, spell
from toolyard.core.rows import HeldPart, held_also
from toolyard.features.approvals.changes import find_differences
from toolyard.features.approvals.inspecting import Findings, inspect_parts, neighbours_of
from toolyard.features.approvals.judging import Approvals
from toolyard.features.approvals.model import Change
from toolyard.features.approvals.verifying import SECONDS, verify
from toolyard.operation import operation
from toolyard.yard import Yard

ONE: Final = "/api/v1/servers/{alias}"
SECONDS_MOST: Final = 600.0
MOST: Final = 1000
"""Parts that can be named at once."""


class VerifyServer(msgspec.Struct, frozen=True):
    """The time that a server gets to start, greet and list."""

    alias: str
    seconds: Annotated[float, Meta(gt=0, le=SECONDS_MOST)] = SECONDS


class ServerToCompare(msgspec.Struct, frozen=True):
    """The server that is meant."""

    alias: str


Keys = Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(max_length=MOST)]


class ApproveServer(msgspec.Struct, frozen=True):
    """The parts to approve; if none is named, all of them and the launch."""

    alias: str
    tools: Keys = []
    prompts: Keys = []
    resources: Keys = []
    templates: Keys = []
    instructions: bool = False
    any_text: bool = False
    """Descriptions and titles of these parts may change from now on; names, arguments and schemas
    still count. The instructions of a server may then say anything."""
    hash: str = ""
    """The state that was looked at, as `changes` gave it; another one is refused."""

    def parts(self) -> list[Part]:
        """Return the parts that are named."""
        kinds: tuple[Kind, ...] = ("tools", "prompts", "resources", "templates")
        named: list[Part] = [(kind, key) for kind in kinds for key in getattr(self, kind)]
        return [*named, INSTRUCTIONS] if self.instructions else named


class FieldDifference(msgspec.Struct, frozen=True):
    """One field of a tool, with every invisible character spelled out."""

    path: str
    before: str
    after: str
    lines: list[str]


class PartDifference(msgspec.Struct, frozen=True):
    """The difference of one part: a tool, prompt, resource or template, or the instructions."""

    of: Kind
    name: str
    kind: str
    held: bool
    restless: bool
    """It changes again and again."""
    fields: list[FieldDifference]


class PartFinding(msgspec.Struct, frozen=True):
    """Something in the words of a part that a person should look at."""

    of: Kind
    name: str
    kind: Literal["hidden-text", "instruction", "look-alike", "other-tool"]
    serious: bool
    """No honest server is expected to have it: a new part with it waits for approval."""
    path: str
    """The field it is in; empty if it is about the whole part."""
    text: str
    why: str


class VerificationResult(msgspec.Struct, frozen=True):
    """The result of a verification, and how it differs from what is on file."""

    server: str
    verified_at: str
    era: str
    protocol: str
    server_name: str
    server_version: str
    first_answer_ms: int
    schema_tokens: int
    tools: list[str]
    prompts: list[str]
    resources: list[str]
    templates: list[str]
    changes: list[PartDifference]
    findings: list[PartFinding]
    """All that a person should look at in what models read, changed or not."""


class Waiting(msgspec.Struct, frozen=True):
    """The differences between a server and what was approved, and the parts that wait."""

    server: str
    hash: str
    launch: bool
    held: list[str]
    """The tools that wait."""
    held_also: list[HeldPart]
    """All else that waits."""
    new: list[str]
    """The tools that are listed, and nobody has looked at yet."""
    any_text: list[HeldPart]
    """The parts of which any text was approved."""
    changes: list[PartDifference]
    findings: list[PartFinding]
    """What a person should look at in the parts that wait, changed or are new."""


class Approved(msgspec.Struct, frozen=True):
    """The parts that waited until now: tools by their names, all else with its kind."""

    server: str
    approved: list[str]


@operation("POST", f"{ONE}/verify", tag="trust", errors=(500, 502, 504))
async def verify_server(yard: Yard, order: VerifyServer) -> VerificationResult:
    """See what a server really offers."""
    verified = await verify(yard, order.alias, order.seconds)
    offers, peer = verified.offers, verified.peer
    return VerificationResult(
        server=verified.name,
        verified_at=verified.verified_at,
        era=peer.era,
        protocol=peer.version,
        server_name=peer.name,
        server_version=peer.release,
        first_answer_ms=verified.first_answer_ms,
        schema_tokens=verified.tokens,
        tools=[offer.key for offer in offers.tools],
        prompts=[offer.key for offer in offers.prompts],
        resources=[offer.key for offer in offers.resources],
        templates=[offer.key for offer in offers.templates],
        changes=_rows(verified.changes),
        findings=_finding_rows(verified.findings),
    )


@operation("GET", f"{ONE}/changes", tag="trust", errors=(500,))
async def get_changes(yard: Yard, order: ServerToCompare) -> Waiting:
    """The differences between a server and what was approved."""
    entry = find_entry(yard.snapshot, order.alias)
    compared = find_differences(yard.part(Approvals), entry)
    fresh = {change.part for change in compared.changes}
    fresh |= compared.held.parts | compared.approvals.unseen
    parts = {p: raw for p, raw in parts_of(entry.offers, entry.peer).items() if p in fresh}
    others = neighbours_of(yard.snapshot, entry.server.id)
    findings = await asyncio.to_thread(inspect_parts, parts, others)
    return Waiting(
        server=compared.alias,
        hash=compared.mark,
        launch=compared.launch,
        held=sorted(compared.held.tools),
        held_also=held_also(compared.held),
        new=sorted(key for kind, key in compared.approvals.unseen if kind == "tools"),
        any_text=[HeldPart(*part) for part in sorted(compared.approvals.loose)],
        changes=_rows(compared.changes, compared.held),
        findings=_finding_rows(findings),
    )


@operation("POST", f"{ONE}/approve", tag="trust", errors=(409, 412, 500, 503))
async def approve_server(yard: Yard, order: ApproveServer) -> Approved:
    """Approve what it offers."""
    alias, parts, approvals = order.alias, order.parts(), yard.part(Approvals)
    entry = find_entry(yard.snapshot, alias)
    _check_parts(alias, parts, parts_of(entry.offers, entry.peer))
    if order.any_text and not parts:
        text = "any text can be approved for parts that are named, not for a whole server"
        raise ConfigError(text, "name the tool")
    if order.hash and order.hash != approvals.mark(entry):
        hint = f"look again with: toolyard approve {alias} --dry-run"
        raise ConflictError(f"{alias!r} has changed since you looked", hint)
    approved = await asyncio.to_thread(
        approvals.approve, entry, frozenset(parts), any_text=order.any_text, by=yard.caller
    )
    present = yard.snapshot.entries.get(entry.server.id)
    if present is not None:
        yard.board.post(approvals.judge_again(present))
    return Approved(alias, [spell(part) for part in sorted(entry.held.parts & approved)])


def _check_parts(alias: str, parts: Collection[Part], offered: Collection[Part]) -> None:
    """See that a server offers parts.

    Raises:
        UnknownNameError: It does not offer one of them.
    """
    for kind, key in parts:
        if (kind, key) in offered:
            continue
        keys = [other for offered_kind, other in offered if offered_kind == kind]
        near = ", ".join(closest(key, keys) or keys[:20]) or "none"
        word = kind if kind == "instructions" else kind.removesuffix("s")
        raise UnknownNameError(f"{alias!r} has no {word} {quoted(key)}", f"there are: {near}")


def _rows(changes: tuple[Change, ...], held: Held = NOTHING_HELD) -> list[PartDifference]:
    return [
        PartDifference(
            *change.part,
            change.kind,
            change.part in held.parts,
            change.part in held.restless,
            [
                FieldDifference(field.path, field.before, field.after, list(field.lines))
                for field in change.fields
            ],
        )
        for change in changes
    ]


def _finding_rows(findings: Mapping[Part, Findings]) -> list[PartFinding]:
    return [
        PartFinding(
            *part, finding.kind.value, finding.is_serious, finding.path, finding.text, finding.why
        )
        for part, of_part in findings.items()
        for finding in of_part
    ]
