"""Admissions and members as sections of a document: what a keeper set, and nothing else.

A member of an issuer is called `issuer#subject`, and is there if they are a keeper or disabled: all
else comes with their logins. One who logs in with the hub itself is called by their email address.
Passwords, invitations, credentials and times are never there.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET

from toolyard.core.caller import Role
from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject
from toolyard.features.members.declaring import DeclareMember, check_declared, declare_member
from toolyard.features.members.invitations import InviteMember, invite_member
from toolyard.features.members.model import Admission, check_admission, read_fields
from toolyard.features.members.operations import (
    ChangeMember,
    GroupOrder,
    MemberName,
    PutAdmission,
    put_admission,
    remove_admission,
    remove_member,
    set_member,
)
from toolyard.features.members.store import AdmissionRecords, MemberRecords, present
from toolyard.features.transfer.sections import (
    DocumentSection,
    RecordWrite,
    SectionContents,
    left_out,
    refuse_unknown,
    usable,
)
from toolyard.records.places import RecordPlaces
from toolyard.settings import Settings
from toolyard.yard import Yard

_ADMISSION: Final = ("profiles", "tier", "instances", "sessions")
_OF_ISSUER: Final = ("role", "disabled")
_OF_HUB: Final = ("groups", "role", "disabled")
_USUAL: Final[JsonObject] = {"groups": [], "role": "member", "disabled": False}


# Admissions.


def _read_admissions(yard: Yard) -> SectionContents:
    records = yard.part(AdmissionRecords).read()
    bodies = {group: _admission_body(admission) for group, admission in usable(records).items()}
    return SectionContents(bodies, notes=left_out("admission of", records.troubles))


def _admission_body(admission: Admission) -> JsonObject:
    body: JsonObject = msgspec.to_builtins(admission)
    limits: JsonObject = {key: body[key] for key in _ADMISSION[1:] if key in body}
    return {"profiles": list(admission.profiles), **limits}


def _check_admission(name: str, body: JsonObject) -> JsonObject:
    refuse_unknown(body, _ADMISSION)
    return _admission_body(check_admission(read_fields({"group": name, **body}, Admission)))


async def _put_admission(yard: Yard, order: RecordWrite) -> object:
    admission = read_fields({"group": order.name, **order.body}, PutAdmission)
    return await put_admission.run(yard, admission)


async def _remove_admission(yard: Yard, name: str) -> object:
    return await remove_admission.run(yard, GroupOrder(name))


# Members.


def _read_members(yard: Yard) -> SectionContents:
    records = yard.part(MemberRecords).read()
    emails = _read_accounts(yard)
    bodies: dict[str, JsonObject] = {}
    for member in present(usable(records).values()):
        rights = _rights(member.role, disabled=member.disabled)
        if member.subject in emails:
            bodies[emails[member.subject]] = {"groups": list(member.groups), **rights}
        elif rights:
            bodies[member.key] = rights
    notes = left_out("member", records.troubles)
    return SectionContents(dict(sorted(bodies.items())), notes=notes)


def _read_accounts(yard: Yard) -> dict[str, str]:
    """The email addresses of those who log in with the hub itself, by their subjects."""
    from toolyard.features.members.accounts import open_accounts

    accounts = open_accounts(yard.part(RecordPlaces), yard.part(Settings).state_dir)
    return {account.subject: email for email, account in usable(accounts.read()).items()}


def _rights(role: Role, *, disabled: bool) -> JsonObject:
    """The part of a body that says what somebody may do, where that is not the usual."""
    said: JsonObject = {"role": role.value} if role is not Role.MEMBER else {}
    return {**said, **({"disabled": True} if disabled else {})}


def _check_member(name: str, body: JsonObject) -> JsonObject:
    if "#" not in name:
        refuse_unknown(body, _OF_HUB)
        return _check_invited(name, body)
    refuse_unknown(body, _OF_ISSUER)
    member = check_declared(_declared(name, body))
    rights = _rights(member.role, disabled=member.disabled)
    if not rights:
        hint = "make them a keeper, disable them, or leave them out: they come by logging in"
        raise ConfigError("it says nothing that a login does not", hint)
    return rights


def _check_invited(name: str, body: JsonObject) -> JsonObject:
    from toolyard.features.members.accounts import check_email, check_groups

    if check_email(name) != name:
        raise ConfigError("an email address stands there in lower case", f"write {name.lower()}")
    change = _change(name, body)
    groups = check_groups([] if change.groups is UNSET else change.groups)
    role = Role.MEMBER if change.role is UNSET else change.role
    return {"groups": list(groups), **_rights(role, disabled=change.disabled is True)}


def _declared(name: str, body: JsonObject) -> DeclareMember:
    issuer, _, subject = name.partition("#")
    return read_fields({**body, "issuer": issuer, "subject": subject}, DeclareMember)


def _change(name: str, body: JsonObject) -> ChangeMember:
    return read_fields({**body, "name": name}, ChangeMember)


async def _put_member(yard: Yard, order: RecordWrite) -> object:
    if "#" in order.name:
        return await declare_member.run(yard, _declared(order.name, order.body))
    wanted, before = {**_USUAL, **order.body}, {**_USUAL, **(order.before or {})}
    if order.before is None:
        invited = {"email": order.name, "role": wanted["role"], "groups": wanted["groups"]}
        await invite_member.run(yard, read_fields(invited, InviteMember))
        before = {**wanted, "disabled": False}
    changes = {key: value for key, value in wanted.items() if value != before[key]}
    return await set_member.run(yard, _change(order.name, changes)) if changes else None


async def _remove_member(yard: Yard, name: str) -> object:
    return await remove_member.run(yard, MemberName(name))


ADMISSIONS: Final = DocumentSection(
    "admissions",
    "admission of",
    _read_admissions,
    _check_admission,
    _put_admission,
    _remove_admission,
)
MEMBERS: Final = DocumentSection(
    "members", "member", _read_members, _check_member, _put_member, _remove_member
)
