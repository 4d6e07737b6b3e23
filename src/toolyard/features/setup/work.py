"""Carries out a setup: all of the yard's part or nothing, then one client after the other."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from toolyard.core.errors import ConfigError, ToolyardError
from toolyard.features.clients.connecting import Connecting
from toolyard.features.clients.journal import hash_of
from toolyard.features.profiles.store import ProfileRecords
from toolyard.features.secrets.store import Secrets
from toolyard.features.servers.store import ServersFile
from toolyard.features.setup.model import SetupDone, SetupFailure, SetupUndone
from toolyard.features.setup.planning import Planned
from toolyard.features.setup.store import SetupRecord, SetupRecords
from toolyard.records.files import read_bounded, write_atomic
from toolyard.settings import Settings
from toolyard.yard import Yard


class SetupWork:
    """Setups of one yard, carried out and undone; all of it blocks."""

    def __init__(self, yard: Yard, connecting: Connecting) -> None:
        self._connecting = connecting
        self._servers = yard.part(ServersFile)
        self._secrets = yard.part(Secrets)
        self._profiles = yard.part(ProfileRecords)
        self._records = SetupRecords(yard.part(Settings).state_dir)

    def carry_out(self, planned: Planned) -> SetupDone:
        """Take the servers into the yard, and connect the clients.

        One client that cannot be connected costs no other; trouble before that undoes everything.

        Raises:
            ToolyardError: The yard's part failed; everything is as it was.
        """
        record = self._announce(planned)
        try:
            self._fill_yard(planned, record)
        except BaseException:
            self.undo(record.id)
            raise
        connected, failed = self._connect(planned, record.id)
        return SetupDone(
            record.id, record.servers, record.secrets, record.profiles, connected, failed
        )

    def undo(self, id_: str) -> SetupUndone:
        """Restore the clients' files, then take what was added out of the yard.

        Raises:
            UnknownNameError: There is no such setup.
            ConfigError: A file cannot be restored; the yard keeps what that client needs.
        """
        record = self._records.read(id_)
        restored = self._restore_clients(record.id)
        self._empty_yard(record)
        self._records.forget(record.id)
        return SetupUndone(record.id, restored)

    def _announce(self, planned: Planned) -> SetupRecord:
        """Write down what will be added, before it is: a setup that is killed can be undone."""
        present, names = self._secrets.list(), self._profiles.names()
        new = [server for server in planned.servers if server.action == "take"]
        values = {name for server in new if server.moved for name in server.moved.values}
        profiles = [client.profile for client in planned.clients if client.profile]
        record = SetupRecord(
            id=uuid.uuid4().hex,
            servers=[server.name for server in new],
            secrets=sorted(values - present.keys()),
            profiles=[profile.name for profile in profiles if profile.name not in names],
            before=_read(self._servers.path),
        )
        self._records.write(record)
        return record

    def _fill_yard(self, planned: Planned, record: SetupRecord) -> None:
        moves = [(server, server.moved) for server in planned.servers if server.moved]
        values = {name: value for _, moved in moves for name, value in moved.values.items()}
        for name in record.secrets:
            self._secrets.keep(name, values[name])
        for server, moved in moves:
            bare = replace(server.server, endpoint=moved.endpoint)
            self._servers.put(server.name, bare.entry())
        after = hash_of(_read(self._servers.path))
        self._records.write(msgspec.structs.replace(record, after=after))
        for client in planned.clients:
            if client.profile and client.profile.name in record.profiles:
                self._profiles.write(client.profile.name, client.profile)

    def _connect(self, planned: Planned, batch: str) -> tuple[list[str], list[SetupFailure]]:
        connected: list[str] = []
        failed: list[SetupFailure] = []
        for client in planned.clients:
            name = client.state.client.name
            if client.change is None or not client.change.changes:
                continue
            try:
                self._connecting.connect(replace(client.change, batch=batch), client.options)
                connected.append(name)
            except ToolyardError as error:
                failed.append(SetupFailure(name, str(error), error.hint))
        return connected, failed

    def _restore_clients(self, batch: str) -> list[str]:
        changes = self._connecting.changes
        records = [
            record
            for record in changes.journal.records()
            if record.batch == batch and not record.undone
        ]
        failures: list[ToolyardError] = []
        for record in records:
            try:
                self._connecting.undo(*changes.plan_undo(record.id))
            except ToolyardError as error:
                failures.append(error)
        if failures:
            text = "; ".join(map(str, failures))
            raise ConfigError(f"{text}; the servers stay in the hub", failures[0].hint)
        return [record.path for record in records]

    def _empty_yard(self, record: SetupRecord) -> None:
        for name in record.profiles:
            with suppress(ToolyardError):  # somebody else removed it
                self._profiles.remove(name)
        self._restore_servers(record)
        for name in record.secrets:
            with suppress(ToolyardError):  # it was not stored any more
                self._secrets.remove(name)

    def _restore_servers(self, record: SetupRecord) -> None:
        """The servers file as it was; if somebody changed it since, without our servers."""
        path = Path(os.path.realpath(self._servers.path))
        now = _read(path)
        if not record.servers or now == record.before:
            return
        if hash_of(now) != record.after:
            for name in record.servers:
                with suppress(ToolyardError):  # it was not written, or is gone
                    self._servers.remove(name)
        elif record.before is None:
            path.unlink(missing_ok=True)
        else:
            write_atomic(path, record.before, keep_mode=True)


def _read(path: Path) -> bytes | None:
    try:
        return read_bounded(path)
    except FileNotFoundError:
        return None
