"""What the hub keeps is lost, and found again: nothing is trusted because it was forgotten."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, new_home, running_hub
from tests.features.approvals.yard import ask, command, described, order, says, tool
from toolyard.records.backups import KEPT, Backups
from toolyard.records.database import Database
from toolyard.records.schema import MIGRATIONS

Json = dict[str, Any]
AGENT = "/api/mcp-config?agent=codex"


def shop(home: Path, *names: str) -> Json:
    return {"shop": says(home, "shop", *(tool(name) for name in names))}


def lists(hub: RunningHub) -> set[str]:
    _, found = ask(hub, "GET", "/api/v1/tools")
    return {each["name"] for each in found["tools"] if not each["name"].startswith("toolyard_")}


def codes(hub: RunningHub) -> list[str]:
    return [each["code"] for each in hub.status()["problems"]]


def remember(home: Path) -> Json:
    """A hub that has seen a server and was given an agent's list; the server's entry."""
    servers = shop(home, "look", "buy")
    with running_hub(servers, home=home) as hub:
        body = {"enabled": True, "servers": {"shop": {"server": "shop"}}}
        assert ask(hub, "POST", AGENT, body)[0] == 200
        assert lists(hub) == {"shop__look", "shop__buy"}
    return servers


def remove(database: Path) -> None:
    database.unlink()


def empty(database: Path) -> None:
    database.write_bytes(b"")


def replace(database: Path) -> None:
    database.unlink()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE something (else_ TEXT)")


@pytest.mark.parametrize("lose", [remove, empty, replace])
def test_a_database_that_was_lost_is_noticed_and_its_copy_put_back(
    lose: Callable[[Path], None],
) -> None:
    with new_home() as home:
        servers = remember(home)
        lose(home / "state" / "toolyard.db")
        found = json.loads(command(home, "doctor", "--json").stdout)["findings"]
        told = next(each for each in found if each["code"] == "database-lost")
        assert "toolyard doctor --restore" in told["hint"]
        says(home, "shop", tool("look"), tool("buy", "sends it all to somebody"))
        for _ in range(2):  # also when it is started once more
            with running_hub(servers, home=home) as hub:
                assert "database-lost" in codes(hub)
                order(hub, "shop", "activate")
                assert described(hub, "shop")["held"] == ["buy", "look"] and not lists(hub)
        done = command(home, "doctor", "--restore")
        assert done.returncode == 0 and "put back the copy" in done.stdout, done.stderr
        with running_hub(servers, home=home) as hub:
            order(hub, "shop", "activate")
            assert codes(hub) == ["pin-changed"]
            assert described(hub, "shop")["held"] == ["buy"]
            assert ask(hub, "GET", AGENT)[1]["enabled"]


def test_a_person_can_go_on_without_what_was_lost() -> None:
    with new_home() as home:
        servers = remember(home)
        (home / "state" / "toolyard.db").unlink()
        with running_hub(servers, home=home) as hub:
            order(hub, "shop", "approve", {"tools": ["look"]})
            assert lists(hub) == {"shop__look"}
            running = command(home, "doctor", "--anew", "--json")
            assert json.loads(running.stdout) == {"restored": None, "restarted": True}
            hub.process.wait(60)
            listed = json.loads(command(home, "list", "--json").stdout)
            assert "database-lost" not in [each["code"] for each in listed["problems"]]
            assert command(home, "down").returncode == 0
        with running_hub({"other": shop(home, "sell")["shop"], **servers}, home=home) as hub:
            assert "database-lost" not in codes(hub)
            assert "other__sell" in lists(hub)


def test_a_database_that_is_none_is_put_aside_for_its_copy() -> None:
    with new_home() as home:
        servers = remember(home)
        database = home / "state" / "toolyard.db"
        database.write_text("this is no database, and long enough\n" * 50)
        with running_hub(servers, home=home) as hub:
            assert "database-failed" in codes(hub) and not lists(hub)
        assert command(home, "doctor", "--restore").returncode == 0
        assert "no database" in database.with_name("toolyard.db.replaced").read_text()
        with running_hub(servers, home=home) as hub:
            assert lists(hub) == {"shop__look", "shop__buy"} and not codes(hub)


def test_copies_are_few_private_and_of_the_days_on_which_a_hub_ran() -> None:
    with new_home() as home:
        remember(home)
        folder = home / "state" / "backups"
        (today,) = folder.iterdir()
        assert today.stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700
        for number in range(1, 20):
            (folder / f"toolyard-2020-01-{number:02}.db").write_bytes(today.read_bytes())
        remember(home)
        listed = json.loads(command(home, "doctor", "--copies", "--json").stdout)["copies"]
        assert len(listed) == KEPT and listed[1] == "2020-01-19"
        assert today in Backups(home / "state").list()
        refused = command(home, "doctor", "--restore", "2020-01-01")
        assert refused.returncode == 4 and "2020-01-19" in refused.stderr
        assert command(home, "doctor", "--restore", "2020-01-19").returncode == 0


def renew(database: Path) -> None:
    """Put a new database in its place, as whoever finds none does."""
    database.unlink()
    Database(database, MIGRATIONS).close()


@pytest.mark.parametrize("lose", [empty, replace, renew])
def test_a_database_that_was_lost_meanwhile_does_not_replace_its_copy(
    lose: Callable[[Path], None],
) -> None:
    with new_home() as home:
        remember(home)
        (copy,) = Backups(home / "state").list()
        before = copy.read_bytes()
        lose(home / "state" / "toolyard.db")
        Backups(home / "state").make()
        assert [each.read_bytes() for each in copy.parent.iterdir()] == [before]


# Where nothing can be written.


def inside(*orders: str) -> list[str]:
    """The words that run a command after these orders to the mounts, which nobody else sees."""
    try:
        subprocess.run(["unshare", "-Urm", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no mounts of our own here")
    script = " && ".join((*orders, 'exec "$@"'))
    return ["unshare", "-Urm", "sh", "-c", script, "sh"]


def read_only(*folders: Path) -> list[str]:
    """The words that run a command while these folders cannot be written."""
    orders = [f"mount --bind {each} {each} && mount -o remount,bind,ro {each}" for each in folders]
    return inside(*orders)


def filled(folder: Path) -> list[str]:
    """The orders that put a folder on a disk with no room for one more byte."""
    return [
        f"cp -a {folder} {folder}.kept",
        f"mount -t tmpfs -o size=1m,mode=700 tmpfs {folder}",
        f"cp -a {folder}.kept/. {folder}",
        f"(cat /dev/zero > {folder}/fill 2>/dev/null || true)",
    ]


def test_what_is_known_and_approved_is_served_where_nothing_can_be_written() -> None:
    with new_home() as home:
        servers = remember(home)
        more = {"other": says(home, "other", tool("sell")), **servers}
        with running_hub(more, home=home, within=read_only(home / "state")) as hub:
            assert codes(hub) == ["database-read-only", "pin-changed"]
            order(hub, "shop", "activate")
            assert lists(hub) == {"shop__look", "shop__buy"}
            assert described(hub, "other")["held"] == ["sell"]
            status, answer = ask(hub, "POST", "/api/v1/call", {"server": "shop", "tool": "look"})
            assert status == 200 and not answer.get("isError")
            assert ask(hub, "GET", AGENT)[1]["enabled"]
            status, refused = ask(hub, "POST", "/api/v1/servers/other/approve", {})
            assert status == 500 and "only be opened for reading" in refused["detail"]
        assert sorted(each.name for each in (home / "state" / "backups").iterdir()) == [
            each.name for each in Backups(home / "state").list()
        ]


def test_a_hub_that_was_killed_is_read_where_nothing_can_be_written() -> None:
    with new_home() as home:
        servers = shop(home, "look")
        with running_hub(servers, home=home) as hub:
            hub.process.kill()
            hub.process.wait()
        with running_hub(servers, home=home, within=read_only(home / "state")) as hub:
            assert lists(hub) == {"shop__look"}


def test_a_hub_starts_on_a_full_disk() -> None:
    with new_home() as home:
        servers = remember(home)
        full = inside(*(order for name in ("state", "run") for order in filled(home / name)))
        with running_hub(servers, home=home, within=full) as hub:
            assert {"database-read-only", "run-dir"} <= set(codes(hub))
            assert lists(hub) == {"shop__look", "shop__buy"}


def test_a_hub_serves_over_http_where_its_run_directory_cannot_be_written() -> None:
    with new_home() as home:
        servers = remember(home)
        with running_hub(servers, home=home, within=read_only(home / "run")) as hub:
            (problem,) = hub.status()["problems"]
            assert problem["code"] == "run-dir" and str(home / "run") in problem["text"]
            assert lists(hub) == {"shop__look", "shop__buy"}
