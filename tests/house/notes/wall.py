"""The wall, and what it reports: each note is a problem that a person should read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from toolyard.core.model import Problem, Report
from toolyard.core.problems import ProblemCode
from toolyard.settings import Settings
from toolyard.yard import Yard


class Wall:
    """The notes, in a file of the user's."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.changed = asyncio.Event()

    def read(self) -> list[str]:
        """Return all notes."""
        return self._path.read_text().splitlines() if self._path.exists() else []

    def write(self, text: str) -> None:
        """Pin one more note."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text("".join(f"{line}\n" for line in [*self.read(), text]))
        self.changed.set()


class WallSource:
    """Reports what hangs on the wall."""

    name = "notes"

    def __init__(self, wall: Wall) -> None:
        self._wall = wall

    @property
    def report(self) -> Report:
        """Every note there is."""
        notes = (
            Problem(ProblemCode.SOURCE_FAILED, text, "read it", "notes")
            for text in self._wall.read()
        )
        return Report(self.name, problems=tuple(notes))

    async def run(self, post: Callable[[Report], None]) -> None:
        """Report whenever a note is pinned."""
        while True:
            post(self.report)
            self._wall.changed.clear()
            await self._wall.changed.wait()


def parts(yard: Yard) -> Iterable[object]:
    """The wall beside the servers file."""
    yield Wall(yard.part(Settings).config_file.parent / "notes.txt")


def sources(yard: Yard) -> Sequence[WallSource]:
    """The source of notes."""
    return [WallSource(yard.part(Wall))]
