"""Files that hold one secret each: the user's own, and readable by nobody else."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final, Literal

from toolyard.core.errors import SecretError, StoreError
from toolyard.records.files import read_bounded

SECRET_BYTES: Final = 64 * 1024
"""A key or a certificate has a few thousand."""

SecretPlace = Literal["keyring", "file", "database"]


def read_secret_file(path: str) -> str:
    """Return the text of a file that is the user's alone, without the line end after it.

    Raises:
        SecretError: It cannot be read, or others can.
    """
    if not os.path.isabs(path):
        raise SecretError(
            f"'{path}' is not an absolute path", "write ${file:/...} or ${file:~/...}"
        )
    try:
        check_private(Path(path))
        raw = read_bounded(Path(path), SECRET_BYTES)
        return raw.decode().removesuffix("\n").removesuffix("\r")
    except FileNotFoundError:
        raise SecretError(
            f"there is no file '{path}'", f"write it: toolyard secret set NAME --file {path}"
        ) from None
    except UnicodeDecodeError:
        raise SecretError(f"'{path}' is no text", "name a file that holds the secret") from None
    except StoreError as error:
        raise SecretError(str(error), error.hint) from error


def check_private(path: Path) -> None:
    """Check that a file is the user's, and that nobody else can read or change it.

    Raises:
        FileNotFoundError: There is no such file.
        SecretError: Others can.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SecretError(f"cannot read '{path}': {error.strerror}", "check the path") from error
    if status.st_uid != os.geteuid():
        raise SecretError(f"'{path}' belongs to another user", "use a file of your own")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise SecretError(f"others may read or change '{path}'", f"run: chmod 600 {path}")
