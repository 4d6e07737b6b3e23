"""The files of one run: there while the agent runs, and gone or put back afterwards.

What a killed run left in a project's file is put back by the next one. Of several runs in one
project the last puts back what was there before the first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from toolyard.core.errors import ToolyardError
from toolyard.features.clients.delivery import Delivery, Merge
from toolyard.features.clients.formats import remove
from toolyard.features.clients.known import BY_NAME
from toolyard.features.clients.places import Place, refuse_links
from toolyard.features.clients.plan import read_file
from toolyard.records.files import locked, write_atomic

NOTE: Final = "merged.json"
BEFORE: Final = "before"
UNREADABLE: Final = (OSError, ValueError, msgspec.MsgspecError)


class MergedFile(Struct, frozen=True, kw_only=True):
    """A project's file that holds the servers of a run, and the way back."""

    client: str
    base: str
    path: str
    existed: bool
    made_folder: bool
    names: list[str]
    after: str
    """The hash of what was written."""


@contextmanager
def run_folder(runs: Path, delivery: Delivery, id_: str) -> Iterator[tuple[Path, Delivery]]:
    """Write what a run is handed; leaving takes it away.

    Raises:
        ConfigError, StoreError: The project's file cannot be changed; nothing was.
    """
    folder = runs / id_
    folder.mkdir(parents=True, mode=0o700)
    runs.chmod(0o700)
    try:
        for name, data in delivery.files:
            write_atomic(folder / name, data)
        if delivery.merge is not None:
            _merge(folder, delivery.merge)
        yield folder, delivery.placed(folder)
    finally:
        put_back(folder)


def put_back_leftovers(runs: Path) -> list[str]:
    """Put back what runs left that were killed; give these runs."""
    folders = [folder for folder in sorted(runs.glob("*-*")) if not _is_alive(folder)]
    for folder in folders:
        put_back(folder)
    return [folder.name for folder in folders]


def put_back(folder: Path) -> str:
    """Undo what a run did, and forget it; give the project's file, if it changed one."""
    path = ""
    # Whatever is wrong with the file now, the agent has ended and its end is what counts.
    with suppress(*UNREADABLE, ToolyardError), locked(folder.parent / "runs"):
        note = _note(folder)
        path = note.path
        others = [other for other in folder.parent.glob("*-*") if _shares(other, folder, path)]
        if others:
            _hand_over(note, others[0])
        else:
            _restore(folder, note)
    shutil.rmtree(folder, ignore_errors=True)
    return path


def _merge(folder: Path, merge: Merge) -> None:
    place = merge.place
    refuse_links(place)
    with locked(folder.parent / "runs"):
        shared = [
            other for other in folder.parent.glob("*-*") if _shares(other, folder, str(place.path))
        ]
        now = read_file(place)
        after = merge.apply(now or b"")
        first = _note(shared[0]) if shared else None
        before = (shared[0] / BEFORE).read_bytes() if shared else now or b""
        note = MergedFile(
            client=place.client.name,
            base=str(place.base),
            path=str(place.path),
            existed=first.existed if first else now is not None,
            made_folder=first.made_folder if first else not place.path.parent.exists(),
            names=[name for name, _ in merge.entries],
            after=_mark(after),
        )
        # First how to put it back, then the change: killed in between, nothing is lost.
        write_atomic(folder / BEFORE, before)
        write_atomic(folder / NOTE, msgspec.json.encode(note))
        write_atomic(place.path, after)


def _restore(folder: Path, note: MergedFile) -> None:
    """As it was, byte for byte; where somebody changed it meanwhile, only our entries leave."""
    path = Path(note.path)
    place = Place(BY_NAME[note.client], Path(note.base), path)
    now = read_file(place)
    if now is None:
        return
    if _mark(now) != note.after:
        for name in note.names:
            now = remove(place.client.shape, now, name, place.keys)
        write_atomic(path, now)
    elif note.existed:
        write_atomic(path, (folder / BEFORE).read_bytes())
    else:
        path.unlink()
        if note.made_folder:
            path.parent.rmdir()


def _hand_over(note: MergedFile, other: Path) -> None:
    """Another run goes on in this project: it puts back ours as well."""
    theirs = _note(other)
    names = [*theirs.names, *(name for name in note.names if name not in theirs.names)]
    now = _mark(Path(note.path).read_bytes())
    after = now if now in (note.after, theirs.after) else theirs.after
    joined = msgspec.structs.replace(theirs, names=names, after=after)
    write_atomic(other / NOTE, msgspec.json.encode(joined))


def _note(folder: Path) -> MergedFile:
    return msgspec.json.decode((folder / NOTE).read_bytes(), type=MergedFile)


def _shares(other: Path, folder: Path, path: str) -> bool:
    """Return whether another run that goes on has its servers in that file."""
    if other == folder or not _is_alive(other):
        return False
    with suppress(*UNREADABLE):
        return _note(other).path == path
    return False


def _is_alive(folder: Path) -> bool:
    """Return whether the process of a run's folder still runs; its name begins with the pid."""
    try:
        os.kill(int(folder.name.partition("-")[0]), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OSError, OverflowError):
        return True
    return True


def _mark(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
