"""A bundle is shown, confirmed, unpacked within bounds, and runs like any command."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Toolyard
from tests.fixtures.keyrings import InMemory
from toolyard.console.exits import Exit
from toolyard.core.errors import ConfigError
from toolyard.features.adding.bundles import BundleBounds, open_bundle, unpack
from toolyard.features.adding.manifest import BundlePlace, read_manifest
from toolyard.features.servers.store import ServersFile

MANIFEST: dict[str, Any] = {
    "manifest_version": "0.3",
    "name": "weather station",
    "display_name": "Weather",
    "version": "1.2.0",
    "description": "Looks out of the window.",
    "author": {"name": "A. Person"},
    "server": {
        "type": "node",
        "entry_point": "server/index.js",
        "mcp_config": {
            "command": "node",
            "args": ["${__dirname}/server/index.js", "${user_config.folders}", "--at=${HOME}"],
            "env": {
                "KEY": "${user_config.key}",
                "UNIT": "${user_config.unit}",
                "PRICE": "${5}",
                "NOTE": "${user_config.note}",
            },
            "platform_overrides": {"darwin": {"command": "other"}},
        },
    },
    "user_config": {
        "key": {"type": "string", "title": "API key", "sensitive": True, "required": True},
        "unit": {"type": "string", "title": "Unit", "default": "metric"},
        "folders": {
            "type": "directory",
            "title": "Folders",
            "multiple": True,
            "default": ["${HOME}/Desktop", "${DOCUMENTS}"],
        },
        "note": {"type": "string", "title": "Note"},
    },
}


def make(path: Path, manifest: dict[str, Any] | None, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        if manifest is not None:
            archive.writestr("manifest.json", json.dumps(manifest))
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return make(tmp_path / "weather.mcpb", MANIFEST, **{"server/index.js": b"// runs"})


def written(home: Path) -> dict[str, Any]:
    file = ServersFile(home / "config" / "toolyard" / "servers.json")
    return {server.id.name: file.entry(server.id.name) for server in file.load().servers}


def bundles(home: Path) -> list[str]:
    folder = home / "data" / "toolyard" / "bundles"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_bundle_is_shown_before_anything_of_it_is_unpacked(
    toolyard: Toolyard, home: Path, bundle: Path
) -> None:
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()

    tried = toolyard("add", str(bundle), "--dry-run")

    assert tried.code == 0
    for text in (
        "weather-station 1.2.0",
        "A. Person",
        "out of the window",
        digest,
        "server/index.js",
    ):
        assert text in tried.out
    assert "needs the secret key: API key" in tried.out
    assert toolyard("add", str(bundle)).code == Exit.USAGE
    assert bundles(home) == [] and written(home) == {}


def test_a_bundle_is_unpacked_and_its_secret_is_kept(
    toolyard: Toolyard, home: Path, bundle: Path, a_keyring: InMemory
) -> None:
    a_keyring.set_password("toolyard", "mine", "fake-secret")
    words = ("--value", "key=${keyring:mine}", "--value", "folders=~/maps", "--yes")

    assert toolyard("add", "sky", str(bundle), *words).code == 0

    (folder, record) = [home / "data" / "toolyard" / "bundles" / name for name in bundles(home)]
    assert (folder / "server" / "index.js").read_text() == "// runs"
    assert (
        json.loads(record.read_text())["sha256"] == hashlib.sha256(bundle.read_bytes()).hexdigest()
    )
    assert written(home)["sky"] == {
        "command": "node",
        "args": [f"{folder}/server/index.js", f"{home}/maps", f"--at={home}"],
        "env": {"KEY": "${keyring:mine}", "UNIT": "metric", "PRICE": "$${5}"},
        "cwd": str(folder),
        "title": "Weather",
    }
    assert toolyard("add", "sky", str(bundle), *words).code == Exit.REFUSED


def test_a_value_that_is_missing_is_named_before_anything_is_written(
    toolyard: Toolyard, home: Path, bundle: Path
) -> None:
    done = toolyard("add", str(bundle), "--yes")

    assert done.code == Exit.USAGE and "--value key=" in done.err
    assert bundles(home) == [] and written(home) == {}


def test_the_program_of_a_binary_bundle_can_be_run(
    toolyard: Toolyard, home: Path, tmp_path: Path
) -> None:
    server = {
        "type": "binary",
        "entry_point": "bin/run",
        "mcp_config": {"command": "bin/run", "args": ["there"]},
    }
    script = b"#!/bin/sh\necho hello $1\n"
    path = make(tmp_path / "b.mcpb", {**MANIFEST, "server": server, "user_config": {}},
                **{"bin/run": script})  # fmt: skip

    assert toolyard("add", "b", str(path), "--yes").code == 0

    entry = written(home)["b"]
    run = subprocess.run(
        [entry["command"], *entry["args"]], cwd=entry["cwd"], capture_output=True, check=True
    )
    assert run.stdout == b"hello there\n"


def test_a_bundle_for_uv_is_run_by_uv(tmp_path: Path) -> None:
    raw = {**MANIFEST, "server": {"type": "uv", "entry_point": "src/server.py"}}
    place = BundlePlace(tmp_path, tmp_path, "linux")

    entry = read_manifest(json.dumps(raw).encode(), place).proposal.entry

    point = f"{tmp_path}/src/server.py"
    assert [entry["command"], *entry["args"]] == ["uv", "run", "--directory", str(tmp_path), point]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"compatibility": {"platforms": ["win32"]}}, "win32"),
        ({"server": {"type": "node"}}, "what to run"),
        ({"server": []}, "what to run"),
    ],
)
def test_a_manifest_that_cannot_be_used_here_is_refused(
    tmp_path: Path, change: dict[str, Any], text: str
) -> None:
    place = BundlePlace(tmp_path, tmp_path, "linux")

    with pytest.raises(ConfigError) as refusal:
        read_manifest(json.dumps({**MANIFEST, **change}).encode(), place)
    assert text in f"{refusal.value} {refusal.value.hint}"


def test_a_file_that_is_no_bundle_is_refused(toolyard: Toolyard, tmp_path: Path) -> None:
    (tmp_path / "a.mcpb").write_text("no archive")
    make(tmp_path / "b.mcpb", None, a=b"")

    assert toolyard("add", str(tmp_path / "a.mcpb"), "--dry-run").code == Exit.CONFIG
    assert "manifest.json" in toolyard("add", str(tmp_path / "b.mcpb"), "--dry-run").err
    assert toolyard("add", str(tmp_path / "c.mcpb"), "--dry-run").code == Exit.CONFIG


BOUNDS = BundleBounds(files=5, size=1000)


def try_unpacking(path: Path, folder: Path) -> str:
    with open_bundle(path) as bundle, pytest.raises(ConfigError) as refusal:
        unpack(bundle, folder, BOUNDS)
    assert list(folder.parent.iterdir()) == []
    return str(refusal.value)


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/etc/out", "..\\out", "C:/out"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.mcpb"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", "{}")
        # The writer would make the name harmless.
        info = zipfile.ZipInfo("placeholder")
        info.filename = name
        archive.writestr(info, b"x")

    assert "leads out" in try_unpacking(path, tmp_path / "bundles" / "x")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(tmp_path: Path, kind: int) -> None:
    path = make(tmp_path / "x.mcpb", MANIFEST)
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (kind | 0o777) << 16
        archive.writestr(info, "/etc/passwd")

    assert "no plain file" in try_unpacking(path, tmp_path / "bundles" / "x")


def test_bytes_and_files_are_counted_as_they_come(tmp_path: Path) -> None:
    large = make(tmp_path / "large.mcpb", {}, a=b"0" * 600, b=b"0" * 600)
    many = make(tmp_path / "many.mcpb", {}, **{f"f{number}": b"" for number in range(9)})

    assert "more than is allowed" in try_unpacking(large, tmp_path / "bundles" / "x")
    assert "more than 5 files" in try_unpacking(many, tmp_path / "bundles" / "y")


def test_what_is_unpacked_is_nobody_elses_business(
    toolyard: Toolyard, home: Path, bundle: Path
) -> None:
    words = ("--value", "key=${keyring:mine}", "--yes")
    assert toolyard("add", str(bundle), *words).code == 0

    folder = home / "data" / "toolyard" / "bundles"
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert not any(stat.S_IMODE(path.stat().st_mode) & 0o022 for path in folder.rglob("*"))
