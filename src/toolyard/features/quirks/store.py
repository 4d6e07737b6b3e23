"""The records of client quirks: a small JSON document, or rows of a shared database."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.known_clients import FORMER_IDS
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.core.quirks import MOST_CLIENTS, ClientQuirk, read_quirk, unknown_quirk
from toolyard.records.document import DocumentFile, set_changed
from toolyard.records.edit import remove_member
from toolyard.records.jsonc import parse
from toolyard.records.protocol import ABSENT, RecordKind, amend

FILE: Final = "passports.json"
LARGEST: Final = 256 * 1024


class QuirkCodec:
    """Reads and writes what is set for a client; its key is the client's name."""

    def read(self, key: str, plain: Any) -> ClientQuirk:
        """Make a quirk of plain data; raises like `read_quirk`."""
        return read_quirk(key, plain)

    def write(self, value: ClientQuirk) -> dict[str, bool | int]:
        """Make plain data of a quirk."""
        return value.entries

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that an entry of the file, or all of it, cannot be used."""
        text = str(error) if where in str(error) else f"in '{where}': {error}"
        return Problem(
            ProblemCode.PASSPORTS_FILE, text, error.hint or "correct or remove the file", where
        )


class QuirkRecords(RecordKind[ClientQuirk]):
    """The quirks that are set for clients."""

    def put(self, quirk: ClientQuirk, *, by: str = "") -> None:
        """Set something for a client, beside what was set before.

        Raises:
            ConfigError: It cannot be used, or there are too many clients.
            StoreError: The file cannot be read or written.
        """
        present = self.read()
        if present.version(quirk.name) == ABSENT and len(present.versions) >= MOST_CLIENTS:
            raise ConfigError(f"there are {MOST_CLIENTS} clients already", "reset one first")

        def join(before: ClientQuirk | None) -> ClientQuirk:
            entries = before.entries if before is not None else {}
            return read_quirk(quirk.name, {**entries, **quirk.entries})

        amend(self, quirk.name, join, by=by)

    def remove(self, name: str, *, by: str = "") -> None:
        """Delete all that was set for a client.

        Raises:
            UnknownNameError: Nothing was.
            ConfigError, StoreError: The file cannot be read or written.
        """
        present = self.read()
        if present.failure is None and name not in present.versions:
            raise unknown_quirk(name, present.versions)
        self.write(name, None, by=by)


def rename_former(file: DocumentFile) -> None:
    """Put what stands under a former id of a client under the id it has now.

    Where both are there, the entries of the present id count. A file that cannot be read or
    written stays as it is; reading it says what is wrong.
    """
    with suppress(FileNotFoundError, ConfigError, StoreError):
        data = file.load()
        if any(f'"{former}"'.encode() in data for former in FORMER_IDS):
            file.change(_with_present_ids)


def _with_present_ids(data: bytes) -> bytes:
    root = parse(data).root
    plain = root.plain() if root is not None else None
    if not isinstance(plain, dict):
        return data
    for former, id_ in FORMER_IDS.items():
        theirs, ours = plain.get(former), plain.get(id_, {})
        if isinstance(theirs, dict) and isinstance(ours, dict):
            data = set_changed(data, [id_], plain.get(id_), {**theirs, **ours})
            data = remove_member(data, [former])
    return data
