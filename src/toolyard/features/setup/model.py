"""The plan of a setup and its outcome, as doors tell them; no secret is in either."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ServerAction = Literal["take", "present", "leave"]
SecretsPlace = Literal["keyring", "files", "database"]
ClientAction = Literal["connect", "none", "skip"]


class SetupSource(Struct, frozen=True):
    """One entry of a client's file."""

    client: str
    file: str
    name: str
    project: str = ""
    """The folder of the project that it is for; empty if it is for all."""


class UnkeptKey(Struct, frozen=True):
    """A key of an entry that has no place in the hub."""

    client: str
    key: str


class SetupServer(Struct, frozen=True):
    """A server of clients, and what becomes of it."""

    name: str
    """Its name in the hub."""
    action: ServerAction
    """`take` it into the hub, which has it not; it is `present` there; or `leave` it."""
    reason: str
    """Why it is left in the client's file; empty if it is not."""
    runs: list[str]
    """Its command, or its address, without secrets."""
    enabled: bool
    sources: list[SetupSource]
    secrets: list[str]
    """The names of the secrets that are taken out of its entry."""
    secrets_needed: list[str]
    """Secrets that an editor asks for, and that have to be stored."""
    not_kept: list[UnkeptKey]


class SetupClient(Struct, frozen=True):
    """A client on this machine, and what becomes of its file."""

    client: str
    title: str
    file: str
    action: ClientAction
    replaced: list[str]
    """The servers that leave its file for the hub."""
    stays: list[str]
    """The servers that stay in it."""
    profile: str
    """The profile that keeps what it had restricted; empty if it had nothing."""
    hides: list[str]
    """The patterns that this profile hides."""
    difference: str
    """The change of its file, without secrets."""
    problem: str
    hint: str


class SetupProblem(Struct, frozen=True):
    """Something that could not be read, and was left alone."""

    text: str
    hint: str


class SetupPlan(Struct, frozen=True):
    """All that a setup would do; nothing has been done."""

    id: str
    """Stands for exactly this plan: an order names it, and another plan is not carried out."""
    servers: list[SetupServer]
    clients: list[SetupClient]
    problems: list[SetupProblem]
    secrets_in: SecretsPlace
    """The place for secrets on this system."""

    @property
    def changes(self) -> bool:
        """True if there is anything to do."""
        is_new = any(server.action == "take" for server in self.servers)
        return is_new or any(client.action == "connect" for client in self.clients)


class SetupFailure(Struct, frozen=True):
    """A client whose file could not be changed."""

    client: str
    text: str
    hint: str


class SetupDone(Struct, frozen=True):
    """A setup that was carried out."""

    id: str
    """Names it, to undo it."""
    servers: list[str]
    """The servers that are new in the hub."""
    secrets: list[str]
    profiles: list[str]
    connected: list[str]
    failed: list[SetupFailure]


class SetupUndone(Struct, frozen=True):
    """A setup that was undone."""

    id: str
    restored: list[str]
    """The files that are as they were."""
