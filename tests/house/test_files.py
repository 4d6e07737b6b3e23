"""Nothing of the machine that made a file may be in it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable

import pytest

from tests.house.tree import PACKAGE, ROOT, shown, tracked

# Written so that no pattern matches its own source.
HOSTS = re.compile(
    r"py[p]i\.org|python[h]osted\.org|registry\.[n]pmjs|index[-_]url|find[-_]links[ =]"
    r"|https?://[\w.:-]+/(?:simple|packages)/"
)
PATHS = re.compile(r"(?<![\w.~$}/-])/(?:home|Users|root|work)/[\w.]")


def matches(pattern: re.Pattern[str], spell: Callable[[str], str] = str) -> list[str]:
    """Every place in a tracked file where the pattern is found, in this spelling of its text.

    Small letters take a tenth of the time of a pattern that ignores their case.
    """
    texts = {file: spell(file.read_text("utf-8", "replace")) for file in tracked()}
    return [
        f"{shown(file)}:{number}: {line.strip()[:80]}"
        for file, text in texts.items()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (HOSTS, "https://files.python" + "hosted.org/x"),
        (HOSTS, "--index" + "-url https://mirror.example/x"),
        (HOSTS, "http://127.0.0.1:3141/" + "simple/"),
        (PATHS, 'cd "/home' + '/ana/toolyard"'),
        (PATHS, "/root" + "/.cache"),
    ],
)
def test_the_patterns_find_what_they_are_for(pattern: re.Pattern[str], line: str) -> None:
    assert pattern.search(line)


def test_every_file_beside_the_code_comes_with_the_package() -> None:
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    patterns = setup["package-data"]["toolyard"]
    packaged = {file for pattern in patterns for file in PACKAGE.glob(pattern)}
    beside = {file for file in tracked() if PACKAGE in file.parents and file.suffix != ".py"}

    assert [shown(file) for file in sorted(beside - packaged)] == []


def test_no_file_names_a_package_index() -> None:
    assert matches(HOSTS, str.lower) == []


def test_no_file_holds_a_path_of_one_machine() -> None:
    assert matches(PATHS) == []
