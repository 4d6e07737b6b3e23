"""An order about somebody who may not have logged in yet: what they are to be once they do."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from toolyard.core.caller import Role
from toolyard.core.errors import ConfigError
from toolyard.features.members.directory import follow_records
from toolyard.features.members.model import LONGEST, Member
from toolyard.features.members.store import MemberRecords
from toolyard.operation import Done, Needs, operation
from toolyard.records.protocol import amend
from toolyard.settings import OWN
from toolyard.yard import Yard


class DeclareMember(Struct, frozen=True, forbid_unknown_fields=True):
    """A person whom an issuer knows by a subject, and what a keeper says of them."""

    issuer: Annotated[str, Meta(min_length=1, max_length=2000)]
    subject: Annotated[str, Meta(min_length=1, max_length=LONGEST)]
    role: Role = Role.MEMBER
    disabled: bool = False


@operation("POST", "/api/v1/members", needs=Needs.FILES)
async def declare_member(yard: Yard, order: DeclareMember) -> Done:
    """Set the role of a person of an issuer, or disable them, also before they first log in."""
    declared = check_declared(order)
    records, key = yard.part(MemberRecords), declared.key

    def change(kept: Member | None) -> Member:
        if kept is None or kept.removed_at:
            since = kept.removed_at if kept is not None else 0.0
            # No token from before a removal lets them in again.
            return msgspec.structs.replace(declared, since=since, issued_at=since)
        return msgspec.structs.replace(kept, role=declared.role, disabled=declared.disabled)

    await asyncio.to_thread(amend, records, key, change, by=yard.caller)
    await follow_records(yard)
    return Done()


def check_declared(order: DeclareMember) -> Member:
    """Return the member that is declared.

    Raises:
        ConfigError: Nobody could be that.
    """
    is_readable = order.issuer.isprintable() and order.subject.isprintable()
    if "#" in order.issuer or order.issuer == OWN or not is_readable:
        hint = "the issuer is an address as in its tokens; whoever logs in with the hub is invited"
        raise ConfigError(f"{order.issuer[:80]!r} is no issuer of others", hint)
    return Member(order.issuer, order.subject, role=order.role, disabled=order.disabled)
