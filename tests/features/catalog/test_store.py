from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.features.catalog.bundled_catalog import BUNDLED, SCHEMA
from toolyard.features.catalog.model import DefinitionError, Verification
from toolyard.features.catalog.store import Catalog

SCHEMA_CHECK = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text("utf-8")))
TOOL = b'{"name":"t","inputSchema":{"type":"object","x":1E5},"y":1.0}'
SEEN = Verification(
    "2026-11-15T10:00:00Z",
    "2025-11-25",
    "legacy",
    "thing-server",
    "1.2.3",
    420,
    77,
    b'{"tools":{"listChanged":true}}',
    "Be kind.",
)


def text(name: str = "thing", **fields: Any) -> bytes:
    return json.dumps({"name": name, "runtime": {"command": "a"}} | fields).encode()


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "one.json").write_bytes(text("one", title="One"))
    (folder / "two.json").write_bytes(text("two"))
    return folder


@pytest.fixture
def catalog(tmp_path: Path, shipped: Path) -> Catalog:
    return Catalog(tmp_path / "catalog", shipped)


def test_what_we_ship_is_copied_once(catalog: Catalog) -> None:
    assert catalog.copy_bundled() == ("one", "two")
    assert catalog.copy_bundled() == ()

    shelf = catalog.load()
    assert list(shelf.definitions) == ["one", "two"]
    assert {each.folder for each in shelf.definitions.values()} == {"official"}
    assert (shelf.problems, dict(shelf.added)) == ((), {})


def test_a_file_that_only_we_changed_is_replaced_and_keeps_what_was_seen(
    catalog: Catalog, shipped: Path
) -> None:
    catalog.copy_bundled()
    catalog.record("one", SEEN, [TOOL])
    (shipped / "one.json").write_bytes(text("one", title="Uno"))

    assert catalog.copy_bundled() == ("one",)

    definition = catalog.load().get("one").definition
    assert definition.title == "Uno"
    assert definition.listed.tools[0].raw == TOOL
    assert definition.verification == SEEN


def test_a_file_that_the_user_edited_or_broke_is_kept(catalog: Catalog, shipped: Path) -> None:
    catalog.copy_bundled()
    one, two = (catalog.root / "official" / f"{name}.json" for name in ("one", "two"))
    one.write_bytes(text("one", title="Mine"))
    two.write_text("{ broken")
    for name in ("one", "two"):
        (shipped / f"{name}.json").write_bytes(text(name, title="Newer"))

    assert catalog.copy_bundled() == ()

    assert catalog.load().get("one").definition.title == "Mine"
    assert two.read_text() == "{ broken"


def test_a_missing_file_comes_back(catalog: Catalog) -> None:
    catalog.copy_bundled()
    (catalog.root / "official" / "one.json").unlink()

    assert catalog.copy_bundled() == ("one",)


def test_a_custom_definition_wins_until_it_is_removed(catalog: Catalog) -> None:
    catalog.copy_bundled()
    catalog.put(text("one", title="Mine", unknown={"kept": 1.0}), "one")
    assert catalog.load().get("one").definition.title == "Mine"
    assert json.loads(catalog.text("one"))["unknown"] == {"kept": 1.0}
    assert stat.S_IMODE(catalog.load().get("one").path.stat().st_mode) == 0o600

    catalog.remove("one")

    assert catalog.load().get("one").definition.title == "One"
    with pytest.raises(UnknownNameError):
        catalog.remove("one")


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "..", "a/../../evil"])
def test_no_name_leads_out_of_the_folder(catalog: Catalog, tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ConfigError):
        catalog.put(text(name))
    for order in (catalog.remove, catalog.drop, catalog.text, catalog.add):
        with pytest.raises(UnknownNameError):
            order(name)

    written = set(tmp_path.rglob("*")) - set(before)
    assert {path for path in written if "evil" in path.name} == set()


def test_one_bad_file_costs_that_file_alone(catalog: Catalog) -> None:
    catalog.copy_bundled()
    custom = catalog.root / "custom"
    custom.mkdir()
    (custom / "syntax.json").write_text('{\n  "name": oops\n}')
    (custom / "no-runtime.json").write_text('{"name": "x"}')
    (custom / "path.json").write_text('{"name": "../x", "runtime": {"command": "a"}}')
    (custom / "huge.json").write_bytes(text("huge", description="x" * 5_000_000))
    (custom / "a.json").write_bytes(text("twin"))
    (custom / "b.json").write_bytes(text("twin"))
    (custom / "comments.json").write_text(
        '{"name": "comments", // why not\n "runtime": {"command": "a",},}'
    )
    (custom / "twice.json").write_bytes(text("twice", tools=[{"name": "t"}, {"name": "t"}]))
    os.mkfifo(custom / "pipe.json")

    shelf = catalog.load()

    assert list(shelf.definitions) == ["comments", "one", "twice", "twin", "two"]
    said = {Path(p.subject.partition(":")[0]).name: (p.code, p.text) for p in shelf.problems}
    assert {name: code for name, (code, _) in said.items()} == {
        "syntax.json": "catalog-syntax",
        "no-runtime.json": "catalog-definition",
        "path.json": "catalog-definition",
        "huge.json": "catalog-unreadable",
        "b.json": "catalog-duplicate",
        "pipe.json": "catalog-unreadable",
        "twice.json": "catalog-offer",
    }
    assert "line 2" in said["syntax.json"][1]
    assert all(problem.hint for problem in shelf.problems)


def test_a_record_keeps_all_else_and_the_record_before(catalog: Catalog) -> None:
    custom = catalog.root / "custom"
    custom.mkdir(parents=True)
    file = custom / "thing.json"
    file.write_text(
        "{\n"
        "  // a comment\n"
        '  "name": "thing",\n'
        '  "runtime": {"command": "a"},\n'
        '  "tools": [{"name": "old"}],\n'
        '  "unknown": {"x": 1e3},\n'
        '  "metadata": {"author":"me","verified_at":"2026-01-01T00:00:00Z","schema_tokens":5}\n'
        "}\n"
    )

    definition = catalog.record("thing", SEEN, [TOOL], prompts=[], resources=[b'{"uri":"a:b"}'])

    written = file.read_text()
    assert "// a comment" in written
    assert '"unknown": {"x": 1e3}' in written
    assert '"author":"me"' in written
    assert TOOL.decode() in written
    assert catalog.load().get("thing").definition == definition
    assert definition.listed.tools[0].raw == TOOL
    assert definition.listed.resources[0].key == "a:b"
    seen = definition.verification
    assert seen is not None
    assert seen.previous == Verification("2026-01-01T00:00:00Z", schema_tokens=5)
    peer = seen.peer()
    assert peer is not None
    assert (peer.era, peer.version, peer.release) == ("legacy", "2025-11-25", "1.2.3")
    assert peer.capabilities == b'{"tools":{"listChanged":true}}'


def test_a_second_record_replaces_the_first(catalog: Catalog) -> None:
    catalog.put(text())
    catalog.record("thing", SEEN, [TOOL])
    later = Verification("2026-11-16T10:00:00Z", "2026-07-28", "modern")

    definition = catalog.record("thing", later, [b'{"name":"u"}'])

    assert [each.key for each in definition.listed.tools] == ["u"]
    assert definition.verification is not None
    assert definition.verification.server_name == ""
    assert definition.verification.previous is not None
    assert definition.verification.previous.verified_at == SEEN.verified_at
    assert definition.verification.previous.previous is None


@pytest.mark.parametrize(
    "tool", [b'{"name":"t","description":"' + b"x" * 5_000_000 + b'"}', b"{oops", b"["]
)
def test_a_record_that_cannot_be_kept_changes_nothing(catalog: Catalog, tool: bytes) -> None:
    catalog.put(text())
    before = catalog.text("thing")

    with pytest.raises(DefinitionError):
        catalog.record("thing", SEEN, [TOOL, tool])

    assert catalog.text("thing") == before


def test_a_loop_in_a_schema_is_kept_as_said_and_not_offered(catalog: Catalog) -> None:
    catalog.put(text())
    loop = b'{"name":"loop","inputSchema":{"$ref":"#"}}'

    definition = catalog.record("thing", SEEN, [TOOL, loop])

    assert [each.key for each in definition.listed.tools] == ["t"]
    assert loop in catalog.text("thing")
    assert [each.code for each in catalog.load().problems] == ["catalog-offer"]


def test_added_servers_keep_their_values(catalog: Catalog) -> None:
    catalog.copy_bundled()
    catalog.add("one", {"KEY": "secret", "A": "b"})
    catalog.add("one", {"A": "c"})
    catalog.set_enabled("one", False)

    added = catalog.load().added["one"]

    assert dict(added.values) == {"KEY": "secret", "A": "c"}
    assert not added.enabled
    assert "secret" not in repr(added)
    assert stat.S_IMODE((catalog.root / "added.json").stat().st_mode) == 0o600
    catalog.drop("one")
    assert dict(catalog.load().added) == {}


def test_trouble_with_added_servers_is_told(catalog: Catalog) -> None:
    catalog.copy_bundled()
    with pytest.raises(UnknownNameError) as caught:
        catalog.add("oen")
    assert "one" in caught.value.hint
    with pytest.raises(ConfigError):
        catalog.add("one", {"A B": "c"})
    catalog.add("one")
    (catalog.root / "official" / "one.json").unlink()
    assert [each.code for each in catalog.load().problems] == ["catalog-missing"]

    (catalog.root / "added.json").write_text("{")

    shelf = catalog.load()
    assert "catalog-added" in [each.code for each in shelf.problems]
    assert "one" in shelf.added


def test_many_who_write_at_once_lose_nothing(catalog: Catalog) -> None:
    catalog.copy_bundled()
    other = Catalog(catalog.root, catalog.root)
    names = [f"s{index}" for index in range(12)]

    def work(mine: Catalog, chosen: list[str]) -> None:
        for name in chosen:
            mine.put(text(name))
            mine.add(name)
            mine.record(name, SEEN, [TOOL])

    threads = [
        threading.Thread(target=work, args=(mine, names[start::4]))
        for start, mine in enumerate((catalog, catalog, other, other))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    shelf = Catalog(catalog.root, catalog.root).load()
    assert sorted(shelf.added) == sorted(names)
    assert all(shelf.definitions[name].definition.verification == SEEN for name in names)


@pytest.mark.slow
def test_of_a_thousand_files_one_change_reads_one(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    folder = tmp_path / "custom"
    folder.mkdir()
    schema = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(20)}}
    tools = [
        {"name": f"tool_{i}", "description": "x" * 200, "inputSchema": schema} for i in range(10)
    ]
    for index in range(1000):
        (folder / f"s{index}.json").write_bytes(text(f"s{index}", tools=tools))

    shelf = catalog.load()

    assert len(shelf.definitions) == 1000
    before = {name: each.definition for name, each in shelf.definitions.items()}
    (folder / "s7.json").write_bytes(text("s7", title="New"))
    after = catalog.load().definitions
    assert after["s7"].definition.title == "New"
    # The very objects of before: no other file was read.
    assert all(after[name].definition is before[name] for name in before if name != "s7")


def test_every_official_definition_is_in_order() -> None:
    files = sorted(BUNDLED.glob("*.json"))
    catalog = Catalog(BUNDLED.parent, BUNDLED)

    shelf = catalog.load()

    assert len(files) >= 20
    assert shelf.problems == ()
    assert sorted(shelf.definitions) == [file.stem for file in files]
    for file in files:
        plain = json.loads(file.read_text("utf-8"))
        assert [error.message for error in SCHEMA_CHECK.iter_errors(plain)] == []
        # What a server offers is what it said, never what somebody thought it would say.
        assert not {"tools", "prompts", "resources", "resourceTemplates", "metadata"} & set(plain)


def test_what_we_write_follows_the_schema(catalog: Catalog) -> None:
    catalog.copy_bundled()
    catalog.record("one", SEEN, [TOOL], [b'{"name":"p"}'], [b'{"uri":"a:b"}'], [])
    catalog.record("one", SEEN, [TOOL])

    assert SCHEMA_CHECK.is_valid(json.loads(catalog.text("one")))


@pytest.mark.parametrize(
    "plain",
    [
        {"name": "../x", "runtime": {"command": "a"}},
        {"name": "x"},
        {"name": "x", "runtime": {}},
        {"name": "x", "runtime": {"command": "a", "transport": "smoke"}},
        {"name": "x", "runtime": {"command": "a"}, "tools": [{}]},
        {"name": "x", "runtime": {"command": "a"}, "package": {"type": "binary", "sha256": "0"}},
    ],
)
def test_the_schema_refuses_what_we_refuse(plain: Any) -> None:
    assert not SCHEMA_CHECK.is_valid(plain)
