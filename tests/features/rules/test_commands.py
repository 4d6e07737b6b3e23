"""`toolyard rule` writes, lists and removes rules, also without a hub."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Toolyard


def test_a_rule_is_written_listed_and_removed(toolyard: Toolyard, home: Path) -> None:
    words = ["--tool", "git/push", "--argument", "force:=true", "--argument", "to=main*"]
    done = toolyard("rule", "set", "force", *words, "--tier", "write", "--reason", "Shared.")
    assert (done.code, "wait for a yes" in done.out) == (0, True)
    rules = json.loads((home / "config" / "toolyard" / "rules.json").read_text())
    assert rules["force"] == {
        "tools": ["git/push"],
        "tier": "write",
        "arguments": [{"path": "force", "equals": True}, {"path": "to", "glob": "main*"}],
        "reason": "Shared.",
    }
    (row,) = toolyard("rule", "list", "--json").json["rules"]
    assert (row["name"], row["says"]) == ("force", "ask")
    assert "force:=true" in toolyard("rule", "list").out
    assert toolyard("rule", "remove", "force").code == 0
    assert "no rules yet" in toolyard("rule", "list").out
    assert toolyard("rule", "remove", "force").code == 4


def test_an_argument_that_is_no_test_is_refused(toolyard: Toolyard) -> None:
    for text in ("path", "=x", ":=1", "force:=yes"):
        assert toolyard("rule", "set", "r", "--argument", text).code == 2


def test_approve_wants_a_server_or_a_call(toolyard: Toolyard) -> None:
    assert toolyard("approve", "--refuse").code == 2
    assert toolyard("approve", "--instructions").code == 2
    assert toolyard("approve", "shop", "--call", "x").code == 2
