"""Trust: verify servers, see what changed since it was approved, approve it, lock it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from toolyard.core.errors import ConflictError
from toolyard.core.pins import Change
from toolyard.hub.checks import Checks, MovedOnError
from toolyard.stores.locks import plain_lock
from toolyard.surfaces.control.api import Call, Operation

SECONDS_MOST: Final = 600.0


class Limit(msgspec.Struct):
    """How long a server gets to start, greet and list."""

    seconds: Annotated[float, Meta(gt=0, le=SECONDS_MOST)] = 60.0


class Approval(msgspec.Struct):
    """What to approve: these tools, or without any all of them and the launch."""

    tools: list[Annotated[str, Meta(min_length=1)]] = []
    hash: str = ""
    """The state that was looked at, as `changes` gave it; another one is refused."""


class FieldDifference(msgspec.Struct):
    """One field of a tool, with every invisible character spelled out."""

    path: str
    before: str
    after: str
    lines: list[str]


class ToolDifference(msgspec.Struct):
    """How one tool differs."""

    name: str
    kind: str
    fields: list[FieldDifference]


class Finding(msgspec.Struct):
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
    changes: list[ToolDifference]


class Waiting(msgspec.Struct):
    """How a server differs from what was approved, and what of it waits."""

    server: str
    hash: str
    launch: bool
    held: list[str]
    new: list[str]
    changes: list[ToolDifference]


class Approved(msgspec.Struct):
    """Which tools waited until now."""

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
                Finding,
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
            Operation(
                "GET",
                "/api/v1/lock",
                "The yard as a lock file has it",
                self._lock,
                dict[str, Any],
                tag=tag,
            ),
        ]

    async def _verify(self, call: Call) -> Finding:
        found = await self._checks.verify(call.path["alias"], call.body.seconds)
        offers, peer = found.offers, found.peer
        return Finding(
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
            held=list(found.held),
            new=list(found.fresh),
            changes=_plain(found.changes),
        )

    async def _approve(self, call: Call) -> Approved:
        asked: Approval = call.body
        alias = call.path["alias"]
        try:
            approved = self._checks.approve(alias, tuple(asked.tools), asked.hash)
        except MovedOnError as error:
            raise ConflictError(str(error), error.hint) from error
        return Approved(alias, list(approved))

    async def _lock(self, call: Call) -> dict[str, Any]:
        return plain_lock(await asyncio.to_thread(self._checks.lock))


def _plain(changes: tuple[Change, ...]) -> list[ToolDifference]:
    return [
        ToolDifference(
            change.name,
            change.kind,
            [
                FieldDifference(each.path, each.before, each.after, list(each.lines))
                for each in change.fields
            ],
        )
        for change in changes
    ]
