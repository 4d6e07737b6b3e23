"""Documents applied without a hub: planned as a whole, then carried out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from tests.features.transfer.yards import WHOLE, Json, named, yard_in
from toolyard.core.errors import ConflictError
from toolyard.core.fields import FaultsError

SECRET = "ghp_notarealtoken000000"
OWN = {"tools": ["git"], "type": "validation", "phase": "request"}
PROGRAM = {**OWN, "program": ["check-calls"]}
ENDPOINT = {**OWN, "url": "https://scrub.example.com/"}
GIT = {"command": "git-mcp", "env": {"GITHUB_TOKEN": SECRET, "LEVEL": "1"}}


def document(**sections: Json) -> Json:
    return {"version": 1, **sections}


def test_a_dry_run_says_what_would_change_and_changes_nothing(home: Path) -> None:
    yard = yard_in(home)
    before = yard.version
    applied = yard.apply(WHOLE, dry_run=True)
    assert applied.dry_run and not any(change.done for change in applied.changes)
    assert named(applied) == [
        "added approvals/git@configured",
        "added approvals/shop@catalog",
        "added executors/box",
        "added marks/git@configured",
        "added rules/pushes",
        "added limits/fair",
        "added interceptors/check",
        "added interceptors/no-leaks",
        "added interceptors/scrub",
        "added interceptors/tenant",
        "added definitions/shop",
        "added catalog/shop",
        "added servers/git",
        "added servers/web",
        "added apps/demo",
        "added quirks/cursor",
        "added profiles/review",
        "added agents/mine",
        "added policies/docker",
        "added lists/codex",
        "added lists/mine",
        "added overrides/codex/box",
        "added admissions/*",
        "added admissions/team/developers",
        "added members/https://login.example.com#ann",
        "added members/https://login.example.com#eve",
    ]
    assert yard.version == before


def test_it_says_what_would_be_started(home: Path) -> None:
    applied = yard_in(home).apply(WHOLE, dry_run=True)
    starts = {f"{change.section}/{change.name}": change.starts for change in applied.changes}
    assert {name: lines for name, lines in starts.items() if lines} == {
        "approvals/git@configured": ["git-mcp -p 1.10"],
        "approvals/shop@catalog": ["shop-mcp"],
        "interceptors/check": ["check-calls --strict"],
        "interceptors/scrub": ["https://scrub.example.com/"],
        "definitions/shop": ["shop-mcp"],
        "catalog/shop": ["shop-mcp"],
        "servers/git": ["git-mcp -p 1.10"],
        "servers/web": ["http://127.0.0.1:9/mcp"],
        "lists/mine": ["own: own x"],
    }


def test_it_says_whose_servers_change_for_every_agent_and_executor(home: Path) -> None:
    yard = yard_in(home)
    yard.apply(WHOLE)
    servers = {**WHOLE["servers"], "git": {"command": "git-mcp-2"}}
    policies = {"docker": {"deny": ["git"]}}
    applied = yard.apply(document(servers=servers, policies=policies), dry_run=True)
    changes = {
        (plan.agent, plan.executor): (plan.gained, plan.lost, plan.changed)
        for plan in applied.plans
    }
    assert changes["codex", "local"] == ([], [], ["git"])
    assert changes["codex", "docker"] == ([], ["git"], [])
    assert ("codex", "box") not in changes  # it is left out there, before and after
    assert "mine" not in {agent for agent, _ in changes}


def test_a_second_time_changes_nothing(home: Path) -> None:
    yard = yard_in(home)
    assert all(change.done for change in yard.apply(WHOLE).changes)
    again = yard.apply(WHOLE)
    assert (again.changes, again.plans) == ([], [])


def test_a_record_becomes_what_the_document_says_and_nothing_else(home: Path) -> None:
    yard = yard_in(home)
    yard.apply(WHOLE)
    less = document(
        servers={"git": {"command": "git-mcp"}},
        catalog={"shop": {"enabled": False}},
        profiles={"review": {"allow": ["web"]}},
        lists={"mine": {"enabled": False, "servers": {}}},
        quirks={"cursor": {"longest_name": 50}},
    )
    applied = yard.apply(less)
    members = {f"{change.section}/{change.name}": change.members for change in applied.changes}
    assert members == {
        "servers/git": ["args", "env"],
        "catalog/shop": ["enabled", "values"],
        "profiles/review": ["allow", "hide"],
        "lists/mine": ["enabled", "servers", "meta"],
        "quirks/cursor": ["most_tools", "longest_name"],
    }
    exported = yard.export()
    assert exported["servers"] == {**WHOLE["servers"], "git": {"command": "git-mcp"}}
    assert exported["catalog"] == {"shop": {"enabled": False}}
    assert exported["quirks"] == {"cursor": {"longest_name": 50}}
    assert exported["lists"] == {"codex": WHOLE["lists"]["codex"]}


def test_sections_that_are_left_out_are_left_alone(home: Path) -> None:
    yard = yard_in(home)
    yard.apply(WHOLE)
    applied = yard.apply(document(profiles={}, approvals={}), prune=True)
    assert named(applied) == ["removed profiles/review"]
    assert yard.export() == {**WHOLE, "profiles": {}}


def test_approvals_are_only_ever_added(home: Path) -> None:
    yard = yard_in(home)
    yard.apply(WHOLE)
    buy = {"name": "buy", "description": "Buys."}
    more = {"git@configured": {"tools": {"buy": buy}}}
    assert named(yard.apply(document(approvals=more), prune=True)) == [
        "changed approvals/git@configured"
    ]
    approved = yard.export()["approvals"]["git@configured"]
    assert approved["tools"] == {"buy": buy, **WHOLE["approvals"]["git@configured"]["tools"]}
    assert approved["launch"] and approved["instructions"] == "Be kind."


def test_every_fault_is_named_and_nothing_is_done(home: Path) -> None:
    yard = yard_in(home)
    before = yard.version
    broken = document(
        servers={"bad name": {"command": "x"}, "typo": {"comand": "x"}, "ok": {"command": "x"}},
        profiles={"p": {"alow": []}, "q": 5},
        policies={"docker": {"allow_stdio": "no"}},
        overrides={"codex": {}},
        executors={"docker": {"type": "docker"}},
        quirks=cast("Any", None),
        approvals={"ok": {}, "ok@configured": {"tool": {}}},
        secrets={},
    )
    with pytest.raises(FaultsError) as refusal:
        yard.apply(broken)
    texts = [str(fault) for fault in refusal.value.faults]
    assert all(fault.hint for fault in refusal.value.faults)
    for words in (
        "there is no 'secrets' in a document",
        "server 'bad name': 'bad name' cannot name a server",
        "server 'typo': there is no 'comand' in a server",
        "profile 'p': there is no 'alow' in a profile",
        "'q' in 'profiles' is not an object",
        "'quirks' is not an object of at most 10000 records",
        "policy 'docker': 'allow_stdio' is neither true nor false",
        "override 'codex': it names no agent and executor",
        "executor 'docker': 'docker' is the name of a kind of executor",
        "approvals of 'ok': it does not name a server in full",
        "approvals of 'ok@configured': Object contains unknown field `tool`",
    ):
        assert words in texts, texts
    assert yard.version == before


def test_what_a_document_names_must_be_there_or_in_it(home: Path) -> None:
    yard = yard_in(home)
    strangers = document(
        catalog={"nowhere": {"enabled": True}},
        lists={"nobody": {"enabled": True, "servers": {}}},
        overrides={"codex/moon": {}},
        policies={"mars": {}},
        approvals={"gone@configured": {"launch": True}},
    )
    with pytest.raises(FaultsError) as refusal:
        yard.apply(strangers)
    assert [str(fault) for fault in refusal.value.faults] == [
        "approvals of 'gone@configured': there is no such server",
        "catalog server 'nowhere': the catalog has no definition of it",
        "list 'nobody': unknown agent 'nobody'",
        "override 'codex/moon': unknown executor 'moon'",
        "policy 'mars': unknown executor 'mars'",
    ]


@pytest.mark.parametrize("plain", [None, [], {}, {"version": 2}, {"version": "1"}])
def test_a_document_of_another_kind_is_refused(home: Path, plain: object) -> None:
    with pytest.raises(FaultsError):
        yard_in(home).apply(plain)


def test_a_list_that_could_not_be_saved_is_refused_before_anything_is_done(home: Path) -> None:
    yard = yard_in(home)
    before = yard.version
    own = {"command": "own", "mode": "shared"}
    lists = {"codex": {"enabled": True, "servers": {"own": own}}}
    with pytest.raises(FaultsError, match="list 'codex': server 'own'"):
        yard.apply(
            document(
                servers={"git": GIT},
                policies={"local": {"stdio_proxy": False}},
                lists=lists,
            )
        )
    assert yard.version == before


def test_who_decided_on_another_state_is_told(home: Path) -> None:
    yard = yard_in(home)
    seen = yard.version
    yard.apply(document(profiles={"other": {"allow": ["git"]}}))
    with pytest.raises(ConflictError, match="has changed since you looked"):
        yard.apply(WHOLE, seen)
    assert yard.apply(WHOLE, yard.version).failed is None


def test_a_secret_never_leaves_and_is_not_lost(home: Path) -> None:
    yard = yard_in(home)
    file = yard.settings.config_file
    notes = yard.apply(document(servers={"git": GIT})).notes
    assert len(notes) == 1 and "in plain text" in notes[0] and SECRET not in notes[0]
    exported = yard.export()
    assert SECRET not in json.dumps(exported)
    assert exported["servers"]["git"]["env"] == {
        "GITHUB_TOKEN": "${keyring:git-github-token}",
        "LEVEL": "1",
    }
    assert ["toolyard secret set git-github-token" in note for note in yard.notes()] == [True]
    assert yard.apply(exported).changes == []
    assert yard.apply(document(servers={"git": GIT})).changes == []
    exported["servers"]["git"]["env"]["LEVEL"] = "2"
    assert named(yard.apply(exported)) == ["changed servers/git"]
    env = json.loads(file.read_text())["mcpServers"]["git"]["env"]
    assert env == {"GITHUB_TOKEN": SECRET, "LEVEL": "2"}


def test_secrets_of_every_section_stay(home: Path) -> None:
    yard = yard_in(home)
    variables = [{"name": "SHOP_PIN", "secret": True}, {"name": "SHOP", "secret": False}]
    shop = {
        "name": "shop",
        "runtime": {"command": "shop-mcp", "env": {"API_KEY": "notarealkey-1"}},
        "authorization": {"type": "custom", "variables": variables},
    }
    own = {"command": "own", "args": ["--token", "notarealkey-2"]}
    web = {"url": "https://me:notarealkey-3@example.com/mcp"}
    yard.apply(
        document(
            servers={"web": web},
            definitions={"shop": shop},
            catalog={"shop": {"values": {"SHOP_PIN": "notarealkey-4", "SHOP": "here"}}},
            profiles={"p": {"environment": {"TOKEN": "notarealkey-5"}}},
            lists={"codex": {"enabled": True, "servers": {"own": own}}},
            policies={"docker": {"env_injection": {"PASSWORD": "notarealkey-6"}}},
            interceptors={
                "check": {**PROGRAM, "env": {"API_KEY": "notarealkey-7"}},
                "scrub": {**ENDPOINT, "headers": {"Authorization": "Bearer notarealkey-8"}},
            },
        )
    )
    exported = yard.export()
    assert "notarealkey" not in json.dumps(exported)
    assert exported["catalog"]["shop"]["values"] == {
        "SHOP_PIN": "${keyring:shop-pin}",
        "SHOP": "here",
    }
    assert exported["interceptors"]["scrub"]["headers"] == {
        "Authorization": "Bearer ${keyring:scrub-authorization}"
    }
    assert len(yard.notes()) == 8
    assert yard.apply(exported, prune=True).changes == []


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"tools": ["*"], "arguments": {"api_key": {"fix": "notarealkey-1"}}}, "api_key"),
        ({"tools": ["*"], "arguments": {"api_key": {"default": "notarealkey-1"}}}, "api_key"),
        ({**PROGRAM, "config": {"password": "notarealkey-1"}}, "password"),
    ],
)
def test_an_interceptor_with_a_secret_that_no_reference_can_replace_stays(
    home: Path, body: Json, name: str
) -> None:
    yard = yard_in(home)
    both = document(interceptors={"own": body, "scrub": ENDPOINT})
    yard.apply(both)
    exported = yard.export()
    assert exported["interceptors"] == {"scrub": ENDPOINT}
    (note,) = yard.notes()
    assert f"interceptor 'own' is left out: '{name}' holds a secret" in note
    assert "notarealkey" not in json.dumps(exported) + note
    file = yard.settings.config_file.parent / "interceptors.json"
    before = file.read_text()
    assert yard.apply(exported, prune=True).changes == yard.apply(both).changes == []
    assert file.read_text() == before


def test_a_server_whose_launch_waits_for_approval_is_left_out(home: Path) -> None:
    yard = yard_in(home)
    yard.apply(WHOLE)
    file = yard.settings.data_dir / "catalog" / "custom" / "shop.json"
    file.write_text(file.read_text().replace("shop-mcp", "evil-mcp"))
    exported = yard.export()
    assert "shop" not in exported["catalog"] and "shop@catalog" not in exported["approvals"]
    assert any("shop@catalog waits for approval" in note for note in yard.notes())


def test_records_that_cannot_be_read_are_left_out_and_stay(home: Path) -> None:
    yard = yard_in(home)
    yard.apply(WHOLE)
    profiles = yard.settings.config_file.parent / "profiles"
    (profiles / "broken.json").write_text("{")
    file = yard.settings.config_file
    servers = json.loads(file.read_text())["mcpServers"]
    servers |= {"bad": {"command": 5}, "web": {**servers["web"], "alwaysAllow": ["x"]}}
    file.write_text(json.dumps({"mcpServers": servers}))
    exported = yard.export()
    assert exported == WHOLE
    assert len(yard.notes()) == 3
    assert yard.apply(exported, prune=True).changes == []
    exported["servers"]["web"]["timeout"] = 4
    yard.apply(exported, prune=True)
    assert json.loads(file.read_text())["mcpServers"]["web"]["alwaysAllow"] == ["x"]
    assert (profiles / "broken.json").exists()
