"""Questions and orders about members and admissions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from toolyard.core.caller import OWN_PATHS, Role
from toolyard.core.profiles import unknown_profile
from toolyard.core.tiers import Tier
from toolyard.features.members.declaring import declare_member
from toolyard.features.members.directory import MemberDirectory, follow_records
from toolyard.features.members.invitations import find_accounts, invite_member, reset_member
from toolyard.features.members.model import (
    MOST_ALLOWED,
    Admission,
    GroupName,
    Member,
    admitted_profiles,
    check_admission,
)
from toolyard.features.members.seeing import (
    AdmissionRow,
    admission_row,
    explain_to_keeper,
    resolve_member,
)
from toolyard.features.members.store import AdmissionRecords, MemberRecords, present, readable
from toolyard.operation import Done, Needs, NoInput, operation
from toolyard.records.protocol import amend
from toolyard.yard import Yard

__all__ = [
    "declare_member",
    "explain_to_keeper",
    "invite_member",
    "reset_member",
    "resolve_member",
]
"""Operations of the feature that stand elsewhere."""

MEMBERS = "/api/v1/members"
MEMBER = "/api/v1/members/{name:path}"
ADMISSIONS = "/api/v1/admissions"
ADMISSION = "/api/v1/admissions/{group:path}"
SELF = f"{OWN_PATHS}self"


class MemberRow(Struct, frozen=True):
    """A member: what the issuer told of them, and what they may do."""

    key: str
    subject: str
    email: str
    name: str
    groups: list[str]
    role: Role
    disabled: bool
    profiles: list[str]
    """The profiles that they are admitted to."""
    last_used: str
    """The hour of their last call; empty if there was none."""


class MemberList(Struct, frozen=True):
    """Every member."""

    members: list[MemberRow]


class MemberName(Struct, frozen=True):
    """The member who is meant: an email address, a subject or a key."""

    name: str


class ChangeMember(Struct, frozen=True, forbid_unknown_fields=True):
    """A member, and what is to be another; the rest stays."""

    name: str
    role: Role | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET
    groups: list[GroupName] | UnsetType = UNSET
    """Only of those who log in with the hub itself; an issuer says those of others."""


class AdmissionList(Struct, frozen=True):
    """Every admission."""

    admissions: list[AdmissionRow]


class PutAdmission(Struct, frozen=True, forbid_unknown_fields=True):
    """The profiles that a group gets, and limits; `*` is everybody who logs in."""

    group: GroupName
    profiles: list[str]
    tier: Tier = Tier.DESTROY
    instances: Annotated[int, Meta(ge=0, le=MOST_ALLOWED)] = 0
    sessions: Annotated[int, Meta(ge=0, le=MOST_ALLOWED)] = 0


class GroupOrder(Struct, frozen=True):
    """The group that is meant."""

    group: str


@operation("GET", MEMBERS, needs=Needs.FILES)
async def list_members(yard: Yard, order: NoInput) -> MemberList:
    """All members: the people who have come in by their own name."""
    kept = await asyncio.to_thread(lambda: readable(yard.part(MemberRecords).read()))
    admissions = await _admissions(yard)
    members = sorted(present(kept.values.values()), key=lambda m: (m.email or m.subject, m.key))
    return MemberList([_row(member, admissions) for member in members])


@operation("GET", MEMBER, needs=Needs.FILES, errors=(422,))
async def get_member(yard: Yard, order: MemberName) -> MemberRow:
    """One member."""
    member = await asyncio.to_thread(yard.part(MemberRecords).find, order.name)
    return _row(member, await _admissions(yard))


@operation("PUT", MEMBER, needs=Needs.FILES, errors=(409,))
async def set_member(yard: Yard, order: ChangeMember) -> MemberRow:
    """Change the role of a member, or disable them; what a disabled one has opened ends."""
    changes: dict[str, object] = {
        name: value
        for name, value in (("role", order.role), ("disabled", order.disabled))
        if value is not UNSET
    }
    if order.groups is not UNSET:
        from toolyard.features.members.accounts import check_groups

        account = await asyncio.to_thread(find_accounts(yard).find, order.name)
        changes |= {"groups": check_groups(order.groups), "issued_at": time.time()}
        order = ChangeMember(account.email)
    member = await _change(yard, order.name, changes)
    return _row(member, await _admissions(yard))


@operation("DELETE", MEMBER, needs=Needs.FILES, errors=(422,))
async def remove_member(yard: Yard, order: MemberName) -> Done:
    """Remove a member; what they have opened ends, and their tokens until now are worthless."""
    await _change(yard, order.name, {"removed_at": time.time(), "role": Role.MEMBER})
    return Done()


@operation("GET", SELF, role=Role.MEMBER, errors=(404,))
async def get_self(yard: Yard, order: NoInput) -> MemberRow:
    """The member who asks."""
    key = yard.own_member()
    member = yard.part(MemberDirectory).get(key)  # who came in a moment ago is not written down yet
    if member is None:
        member = await asyncio.to_thread(yard.part(MemberRecords).find, key)
    return _row(member, await _admissions(yard))


@operation("GET", ADMISSIONS, needs=Needs.FILES)
async def list_admissions(yard: Yard, order: NoInput) -> AdmissionList:
    """All admissions."""
    admissions = sorted(await _admissions(yard), key=lambda admission: admission.group)
    return AdmissionList([admission_row(admission) for admission in admissions])


@operation("PUT", ADMISSION, needs=Needs.FILES)
async def put_admission(yard: Yard, order: PutAdmission) -> AdmissionRow:
    """Admit a group to profiles, in place of those it was admitted to before."""
    limits = order.tier, order.instances, order.sessions
    admission = check_admission(Admission(order.group, tuple(order.profiles), *limits))
    for name in admission.profiles:
        if name not in yard.snapshot.profiles:
            raise unknown_profile(name, yard.snapshot.profiles)
    write = yard.part(AdmissionRecords).write
    await asyncio.to_thread(write, admission.group, admission, by=yard.caller)
    await follow_records(yard)
    return admission_row(admission)


@operation("DELETE", ADMISSION, needs=Needs.FILES)
async def remove_admission(yard: Yard, order: GroupOrder) -> Done:
    """Admit a group no longer; what its members have opened by that ends."""
    await asyncio.to_thread(yard.part(AdmissionRecords).remove, order.group, by=yard.caller)
    await follow_records(yard)
    return Done()


async def _change(yard: Yard, name: str, changes: Mapping[str, object]) -> Member:
    records = yard.part(MemberRecords)
    member = await asyncio.to_thread(records.find, name)

    def change(kept: Member | None) -> Member:
        return msgspec.structs.replace(kept or member, **changes)

    await asyncio.to_thread(amend, records, member.key, change, by=yard.caller)
    await follow_records(yard)
    return change(member)


async def _admissions(yard: Yard) -> list[Admission]:
    kept = await asyncio.to_thread(yard.part(AdmissionRecords).read)
    return list(kept.values.values())


def _row(member: Member, admissions: list[Admission]) -> MemberRow:
    last_used = ""
    if member.used_at:
        last_used = datetime.fromtimestamp(member.used_at, UTC).isoformat(timespec="seconds")
    return MemberRow(
        member.key,
        member.subject,
        member.email,
        member.name,
        list(member.groups),
        member.role,
        member.disabled,
        list(admitted_profiles(member.groups, admissions)),
        last_used,
    )
