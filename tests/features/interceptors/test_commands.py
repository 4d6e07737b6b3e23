"""The words of interceptors on the command line, without a hub."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from toolyard.command_line import run


def written(home: Path) -> Any:
    (path,) = home.rglob("interceptors.json")
    return json.loads(path.read_bytes())


def test_one_is_added_listed_and_removed(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["add", "tenant", "-t", "crm", "--fix", "tenant_id=acme", "--fix", "read_only=true"]
    assert run(["interceptor", *words, "--rename", "q=query", "--override"]) == 0
    rules = written(home)["tenant"]["arguments"]
    assert rules["tenant_id"] == {"fix": "acme", "sent": "override"}
    assert rules["read_only"]["fix"] is True and rules["q"]["rename"] == "query"
    assert run(["interceptor", "add", "no-leaks", "-t", "*", "--mask", "email,card"]) == 0
    assert written(home)["no-leaks"] == {"tools": ["*"], "mask": {"kinds": ["email", "card"]}}
    capfd.readouterr()
    assert run(["interceptor", "list", "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)["interceptors"]
    assert [(row["name"], row["work"]) for row in rows] == [
        ("tenant", "arguments"),
        ("no-leaks", "mask"),
    ]
    assert run(["interceptor", "remove", "tenant"]) == 0
    assert [*written(home)] == ["no-leaks"]
    assert run(["interceptor", "remove", "tenant"]) != 0


def test_a_program_is_written_with_its_whole_path(home: Path) -> None:
    words = ["--type", "validation", "--phase", "request", "--failure", "open", "--seconds", "2"]
    assert run(["interceptor", "add", "c", "-t", "git/*", *words, "--", "./check.py", "-v"]) == 0
    fields = written(home)["c"]
    assert fields["program"] == [os.path.abspath("check.py"), "-v"]
    assert (fields["failure"], fields["seconds"]) == ("open", 2.0)


@pytest.mark.parametrize(
    "words",
    [
        ["--mask", "emails"],
        ["--fix", "tenant"],
        [],
        ["--mask", "all", "--url", "http://x"],
        ["--", "program"],
    ],
)
def test_what_is_not_clear_is_not_written(home: Path, words: list[str]) -> None:
    assert run(["interceptor", "add", "x", "-t", "*", *words]) != 0
    assert not [*home.rglob("interceptors.json")]
