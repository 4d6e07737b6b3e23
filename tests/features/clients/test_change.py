"""A client's file is changed with a preview and a backup, and put back to the last byte."""

from __future__ import annotations

import json
import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import msgspec
import pytest

from tests.features.clients.files import json_file, toml_file
from toolyard.core.errors import ConfigError, NotOursError, TakenError, ToolyardError
from toolyard.core.known_clients import FORMER_IDS
from toolyard.core.model import Command, Url
from toolyard.features.clients.change import Changes
from toolyard.features.clients.journal import Journal
from toolyard.features.clients.known import BY_NAME, CLIENTS, Client
from toolyard.features.clients.places import Place, Surroundings, one_place

OURS = Command(("/opt/bin/toolyard", "mcp"))
OTHER = Command(("/usr/bin/toolyard", "mcp", "--agent", "codex"))
WEB = Url("http://127.0.0.1:7420/mcp", "http", (("Authorization", "Bearer ty_0123456789abcdef"),))

each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda each: each.name)


@pytest.fixture
def changes(home: Path) -> Changes:
    return Changes(Journal(home / "state" / "toolyard" / "clients"))


def place_for(home: Path, name: str = "cursor", data: bytes | None = None) -> Place:
    place = one_place(BY_NAME[name], Surroundings({}, home, "linux"))
    if data is not None:
        place.path.parent.mkdir(parents=True, exist_ok=True)
        place.path.write_bytes(data)
    return place


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory where there is one: thousands of syncs to a disk take their time."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ty-", dir=place) as name:
        yield Path(name)


@pytest.mark.slow
@pytest.mark.parametrize("names", [("claude-code", "opencode", "vscode", "zed"), ("codex",)])
def test_undo_restores_every_byte_of_two_hundred_files(
    memory: Path, names: tuple[str, ...]
) -> None:
    for seed in range(200):
        client = BY_NAME[names[seed % len(names)]]
        top = client.shape.top
        data = toml_file(seed) if client.shape.syntax == "toml" else json_file(seed, top)
        place = Place(client, memory, memory / f"{seed}{Path(client.files[0]).suffix}")
        place.path.write_bytes(data)
        changes = Changes(Journal(memory / f"{seed}"))

        changes.apply(changes.plan_connect(place, OURS))
        assert place.path.read_bytes() != data
        changes.undo(*changes.plan_undo())
        assert place.path.read_bytes() == data, seed

        changes.apply(changes.plan_connect(place, OURS))
        changes.apply(changes.plan_connect(place, OTHER))
        changes.apply(changes.plan_disconnect(place))
        assert place.path.read_bytes() == data, seed


@each_client
def test_a_file_that_was_not_there_goes_again_with_the_folders_made_for_it(
    home: Path, changes: Changes, client: Client
) -> None:
    place = place_for(home, client.name)
    before = sorted(home.rglob("*"))

    record = changes.apply(changes.plan_connect(place, OURS))
    assert record is not None
    assert mode_of(place.path) == 0o600
    changes.undo(*changes.plan_undo())

    state = home / "state"
    assert [each for each in sorted(home.rglob("*")) if state not in each.parents] == before


def test_connecting_twice_changes_nothing_the_second_time(home: Path, changes: Changes) -> None:
    place = place_for(home)
    changes.apply(changes.plan_connect(place, OURS))

    plan = changes.plan_connect(place, OURS)

    assert not plan.changes and plan.difference == ""
    assert changes.apply(plan) is None
    assert len(changes.journal.records()) == 1


def test_what_somebody_added_to_our_entry_stays_when_it_is_connected_anew(
    home: Path, changes: Changes
) -> None:
    old = {
        "command": "toolyard",
        "args": ["mcp"],
        "env": {"A": "b"},
        "timeout": 9,
        "disabled": True,
    }
    place = place_for(home, data=json.dumps({"mcpServers": {"toolyard": old}}).encode())

    changes.apply(changes.plan_connect(place, OURS))

    said = json.loads(place.path.read_bytes())["mcpServers"]["toolyard"]
    assert said == {"timeout": 9, "command": "/opt/bin/toolyard", "args": ["mcp"]}


def test_the_mode_of_a_file_is_kept(home: Path, changes: Changes) -> None:
    place = place_for(home, data=b"{}")
    place.path.chmod(0o640)

    changes.apply(changes.plan_connect(place, OURS))
    assert mode_of(place.path) == 0o640
    changes.undo(*changes.plan_undo())
    assert mode_of(place.path) == 0o640


def test_a_file_that_gets_a_token_is_for_its_owner_alone(home: Path, changes: Changes) -> None:
    place = place_for(home, data=b"{}")
    place.path.chmod(0o644)

    plan = changes.plan_connect(place, WEB)
    assert plan.difference.startswith("mode 0644 -> 0600: it holds a token\n")
    changes.apply(plan)
    assert mode_of(place.path) == 0o600
    plan = changes.plan_disconnect(place)
    assert plan.difference.startswith("mode 0600 -> 0644: as it was before\n")
    changes.apply(plan)
    assert (mode_of(place.path), place.path.read_bytes()) == (0o644, b"{}")
    changes.undo(*changes.plan_undo())
    assert mode_of(place.path) == 0o600
    changes.undo(*changes.plan_undo())
    assert (mode_of(place.path), place.path.read_bytes()) == (0o644, b"{}")


def test_a_file_without_the_token_gets_its_mode_back(home: Path, changes: Changes) -> None:
    place = place_for(home, data=b"{}")
    place.path.chmod(0o664)
    changes.apply(changes.plan_connect(place, WEB))

    changes.apply(changes.plan_connect(place, OURS))
    assert mode_of(place.path) == 0o664
    changes.apply(changes.plan_disconnect(place))
    assert mode_of(place.path) == 0o664


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_stricter_mode_is_kept(home: Path, changes: Changes, mode: int) -> None:
    place = place_for(home, data=b"{}")
    place.path.chmod(mode)

    plan = changes.plan_connect(place, WEB)

    assert "mode" not in plan.difference
    changes.apply(plan)
    assert mode_of(place.path) == mode
    place.path.chmod(0o640)  # by somebody else, who knows why
    changes.apply(changes.plan_disconnect(place))
    assert mode_of(place.path) == 0o640


def test_backup_and_record_are_for_their_owner_alone(home: Path, changes: Changes) -> None:
    changes.apply(changes.plan_connect(place_for(home, data=b"{ }"), OURS))

    files = sorted(changes.journal.folder.iterdir())
    assert {mode_of(each) for each in files} == {0o600}
    assert [each.read_bytes() for each in files if each.suffix == ".before"] == [b"{ }"]
    assert mode_of(changes.journal.folder) == 0o700


def test_nothing_is_written_through_a_link(home: Path, changes: Changes) -> None:
    place = place_for(home, data=b"{}")
    real = home / "real.json"
    place.path.rename(real)
    place.path.symlink_to(real)

    with pytest.raises(ConfigError, match="symbolic link") as caught:
        changes.plan_connect(place, OURS)

    assert caught.value.hint and real.read_bytes() == b"{}"
    place.path.unlink()
    folder = home / "elsewhere"
    folder.mkdir()
    place.path.parent.rmdir()
    place.path.parent.symlink_to(folder)
    with pytest.raises(ConfigError, match="symbolic link"):
        changes.plan_connect(place, OURS)
    assert list(folder.iterdir()) == []


def test_a_link_that_comes_between_plan_and_writing_is_seen(home: Path, changes: Changes) -> None:
    place = place_for(home, data=b"{}")
    plan = changes.plan_connect(place, OURS)
    real = home / "real.json"
    place.path.rename(real)
    place.path.symlink_to(real)

    with pytest.raises(ConfigError, match="symbolic link"):
        changes.apply(plan)
    assert real.read_bytes() == b"{}"


@pytest.mark.parametrize(
    ("name", "data"), [("cursor", b'{\n "mcpServers": {\n'), ("codex", b"[mcp_servers\n")]
)
def test_a_file_that_cannot_be_read_is_left_alone(
    home: Path, changes: Changes, name: str, data: bytes
) -> None:
    place = place_for(home, name, data)

    for plan in (lambda: changes.plan_connect(place, OURS), lambda: changes.plan_disconnect(place)):
        with pytest.raises(ConfigError, match=r"left alone.*line") as caught:
            plan()
        assert str(place.path) in str(caught.value) and caught.value.hint
    assert place.path.read_bytes() == data
    assert changes.journal.records() == []


def test_somebody_elses_server_of_our_name_is_left_alone(home: Path, changes: Changes) -> None:
    data = b'{"mcpServers": {"toolyard": {"command": "npx", "args": ["toolyard-clone"]}}}'
    place = place_for(home, data=data)

    with pytest.raises(TakenError, match="another server 'toolyard'"):
        changes.plan_connect(place, OURS)
    with pytest.raises(TakenError, match="not this hub"):
        changes.plan_disconnect(place)
    assert place.path.read_bytes() == data


def test_a_file_changed_between_plan_and_writing_is_left_alone(
    home: Path, changes: Changes
) -> None:
    place = place_for(home, data=b"{}")
    plan = changes.plan_connect(place, OURS)
    place.path.write_bytes(b'{"a": 1}')

    with pytest.raises(ConfigError, match="meanwhile"):
        changes.apply(plan)
    assert place.path.read_bytes() == b'{"a": 1}'
    assert changes.journal.records() == []


def test_undo_of_a_file_that_changed_since_takes_back_our_entry_alone(
    home: Path, changes: Changes
) -> None:
    place = place_for(home, data=b'{"mcpServers": {"a": {"command": "a"}}}')
    changes.apply(changes.plan_connect(place, OURS))
    changed = place.path.read_bytes().replace(b'{"mcpServers"', b'{"starts": 7, "mcpServers"')
    place.path.write_bytes(changed)

    changes.undo(*changes.plan_undo())

    assert place.path.read_bytes() == b'{"starts": 7, "mcpServers": {"a": {"command": "a"}}}'


def test_undo_refuses_when_our_entry_itself_was_changed(home: Path, changes: Changes) -> None:
    place = place_for(home, data=b"{}")
    changes.apply(changes.plan_connect(place, OURS))
    changed = place.path.read_bytes().replace(b"/opt/bin", b"/opt/mine")
    place.path.write_bytes(changed)

    with pytest.raises(ConfigError, match="was changed since") as caught:
        changes.plan_undo()
    assert ".before" in caught.value.hint
    assert place.path.read_bytes() == changed


def test_undo_of_a_disconnect_puts_the_entry_back_with_all_its_keys(
    home: Path, changes: Changes
) -> None:
    data = b'{"mcpServers": {"toolyard": {"command": "toolyard", "args": ["mcp"], "mine": 1}}}'
    place = place_for(home, data=data)
    changes.apply(changes.plan_disconnect(place))
    assert place.path.read_bytes() == b'{"mcpServers": {}}'

    changes.undo(*changes.plan_undo())
    assert place.path.read_bytes() == data


def test_each_change_is_undone_once_the_newest_first(home: Path, changes: Changes) -> None:
    for name in ("cursor", "codex"):
        changes.apply(changes.plan_connect(place_for(home, name), OURS))

    first, second = changes.plan_undo()
    assert first.client == "codex"
    changes.undo(first, second)
    with pytest.raises(ConfigError, match="undone already"):
        changes.plan_undo(first.id)
    third, fourth = changes.plan_undo()
    assert third.client == "cursor"
    changes.undo(third, fourth)
    with pytest.raises(ConfigError, match="no change to undo"):
        changes.plan_undo()


def backwards(folder: Path) -> Journal:
    """A journal on a machine whose clock loses a second with every look at it."""
    noon, lost = datetime(2026, 11, 16, 12, tzinfo=UTC), count()
    return Journal(folder, clock=lambda: noon - timedelta(seconds=next(lost)))


def test_changes_keep_their_order_when_the_clock_is_set_back(home: Path) -> None:
    changes = Changes(backwards(home / "journal"))
    data = b'{"mcpServers": {}}  // mine'
    place = place_for(home, data=data)
    changes.apply(changes.plan_connect(place, OURS))
    changes.apply(changes.plan_connect(place, OTHER))

    newest, _ = changes.plan_undo()
    changes.apply(changes.plan_disconnect(place))

    assert [record.number for record in changes.journal.records()] == [3, 2, 1]
    assert newest.number == 2
    assert place.path.read_bytes() == data


def test_a_journal_of_an_older_version_is_read_and_is_older(home: Path) -> None:
    changes = Changes(backwards(home / "journal"))
    first = changes.apply(changes.plan_connect(place_for(home, "codex"), OURS))
    assert first is not None
    file = changes.journal.folder / f"{first.id}.json"
    older = {key: value for key, value in json.loads(file.read_bytes()).items() if key != "number"}
    file.write_text(json.dumps(older))

    second = changes.apply(changes.plan_connect(place_for(home, "cursor"), OURS))

    assert second is not None
    assert [record.id for record in changes.journal.records()] == [second.id, first.id]


@pytest.mark.parametrize(("former", "name"), FORMER_IDS.items())
def test_a_change_under_a_former_id_is_undone(
    home: Path, changes: Changes, former: str, name: str
) -> None:
    place = place_for(home, name, b'{"mcpServers": {}}  // mine')
    record = changes.apply(changes.plan_connect(place, OURS))
    assert record is not None
    changes.journal.write(msgspec.structs.replace(record, client=former))

    changes.undo(*changes.plan_undo(record.id))

    assert place.path.read_bytes() == b'{"mcpServers": {}}  // mine'


def test_a_damaged_backup_is_not_put_back(home: Path, changes: Changes) -> None:
    place = place_for(home, data=b"{}")
    record = changes.apply(changes.plan_connect(place, OURS))
    assert record is not None
    now = place.path.read_bytes()
    changes.journal.backup_file(record).write_bytes(b"?")

    with pytest.raises(ToolyardError, match="damaged"):
        changes.plan_undo()
    assert place.path.read_bytes() == now


def test_two_of_us_wait_for_each_other(home: Path, changes: Changes) -> None:
    place = place_for(home, data=b"{}")
    plan = changes.plan_connect(place, OURS)
    done = threading.Event()

    def write() -> None:
        changes.apply(plan)
        done.set()

    with changes.journal.alone():
        thread = threading.Thread(target=write)
        thread.start()
        assert not done.wait(0.15)
        assert place.path.read_bytes() == b"{}"
    assert done.wait(60)
    thread.join()


def test_the_difference_shows_the_change_and_no_secret(home: Path, changes: Changes) -> None:
    secret = b'"a": {"command": "x", "env": {"KEY": "sk-secret-1234567"}}'
    data = b'{\n  "mcpServers": {\n    ' + secret + b"\n  }\n}\n"
    place = place_for(home, data=data)

    shown = changes.plan_connect(place, WEB).difference

    assert f"--- {place.path}" in shown and '+    "toolyard": {' in shown
    assert "http://127.0.0.1:7420/mcp" in shown
    assert "sk-secret" not in shown and "ty_0123" not in shown


def test_a_new_file_in_a_project_is_readable_for_the_others(home: Path, changes: Changes) -> None:
    project = home / "project"
    project.mkdir()
    around = Surroundings({}, home, "linux")
    place = one_place(BY_NAME["vscode"], around, project)
    old = os.umask(0o022)
    try:
        changes.apply(changes.plan_connect(place, OURS))
    finally:
        os.umask(old)

    assert place.path == project / ".vscode" / "mcp.json"
    assert (mode_of(place.path), mode_of(place.path.parent)) == (0o644, 0o755)
    with pytest.raises(NotOursError, match="no file for projects"):
        one_place(BY_NAME["windsurf"], around, project)
