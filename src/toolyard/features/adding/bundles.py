"""Bundles (MCPB): archives with a server in them, unpacked where only their own files can land.

A bundle comes from anywhere, so nothing in it is believed: names lead nowhere else, links and
devices are refused, and bytes are counted as they come, whatever the archive says of its size.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from toolyard.core.errors import ConfigError, StoreError
from toolyard.features.adding.model import usable_name

MANIFEST: Final = "manifest.json"
LARGEST: Final = 512 * 1024 * 1024
"""Bytes of a bundle; one with a whole runtime in it has 300 MB."""
MANIFEST_LARGEST: Final = 1024 * 1024
_CHUNK: Final = 1024 * 1024
_HINT: Final = "get the bundle again, from a place you trust"
_DAMAGED: Final = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    EOFError,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True)
class BundleBounds:
    """The most that one bundle may unpack to."""

    files: int = 50_000
    size: int = 2 * 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bundle:
    """An opened bundle: its file stays open, so that what was hashed is what is unpacked."""

    path: Path
    sha256: str
    manifest: bytes
    archive: zipfile.ZipFile

    @property
    def folder_name(self) -> str:
        """The name of the folder into which it is unpacked: another one for every content."""
        return f"{usable_name(self.path.stem)}-{self.sha256[:12]}"


@contextmanager
def open_bundle(path: Path) -> Iterator[Bundle]:
    """Open a bundle and read its manifest.

    Raises:
        ConfigError: It is no bundle.
    """
    with ExitStack() as stack:
        with _reading(path):
            file = stack.enter_context(path.open("rb"))
            sha256 = _hash(file, path)
            archive = stack.enter_context(zipfile.ZipFile(file))
            bundle = Bundle(path, sha256, _read_manifest(archive), archive)
        yield bundle


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say what is wrong with a bundle; whatever else goes wrong meanwhile is not its fault."""
    try:
        yield
    except _DAMAGED as error:
        raise ConfigError(f"'{path}' is damaged: {error}", _HINT) from error
    except OSError as error:
        raise ConfigError(f"cannot read '{path}': {error.strerror}", "check the path") from error


def unpack(bundle: Bundle, folder: Path, bounds: BundleBounds) -> None:
    """Unpack a bundle whole or not at all; one that is unpacked already is left as it is.

    Raises:
        ConfigError: Something in it is refused.
        StoreError: It cannot be written.
    """
    if folder.is_dir():
        return
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder.parent))
    try:
        _extract(bundle.archive, temporary, bounds)
        temporary.rename(folder)
    except _DAMAGED as error:
        raise ConfigError(f"'{bundle.path}' is damaged: {error}", _HINT) from error
    except OSError as error:
        raise StoreError(f"cannot unpack to '{folder}': {error.strerror}", "check it") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def make_executable(folder: Path, entry_point: str) -> None:
    """Let the file that a bundle names as its program be run."""
    program = folder / _safe(entry_point)
    if program.is_file():
        program.chmod(0o755)


def _hash(file: BinaryIO, path: Path) -> str:
    digest, size = hashlib.sha256(), 0
    while chunk := file.read(_CHUNK):
        size += len(chunk)
        if size > LARGEST:
            raise ConfigError(f"'{path}' is larger than {LARGEST} bytes", _HINT)
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()


def _read_manifest(archive: zipfile.ZipFile) -> bytes:
    try:
        with archive.open(MANIFEST) as member:
            data = member.read(MANIFEST_LARGEST + 1)
    except KeyError as error:
        raise ConfigError(f"the bundle has no {MANIFEST}", "name an .mcpb file") from error
    if len(data) > MANIFEST_LARGEST:
        raise ConfigError(f"its {MANIFEST} is larger than {MANIFEST_LARGEST} bytes", _HINT)
    return data


def _extract(archive: zipfile.ZipFile, folder: Path, bounds: BundleBounds) -> None:
    members = archive.infolist()
    if len(members) > bounds.files:
        raise ConfigError(f"the bundle has more than {bounds.files} files", _HINT)
    room = bounds.size
    for member in members:
        target = folder / _safe(member.filename)
        mode = member.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise ConfigError(f"{member.filename[:200]!r} in the bundle is no plain file", _HINT)
        if member.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        room -= _copy(archive, member, target, room)
        target.chmod(0o755 if mode & 0o111 else 0o644)


def _copy(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, room: int) -> int:
    """Write one file; return its size."""
    size = 0
    # A name that stands there twice would let the second file hide behind the first.
    with archive.open(member) as source, target.open("xb") as file:
        while chunk := source.read(_CHUNK):
            size += len(chunk)
            if size > room:
                raise ConfigError("the bundle unpacks to more than is allowed", _HINT)
            file.write(chunk)
    return size


def _safe(name: str) -> str:
    """Return a name that stays below the folder.

    Raises:
        ConfigError: It would lead out of it.
    """
    path = PurePosixPath(name)
    is_odd = "\\" in name or "\0" in name or ":" in name.split("/")[0]
    if not name or is_odd or path.is_absolute() or ".." in path.parts:
        raise ConfigError(f"{name[:200]!r} in the bundle leads out of its folder", _HINT)
    return os.path.join(*path.parts) if path.parts else "."
