"""Rules, limits and interceptors are written over what was read, and over nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.control.company import send
from tests.doors.doors import NOBODY, Answer, Doors, Json, open_doors


class Kind(NamedTuple):
    """A kind of record, and two bodies that it may have."""

    name: str
    method: str
    first: Json
    second: Json

    @property
    def path(self) -> str:
        return f"/api/v1/{self.name}/own"

    async def write(self, doors: Doors, body: Json, **head: str) -> Answer:
        """Write the record; with `If_Match`, over a version of it."""
        if self.method == "PUT":
            return await send(doors, "PUT", self.path, body, **head)
        return await send(doors, "POST", f"/api/v1/{self.name}", {"name": "own", **body}, **head)

    async def version(self, doors: Doors) -> str:
        (row,) = (await doors.get(f"/api/v1/{self.name}"))[self.name]
        version: str = row["version"]
        return version


KINDS = [
    Kind("rules", "PUT", {"tools": ["a"]}, {"tools": ["b"]}),
    Kind("limits", "PUT", {"calls": 1}, {"calls": 2}),
    Kind("limits", "POST", {"calls": 1}, {"calls": 2}),
    Kind("interceptors", "PUT", {"tools": ["a"], "mask": {}}, {"tools": ["b"], "mask": {}}),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name}-{kind.method}")
async def test_what_somebody_else_wrote_meanwhile_stays(home: Path, kind: Kind) -> None:
    async with open_doors(home, NOBODY) as doors:
        new = {"If_Match": '"0"'}
        assert (await kind.write(doors, kind.first, **new)).status == 200
        taken = await kind.write(doors, kind.second, **new)
        assert taken.status == 412 and "somebody else changed 'own'" in taken.body.decode()
        read = {"If_Match": f'"{await kind.version(doors)}"'}
        assert (await kind.write(doors, kind.second)).status == 200
        theirs = await kind.version(doors)
        assert (await kind.write(doors, kind.first, **read)).status == 412
        assert (await send(doors, "DELETE", kind.path, **read)).status == 412
        assert await kind.version(doors) == theirs
        now = {"If_Match": f'"{theirs}"'}
        assert (await kind.write(doors, kind.first, **now)).status == 200
        assert (await send(doors, "DELETE", kind.path, **now)).status == 412
        again = {"If_Match": f'"{await kind.version(doors)}"'}
        assert (await send(doors, "DELETE", kind.path, **again)).status == 200
        assert (await doors.get(f"/api/v1/{kind.name}"))[kind.name] == []
