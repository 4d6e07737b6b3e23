"""The hub takes the place of the servers it has, and undoing that brings them back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Toolyard
from toolyard.core.model import Command
from toolyard.features.clients.change import Changes
from toolyard.features.clients.journal import Journal
from toolyard.features.clients.known import BY_NAME, CLIENTS, Client
from toolyard.features.clients.places import Place, Surroundings, one_place
from toolyard.features.clients.toml import parse_toml

OURS = Command(("/opt/bin/toolyard", "mcp"))
TOKEN = "ghp_notARealTokenOnlyForThisTest0123"
CURSOR = """{
  // mine
  "mcpServers": {
    "files": {"command": "run", "args": ["--x"]}, // the first
    "github": {"command": "gh", "env": {"GITHUB_TOKEN": "TOKEN"}},
    "other": {"command": "other"}
  },
  "theme": 1
}
""".replace('"TOKEN"', f'"{TOKEN}"')
CODEX = b"""model = "o9"

[mcp_servers.files]
command = "run"
args = ["--x"]
tool_timeout_sec = 30.5

[mcp_servers.files.env]
MODE = "x"

# mine
[mcp_servers.other]
command = "other"
"""


@pytest.fixture(autouse=True)
def no_programs(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """No client is installed but those a test makes."""
    monkeypatch.setenv("PATH", str(home / "bin"))


@pytest.fixture
def changes(home: Path) -> Changes:
    return Changes(Journal(home / "state" / "toolyard" / "clients"))


@pytest.fixture
def cursor(home: Path) -> Path:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(CURSOR)
    return path


def place_with(home: Path, client: Client, data: bytes) -> Place:
    place = one_place(client, Surroundings({}, home, "linux"))
    place.path.parent.mkdir(parents=True, exist_ok=True)
    place.path.write_bytes(data)
    return place


def names_in(place: Place) -> list[str]:
    data = place.path.read_bytes()
    whole: Any = parse_toml(data) if place.path.suffix == ".toml" else json.loads(data)
    return list(whole[place.client.shape.top])


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_in_every_client_the_hub_replaces_others_and_undo_restores_every_byte(
    home: Path, changes: Changes, client: Client
) -> None:
    entry = client.shape.write(Command(("run", "--x"), (("MODE", "x"),)))
    top = client.shape.top
    data = json.dumps({top: {"files": entry, "other": entry}}, indent=3).encode()
    place = place_with(home, client, CODEX if client.name == "codex" else data)
    before = place.path.read_bytes()

    changes.apply(changes.plan_connect(place, OURS, [(top, "files")]))

    assert names_in(place) == ["other", "toolyard"]
    changes.undo(*changes.plan_undo())
    assert place.path.read_bytes() == before
    changes.apply(changes.plan_connect(place, OURS, [(top, "files")]))
    changes.apply(changes.plan_disconnect(place))
    assert place.path.read_bytes() == before


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_what_was_replaced_comes_back_into_a_file_that_changed_since(
    home: Path, changes: Changes, name: str
) -> None:
    client = BY_NAME[name]
    data = CODEX if name == "codex" else b'{"mcpServers": {"files": {"command": "run", "x": 1}}}'
    place = place_with(home, client, data)
    entry = client.shape.top, "files"

    def change() -> None:
        text = place.path.read_text()
        more = text.replace("model", "theme = 1\nmodel", 1)
        place.path.write_text(more if name == "codex" else text.replace("{", '{"theme": 1, ', 1))

    for undo in (
        lambda: changes.undo(*changes.plan_undo()),
        lambda: changes.apply(changes.plan_disconnect(place)),
    ):
        place.path.write_bytes(data)
        before = raw(place, "files")
        changes.apply(changes.plan_connect(place, OURS, [entry]))
        assert raw(place, "files") is None
        change()
        undo()
        assert raw(place, "files") == before and raw(place, "toolyard") is None
        assert "theme" in place.path.read_text()


def raw(place: Place, name: str) -> Any:
    data = place.path.read_bytes()
    whole: Any = parse_toml(data) if place.path.suffix == ".toml" else json.loads(data)
    return whole[place.client.shape.top].get(name)


def test_undo_of_a_disconnect_takes_what_had_come_back_out_again(
    home: Path, changes: Changes
) -> None:
    place = place_with(home, BY_NAME["cursor"], b'{"mcpServers": {"a": {"command": "a"}}}')
    changes.apply(changes.plan_connect(place, OURS, [("mcpServers", "a")]))
    place.path.write_text(place.path.read_text().replace("{", '{"theme": 1, ', 1))
    changes.apply(changes.plan_disconnect(place))
    place.path.write_text(place.path.read_text().replace("1", "2", 1))

    changes.undo(*changes.plan_undo())

    assert names_in(place) == ["toolyard"]


def test_connect_replaces_the_servers_that_the_yard_has(
    toolyard: Toolyard, home: Path, cursor: Path
) -> None:
    toolyard("import", "--yes")
    toolyard("remove", "other")
    tried = toolyard("connect", "cursor", "--replace", "--dry-run")
    assert '-    "files"' in tried.out and cursor.read_text() == CURSOR
    assert TOKEN not in tried.out

    done = toolyard("connect", "cursor", "--replace", "--yes")

    assert "in place of files, github" in done.out and TOKEN not in done.out + done.err
    said = json.loads(cursor.read_text().replace("// mine", "").replace("// the first", ""))
    assert list(said["mcpServers"]) == ["other", "toolyard"]
    undone = toolyard("undo", "--yes")
    assert "which has files, github again" in undone.out and "the hub keeps" in undone.err
    assert cursor.read_text() == CURSOR


def test_no_secret_lies_in_a_backup_and_without_its_key_it_stays_closed(
    toolyard: Toolyard, home: Path, cursor: Path, no_keyring: None
) -> None:
    toolyard("import", "--yes")
    toolyard("connect", "cursor", "--replace", "--yes")
    journal = home / "state" / "toolyard" / "clients"

    assert len(list(journal.glob("*.before"))) == 1
    assert not [path for path in journal.iterdir() if TOKEN.encode() in path.read_bytes()]
    toolyard("secret", "remove", "toolyard-backups")
    after = cursor.read_bytes()
    undone = toolyard("undo", "--yes")
    assert undone.code != 0 and "'toolyard-backups', is gone" in undone.err
    assert cursor.read_bytes() == after


def test_a_server_that_the_client_restricts_stays(toolyard: Toolyard, home: Path) -> None:
    gemini = home / ".gemini" / "settings.json"
    gemini.parent.mkdir()
    entry = {"command": "g", "excludeTools": ["rm"]}
    gemini.write_text(json.dumps({"mcpServers": {"g": entry, "h": {"command": "h"}}}))
    toolyard("import", "--yes", "--yes-unrestricted")

    done = toolyard("connect", "gemini", "--replace", "--yes")

    assert "restricts g" in done.err
    assert list(json.loads(gemini.read_text())["mcpServers"]) == ["g", "toolyard"]


def test_a_server_that_the_yard_has_disabled_stays(
    toolyard: Toolyard, home: Path, cursor: Path
) -> None:
    toolyard("import", "--yes")
    toolyard("server", "disable", "files")

    (change,) = toolyard("connect", "cursor", "--replace", "--yes", "--json").json["changes"]

    assert change["replaced"] == ["github", "other"]


def test_a_client_gets_the_profile_that_was_named(toolyard: Toolyard, cursor: Path) -> None:
    assert toolyard("connect", "cursor", "--profile", "review", "--yes").code == 0

    assert '"--profile", "review"' in cursor.read_text()
    rows = {row["client"]: row for row in toolyard("clients", "--json").json["clients"]}
    assert rows["cursor"]["how"] == "stdio with profile review"
    both = toolyard("connect", "cursor", "--profile", "a", "--agent", "b", "--yes")
    assert "leave one out" in both.err


@pytest.mark.parametrize("secret", ["pw", "a'b", 'p"w'])
def test_no_secret_is_shown_in_a_difference_however_short(
    home: Path, changes: Changes, secret: str
) -> None:
    entry = {"command": "x", "env": {"PASSWORD": secret, "MODE": "fast"}}
    data = json.dumps({"mcpServers": {"a": entry}}, indent=2).encode()
    place = place_with(home, BY_NAME["cursor"], data)

    shown = changes.plan_connect(place, OURS, [("mcpServers", "a")]).difference

    assert '-        "PASSWORD": "[secret]"' in shown and '-        "MODE": "fast"' in shown


@pytest.fixture
def opencode(home: Path) -> dict[Path, bytes]:
    """The two files that opencode reads, each with a server that the yard is to have."""
    folder = home / "config" / "opencode"
    folder.mkdir()
    texts = {
        folder / "opencode.jsonc": '{"mcp": {"a": {"type": "local", "command": ["a"]}}} // one\n',
        folder / "opencode.json": '{"theme": "x",\n "mcp": {"b": {"type": "local", "command": '
        f'["b"], "environment": {{"B_TOKEN": "{TOKEN}"}}}}}}}}\n',
    }
    for path, text in texts.items():
        path.write_text(text)
    return {path: path.read_bytes() for path in texts}


def contents(files: dict[Path, bytes]) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in files}


def servers_in(path: Path) -> list[str]:
    return list(json.loads(path.read_text().partition(" //")[0]).get("mcp", {}))


@pytest.mark.parametrize("order", ["setup", "connect"])
@pytest.mark.parametrize("back", [("undo",), ("disconnect", "opencode")])
def test_both_files_of_opencode_give_their_servers_to_the_hub_and_get_them_back(
    toolyard: Toolyard,
    opencode: dict[Path, bytes],
    no_keyring: None,
    order: str,
    back: tuple[str, ...],
) -> None:
    main, other = opencode
    if order == "setup":
        assert toolyard("setup", "--yes", "--no-wait").code == 0
    else:
        assert toolyard("import", "--yes").code == 0
        assert toolyard("connect", "opencode", "--replace", "--yes").code == 0

    assert (servers_in(main), servers_in(other)) == (["toolyard"], [])
    assert TOKEN not in other.read_text()
    assert "There is nothing to do." in toolyard("setup", "--dry-run").out

    assert toolyard(*back, "--yes").code == 0
    assert contents(opencode) == opencode


def test_what_others_wrote_since_stays_when_both_files_get_their_servers_back(
    toolyard: Toolyard, opencode: dict[Path, bytes], no_keyring: None
) -> None:
    main, other = opencode
    toolyard("setup", "--yes", "--no-wait")
    other.write_text('{"theme": "y", "mcp": {"c": {"type": "local", "command": ["c"]}}}')

    assert toolyard("disconnect", "opencode", "--yes").code == 0

    assert main.read_bytes() == opencode[main]
    assert json.loads(other.read_text())["theme"] == "y"
    assert servers_in(other) == ["c", "b"]


def test_if_one_file_cannot_be_written_the_other_stays_as_it_is(
    toolyard: Toolyard, opencode: dict[Path, bytes], no_keyring: None, home: Path
) -> None:
    toolyard("import", "--yes")
    _, other = opencode
    link = home / "elsewhere.json"
    other.rename(link)
    other.symlink_to(link)

    done = toolyard("connect", "opencode", "--replace", "--yes")

    assert done.code != 0 and "symbolic link" in done.err
    assert contents(opencode) == opencode
