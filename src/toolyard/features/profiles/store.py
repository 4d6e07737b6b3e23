"""The records of profiles: a folder with one JSON file each, or rows of a shared database."""

from __future__ import annotations

from typing import Any

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.core.profiles import Profile, unknown_profile
from toolyard.features.profiles.model import plain_fields, read_profile
from toolyard.records.protocol import RecordKind


class ProfileCodec:
    """Reads and writes a profile; its key is its name."""

    def read(self, key: str, plain: Any) -> Profile:
        """Make a profile of plain data; raises like `read_profile`."""
        return read_profile(key, plain)

    def write(self, value: Profile) -> object:
        """Make plain data of a profile."""
        return plain_fields(value)

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that a file is no profile."""
        hint = error.hint or "correct or remove the file"
        text = f"'{where}' is no profile: {error}"
        return Problem(ProblemCode.PROFILE_FILE, text, hint, where)


class ProfileRecords(RecordKind[Profile]):
    """The profiles of the yard."""

    def remove(self, name: str, *, by: str = "") -> None:
        """Delete a profile.

        Raises:
            UnknownNameError: There is none of that name.
            StoreError: It cannot be deleted.
        """
        if name not in self.names():
            raise unknown_profile(name, self.names())
        self.write(name, None, by=by)
