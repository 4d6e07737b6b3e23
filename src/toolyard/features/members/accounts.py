"""Accounts: people who were invited to log in with the hub itself.

What is said of them as members is in their `Member`, as with those of any issuer. An account adds a
password and the invitation to set one, both as digests. All of it blocks.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from toolyard.core.caller import Role
from toolyard.core.errors import ConfigError, StoreError, TakenError, UnknownNameError
from toolyard.features.members.model import GROUPS, LONGEST, Member
from toolyard.features.members.passwords import digest_password, matches
from toolyard.features.members.store import MemberRecords, StructCodec
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import ABSENT, RecordKind, amend

INVITED_SECONDS: Final = 3 * 86400.0
"""The time for which an invitation is good."""
FREE_FAILURES: Final = 5
"""Wrong passwords after which an account begins to wait."""
WAIT_SECONDS: Final = 30.0
"""The first of these waits; each is twice the one before."""
LONGEST_WAIT: Final = 900.0
_EMAIL: Final = re.compile(r"[^@\s/#]{1,64}@[^@\s/#]{1,189}")
_SUBJECT_BYTES: Final = 10


class Account(Struct, frozen=True, omit_defaults=True):
    """A person's way to log in with the hub."""

    email: str
    """In lower case; it is the key."""
    subject: str
    """The person, for whom nobody else is ever taken: another account gets another one."""
    password: str = ""
    password_at: float = 0.0
    """The time the password was set or taken away: logins that are older have ended."""
    invitation: str = ""
    invited_until: float = 0.0
    failures: int = 0
    """Passwords that were tried since the last one that was right."""
    tried_at: float = 0.0

    def __repr__(self) -> str:
        return f"Account({self.email!r})"

    def waits_until(self) -> float:
        """The time until which no password is looked at."""
        beyond = self.failures - FREE_FAILURES
        if beyond < 0:
            return 0.0
        return self.tried_at + min(WAIT_SECONDS * (1 << min(beyond, 10)), LONGEST_WAIT)


class InviteLink(Struct, frozen=True):
    """A code by which one person sets their password, once."""

    email: str
    code: str
    until: float

    def __repr__(self) -> str:
        return f"InviteLink({self.email!r})"


class AccountRecords(RecordKind[Account]):
    """The accounts, by email address."""


def open_accounts(places: RecordPlaces, folder: Path) -> AccountRecords:
    """Open the records of accounts; as a file they are in this folder."""
    codec = StructCodec(Account, "nobody logs in with it")
    path = folder / "accounts.json"
    return AccountRecords(places.document("account", path, codec, top="accounts"))


class Accounts:
    """The people who log in with the hub itself."""

    def __init__(
        self,
        records: AccountRecords,
        members: MemberRecords,
        places: RecordPlaces,
        issuer: str,
        clock: Callable[[], float],
    ) -> None:
        self.issuer = issuer
        self._records, self._members, self._places = records, members, places
        self._clock = clock

    # Orders of a keeper.

    def invite(self, email: str, role: Role, groups: Iterable[str], *, by: str = "") -> InviteLink:
        """Make somebody a member who can log in once they have set a password.

        Raises:
            ConfigError: The email address, or a group, cannot be used.
            TakenError: They are a member already.
            StoreError: It cannot be written.
        """
        name, names = check_email(email), check_groups(groups)
        accounts = self._read()
        account = accounts.get(name)
        if account is not None and self.member(account) is not None:
            text = f"{name} has an account already"
            raise TakenError(text, f"make a new link with: toolyard member reset {name}")
        subject = secrets.token_hex(_SUBJECT_BYTES)
        link, invited = self._invite(Account(name, subject))
        self._records.write(name, invited, by=by)
        member = Member(self.issuer, subject, name, groups=names, role=role)
        member = msgspec.structs.replace(member, issued_at=self._clock())
        self._members.write(member.key, member, expect=ABSENT, by=by)
        return link

    def reset(self, name: str, *, by: str = "") -> InviteLink:
        """Take somebody's password away, and let them set another.

        Raises:
            UnknownNameError: They have no account.
            StoreError: It cannot be written.
        """
        account = self.find(name)
        blank = Account(account.email, account.subject, password_at=self._clock())
        link, invited = self._invite(blank)
        self._records.write(account.email, invited, by=by)
        return link

    # People.

    def accept(self, code: str, password: str) -> Account:
        """Set the password of whoever was invited with this code, which is used up.

        Raises:
            ConfigError: The password cannot be used.
            UnknownNameError: The code is not, or no longer, good.
            StoreError: It cannot be written.
        """
        account = self.invited(code)
        digest = digest_password(password)

        def change(present: Account | None) -> Account:
            # Of two who bring the same code, the second comes too late.
            if present is None or present.invitation != account.invitation:
                raise _no_invitation()
            return Account(
                present.email, present.subject, password=digest, password_at=self._clock()
            )

        amend(self._records, account.email, change)
        return account

    def invited(self, code: str) -> Account:
        """Return whoever was invited with a code.

        Raises:
            UnknownNameError: It is not, or no longer, good.
            StoreError: The accounts cannot be read.
        """
        digest = _digest(code)
        for account in self._read().values():
            is_good = account.invited_until > self._clock()
            if account.invitation == digest and is_good and self.member(account) is not None:
                return account
        raise _no_invitation()

    def check(self, email: str, password: str) -> Member | None:
        """Return the member whose password this is; None if it is nobody's, or not looked at.

        An attempt counts before its password is compared, so that many at once are not more.
        """
        account = self._read().get(email.strip().lower())
        if account is None or not self._count_attempt(account):
            matches(password, "")
            return None
        if not matches(password, account.password):
            return None
        amend(self._records, account.email, _forget_failures)
        return self.member(account)

    def find(self, name: str) -> Account:
        """Return the account of a member: by email address, subject or key.

        Raises:
            UnknownNameError: They have none.
            StoreError: The accounts cannot be read.
        """
        accounts = self._read()
        account = accounts.get(name.strip().lower())
        if account is None:
            subjects = {account.subject: account for account in accounts.values()}
            account = subjects.get(name.removeprefix(f"{self.issuer}#"))
        if account is None or self.member(account) is None:
            text = f"{name[:80]!r} has no account at this hub"
            raise UnknownNameError(text, "invite them with: toolyard member invite EMAIL")
        return account

    def of_subject(self, subject: str) -> Account | None:
        """Return the account of a person, if they have one."""
        accounts = self._read().values()
        return next((account for account in accounts if account.subject == subject), None)

    def member(self, account: Account) -> Member | None:
        """Return the member that an account is of; None if they were removed."""
        member = self._members.read().values.get(f"{self.issuer}#{account.subject}")
        return None if member is None or member.removed_at else member

    def _read(self) -> dict[str, Account]:
        """All accounts, as they are now at every replica."""
        self._places.refresh()
        kept = self._records.read()
        if kept.failure is not None:
            raise StoreError(kept.failure.text, kept.failure.hint)
        return kept.values

    def _invite(self, account: Account) -> tuple[InviteLink, Account]:
        code, until = secrets.token_urlsafe(32), self._clock() + INVITED_SECONDS
        invited = msgspec.structs.replace(account, invitation=_digest(code), invited_until=until)
        return InviteLink(account.email, code, until), invited

    def _count_attempt(self, account: Account) -> bool:
        """Count an attempt; False if the account waits."""
        waits = False

        def change(present: Account | None) -> Account:
            nonlocal waits
            present = present or account
            waits = self._clock() < present.waits_until()
            if waits:
                return present
            return msgspec.structs.replace(
                present, failures=present.failures + 1, tried_at=self._clock()
            )

        if self._clock() < account.waits_until():
            return False
        amend(self._records, account.email, change)
        return not waits


def check_email(email: str) -> str:
    """Return an email address as it is kept.

    Raises:
        ConfigError: It is none.
    """
    name = email.strip().lower()
    if not _EMAIL.fullmatch(name) or not name.isprintable():
        raise ConfigError(f"{email[:80]!r} is no email address", "write it like ann@example.com")
    return name


def check_groups(groups: Iterable[str]) -> tuple[str, ...]:
    """Return the groups of a member.

    Raises:
        ConfigError: One cannot be used.
    """
    names = tuple(sorted({*groups}))
    for group in names:
        if not 0 < len(group) <= LONGEST or not group.isprintable():
            raise ConfigError(f"{group[:80]!r} cannot name a group", "use visible characters")
    if len(names) > GROUPS:
        raise ConfigError(f"these are {len(names)} groups", f"name at most {GROUPS}")
    return names


def _forget_failures(account: Account | None) -> Account:
    assert account is not None
    return msgspec.structs.replace(account, failures=0, tried_at=0.0)


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


def _no_invitation() -> UnknownNameError:
    text = "this invitation was used already, or is too old"
    return UnknownNameError(text, "ask whoever invited you for a new one")
