"""The folder of a bundle goes with the last server that was added from it, and not before."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Toolyard
from tests.control.company import send
from tests.doors.doors import open_doors
from toolyard.console.exits import Exit

MANIFEST = {
    "name": "sky",
    "version": "1",
    "server": {"mcp_config": {"command": "sh", "args": ["${__dirname}/run.sh"]}},
}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "sky.mcpb"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(MANIFEST))
        archive.writestr("run.sh", "exit 1")
    return path


@pytest.fixture
def added(bundle: Path, toolyard: Toolyard, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script of a bundle whose server, switched off, is in the file of a hub to come."""
    monkeypatch.setenv("TOOLYARD_HOME", str(home))
    assert toolyard("add", str(bundle), "--yes", "--disabled").code == 0
    (script,) = home.rglob("run.sh")
    return script


def unpacked(home: Path) -> list[str]:
    return [path.name for folder in home.rglob("bundles") for path in folder.iterdir()]


def test_the_folder_of_a_bundle_goes_with_its_last_server(
    toolyard: Toolyard, home: Path, bundle: Path
) -> None:
    assert toolyard("add", "one", str(bundle), "--yes").code == 0
    assert toolyard("add", "two", str(bundle), "--yes").code == 0
    assert toolyard("remove", "one").code == 0
    assert list(home.rglob("run.sh"))

    assert toolyard("remove", "two").code == 0

    assert unpacked(home) == []
    assert toolyard("add", str(bundle), "--yes").code == 0
    assert list(home.rglob("run.sh"))


def test_a_bundle_stays_for_the_servers_of_another_file(
    toolyard: Toolyard, home: Path, bundle: Path
) -> None:
    other = str(home / "other.json")
    assert toolyard("add", "one", str(bundle), "--yes").code == 0
    assert toolyard("add", "one", str(bundle), "--yes", "--config", other).code == 0

    assert toolyard("remove", "one").code == 0
    assert list(home.rglob("run.sh"))

    assert toolyard("remove", "one", "--config", other).code == 0
    assert unpacked(home) == []


async def test_a_bundle_stays_as_long_as_a_hub_can_put_its_server_back(
    home: Path, added: Path
) -> None:
    written = (home / "servers.json").read_text()

    async with open_doors(home, written) as doors:
        assert (await send(doors, "DELETE", "/api/v1/servers/sky")).status == 200
        assert added.exists()
        assert (await send(doors, "POST", "/api/v1/servers/sky/restore")).status == 200
    async with open_doors(home, written) as doors:
        assert added.exists()
        assert (await send(doors, "DELETE", "/api/v1/servers/sky")).status == 200
    async with open_doors(home):
        assert unpacked(home) == []


@pytest.mark.parametrize("value", ["0", "11", "many", "nan", "inf", ""])
def test_a_number_that_the_bundle_does_not_take_is_refused(
    toolyard: Toolyard, home: Path, tmp_path: Path, value: str
) -> None:
    path = numbered(tmp_path, {"type": "number", "min": 1, "max": 10})

    done = toolyard("add", str(path), "--yes", "--value", f"count={value}")

    assert done.code == Exit.USAGE and "'count' must be a number from 1 to 10" in done.err
    assert unpacked(home) == []


@pytest.mark.parametrize(
    ("bounds", "value"),
    [({"min": 1, "max": 10}, "10"), ({"min": 0.5}, "7e3"), ({"max": 0}, "-1"), ({"min": "x"}, "1"),
     ({"min": 1}, "${COUNT}")],
)  # fmt: skip
def test_a_number_within_its_bounds_is_taken(
    toolyard: Toolyard, home: Path, tmp_path: Path, bounds: dict[str, object], value: str
) -> None:
    path = numbered(tmp_path, {"type": "number", **bounds})

    assert toolyard("add", str(path), "--yes", "--value", f"count={value}").code == 0


def numbered(folder: Path, count: dict[str, object]) -> Path:
    """A bundle that asks for a number."""
    server = {"mcp_config": {"command": "sh", "args": ["${user_config.count}"]}}
    path = folder / "count.mcpb"
    with zipfile.ZipFile(path, "w") as archive:
        manifest = {"name": "count", "server": server, "user_config": {"count": count}}
        archive.writestr("manifest.json", json.dumps(manifest))
    return path
