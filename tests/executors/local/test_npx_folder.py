"""A folder that npx left half made is recognised by what npx says, and removed; nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolyard.core.model import Command
from toolyard.executors.local.npx_folder import clear, find_broken, is_in_use

STDERR = Path(__file__).parents[2] / "core" / "stderr"
HELLO = Command(("npx", "-y", "hello"), (("npm_config_cache", "/cache"),))
HASH = "9b71d224bd62f378"
"""The first digits of the SHA-512 of `hello`, by which npx names the folder."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of npx in an npm cache."""
    (tmp_path / "_cacache").mkdir()
    folder = tmp_path / "_npx" / HASH
    (folder / "node_modules" / "zod").mkdir(parents=True)
    (folder / "node_modules" / "zod" / "package.json").write_text("{")
    return folder


def find(*lines: str) -> Path | None:
    return find_broken(lines, HELLO, "/srv/ada")


def test_a_package_that_cannot_be_found_below_the_folder_gives_it_away() -> None:
    lines = (STDERR / "node-module.txt").read_text().splitlines()

    assert find(*lines) == Path("/srv/ada/.npm/_npx/15b07286cbcc3329")


@pytest.mark.parametrize(
    "lines",
    [
        ("Error: Cannot find module 'zod'", "Require stack:", "- /c/_npx/0123456789abcdef/x.js"),
        ("npm error code ENOTEMPTY", "npm error path /c/_npx/0123456789abcdef/node_modules/zod"),
        ("Error: Invalid package config /c/_npx/0123456789abcdef/node_modules/z/package.json.",),
    ],
)
def test_other_signs_of_half_a_package_are_known(lines: tuple[str, ...]) -> None:
    assert find(*lines) == Path("/c/_npx/0123456789abcdef")


def test_where_npx_names_no_path_its_folder_is_that_of_the_package() -> None:
    assert find("npm error could not determine executable to run") == Path("/cache/_npx", HASH)
    assert find("sh: 1: hello-server: not found") == Path("/cache/_npx", HASH)
    plain = Command(("uvx", "hello"))
    assert find_broken(("sh: 1: hello: not found",), plain, "/srv/ada") is None


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("all is well in /c/_npx/0123456789abcdef/node_modules",),
        ("Error: Cannot find module 'express'", "- /srv/tools/server.js"),
        ("Cannot find module '/srv/a.ts' imported from /c/_npx/0123456789abcdef/tsx/x.js",),
        ("Cannot find package 'zod' imported from /c/_npx/../../etc/x.js",),
        ("sh: 1: python3: not found",),
    ],
)
def test_what_is_wrong_elsewhere_is_no_sign(lines: tuple[str, ...]) -> None:
    assert find(*lines) is None


def test_a_broken_folder_is_removed_and_nothing_beside_it(folder: Path) -> None:
    other = folder.parent / "0123456789abcdef"
    other.mkdir()

    assert clear(folder)

    assert list(folder.parent.iterdir()) == [other]


def test_only_a_real_folder_directly_below_that_of_npx_is_removed(
    folder: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "letter").touch()
    linked = folder.parent / "0123456789abcdef"
    linked.symlink_to(precious)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "_cacache").mkdir()
    (tmp_path / "cache" / "_npx").symlink_to(folder.parent)

    assert not clear(linked)
    assert not clear(tmp_path / "cache" / "_npx" / HASH)
    assert not clear(folder / "node_modules")
    assert not clear(precious)
    assert not clear(folder.parent / "ffffffffffffffff")
    (tmp_path / "_cacache").rmdir()
    assert not clear(folder)

    assert (precious / "letter").exists() and (folder / "node_modules" / "zod").exists()


@pytest.mark.parametrize("where", ["", "node_modules", "node_modules/zod", "concurrency.lock"])
def test_a_folder_that_somebody_installs_into_is_in_use(folder: Path, where: str) -> None:
    (folder / "concurrency.lock").mkdir()
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (1, 1))
    assert not is_in_use(folder, 60)

    os.utime(folder / where)

    assert is_in_use(folder, 60)
