"""Trust: verify servers, see what changed since it was approved, approve it."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from toolyard.core.errors import ConflictError
from toolyard.core.model import NOTHING_HELD, Held, Kind, Part
from toolyard.core.parts import INSTRUCTIONS, spell
from toolyard.core.pins import Change
from toolyard.hub.checks import Checks, MovedOnError
from toolyard.hub.rows import HeldPart, held_also
from toolyard.surfaces.control.api import Call, Operation

SECONDS_MOST: Final = 600.0
MOST: Final = 1000
"""Parts that can be named at once."""


class Limit(msgspec.Struct, frozen=True):
    """How long a server gets to start, greet and list."""

    seconds: Annotated[float, Meta(gt=0, le=SECONDS_MOST)] = 60.0


Keys = Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(max_length=MOST)]


class Approval(msgspec.Struct, frozen=True):
    """What to approve: these parts, or if none is named all of them and the launch."""

    tools: Keys = []
    prompts: Keys = []
    resources: Keys = []
    templates: Keys = []
    instructions: bool = False
    any_text: bool = False
    """Whether descriptions and titles of these parts may change from now on: names, arguments
    and schemas still count. The instructions of a server may then say anything."""
    hash: str = ""
    """The state that was looked at, as `changes` gave it; another one is refused."""

    def parts(self) -> list[Part]:
        """The parts that are named."""
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
    """How one part differs: a tool, prompt, resource or template, or the instructions."""

    of: Kind
    name: str
    kind: str
    held: bool
    restless: bool
    """Whether it changes again and again."""
    fields: list[FieldDifference]


class VerificationResult(msgspec.Struct, frozen=True):
    """What a verification saw, and how it differs from what is on file."""

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


class Waiting(msgspec.Struct, frozen=True):
    """How a server differs from what was approved, and what of it waits."""

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


class Approved(msgspec.Struct, frozen=True):
    """What waited until now: tools by their names, all else with its kind."""

    server: str
    approved: list[str]


class VerificationDoor:
    """Questions and orders about trust; no MCP tool leads here, so no model approves anything."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        one, tag = "/api/v1/servers/{alias}", "trust"
        return [
            Operation(
                "POST",
                f"{one}/verify",
                "See what a server really offers",
                self._verify,
                VerificationResult,
                body=Limit,
                tag=tag,
                errors=(500, 502, 504),
            ),
            Operation(
                "GET",
                f"{one}/changes",
                "How it differs from what was approved",
                self._changes,
                Waiting,
                tag=tag,
                errors=(500,),
            ),
            Operation(
                "POST",
                f"{one}/approve",
                "Approve what it offers",
                self._approve,
                Approved,
                body=Approval,
                tag=tag,
                errors=(412, 500),
            ),
        ]

    async def _verify(self, call: Call) -> VerificationResult:
        found = await self._checks.verify(call.path["alias"], call.body.seconds)
        offers, peer = found.offers, found.peer
        return VerificationResult(
            server=found.name,
            verified_at=found.verified_at,
            era=peer.era,
            protocol=peer.version,
            server_name=peer.name,
            server_version=peer.release,
            first_answer_ms=found.first_answer_ms,
            schema_tokens=found.tokens,
            tools=[offer.key for offer in offers.tools],
            prompts=[offer.key for offer in offers.prompts],
            resources=[offer.key for offer in offers.resources],
            templates=[offer.key for offer in offers.templates],
            changes=_plain(found.changes),
        )

    async def _changes(self, call: Call) -> Waiting:
        found = self._checks.changes(call.path["alias"])
        return Waiting(
            server=found.alias,
            hash=found.mark,
            launch=found.launch,
            held=sorted(found.held.tools),
            held_also=held_also(found.held),
            new=sorted(key for kind, key in found.pinned.unseen if kind == "tools"),
            any_text=[HeldPart(*part) for part in sorted(found.pinned.loose)],
            changes=_plain(found.changes, found.held),
        )

    async def _approve(self, call: Call) -> Approved:
        asked: Approval = call.body
        alias = call.path["alias"]
        try:
            approved = self._checks.approve(
                alias, asked.parts(), asked.hash, any_text=asked.any_text
            )
        except MovedOnError as error:
            raise ConflictError(str(error), error.hint) from error
        return Approved(alias, [spell(part) for part in approved])


def _plain(changes: tuple[Change, ...], held: Held = NOTHING_HELD) -> list[PartDifference]:
    return [
        PartDifference(
            *change.part,
            change.kind,
            change.part in held.parts,
            change.part in held.restless,
            [
                FieldDifference(each.path, each.before, each.after, list(each.lines))
                for each in change.fields
            ],
        )
        for change in changes
    ]
