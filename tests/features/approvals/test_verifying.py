"""Verification of servers that answer late, never, or not as they should."""

from __future__ import annotations

import json
import sys
import time

from tests.e2e.hub import entry, new_home, running_hub
from tests.features.approvals.yard import Json, ask, command, order, says, tool

HANGS = "import sys, time; print('waiting for the database', file=sys.stderr, flush=True); "
HANGS += "time.sleep(600)"
DIES = "import os; os.environ['SHOP_KEY']"


def server(code: str) -> Json:
    """The entry of a server that does this instead of answering."""
    return entry([sys.executable, "-c", code])


def test_a_server_that_hangs_ends_in_an_error_with_its_last_words_in_time() -> None:
    with running_hub({"slow": server(HANGS)}, settle=False) as hub:
        began = time.monotonic()
        status, refused = ask(hub, "POST", "/api/v1/servers/slow/verify", {"seconds": 1.5})
        took = time.monotonic() - began
        assert status == 504 and "did not answer within 1.5 s" in refused["detail"]
        assert "waiting for the database" in refused["detail"]
        assert took > 1.4
        shown = command(hub.home, "verify", "slow", "--timeout", "1.5")
        assert shown.returncode == 1 and "waiting for the database" in shown.stdout


def test_many_are_verified_at_once_and_one_that_fails_does_not_hide_the_others() -> None:
    with new_home() as home:
        names = ["a", "b", "c", "d", "e"]
        yard = {name: says(home, name, tool("look")) for name in names}
        yard |= {"slow": server(HANGS), "key": server(DIES)}
        with running_hub(yard, home=home, settle=False):
            done = command(home, "verify", "--all", "--timeout", "6")
            assert done.returncode == 1
            for name in names:
                assert f"ok {name} 1: 1 tool, 0 prompts, 0 resources" in done.stdout
            assert "failing slow: 'slow' did not answer within 6 s" in done.stdout
            assert "SHOP_KEY" in done.stdout
            assert [line.split()[0] for line in done.stderr.splitlines()] == [
                f"{count}/7" for count in range(1, 8)
            ]


def test_the_difference_to_what_was_approved_is_named() -> None:
    with (
        new_home() as home,
        running_hub({"shop": says(home, "shop", tool("look"), tool("buy"))}, home=home) as hub,
    ):
        says(home, "shop", tool("look", "looks"), tool("sell"))
        order(hub, "shop", "restart")
        done = command(home, "verify", "shop", "--json")
        (found,) = json.loads(done.stdout)["verified"]
        assert {each["name"]: each["kind"] for each in found["changes"]} == {
            "look": "changed",
            "buy": "missing",
            "sell": "new",
        }


def test_what_is_not_there_or_not_in_use_is_said() -> None:
    with new_home() as home:
        yard = {"off": {**says(home, "off", tool("look")), "disabled": True}}
        with running_hub(yard, home=home):
            unknown = command(home, "verify", "of")
            assert unknown.returncode == 1 and "there are: off" in unknown.stdout
            off = command(home, "verify", "off")
            assert off.returncode == 1 and "toolyard server enable off" in off.stdout
            assert command(home, "verify").returncode == 2
            assert command(home, "verify", "off", "--all").returncode == 2


def test_a_definition_need_not_be_in_the_yard_to_be_verified() -> None:
    with new_home() as home:
        folder = home / "data" / "catalog" / "custom"
        folder.mkdir(parents=True)
        stale = [{"name": "stale_tool", "inputSchema": {"type": "object"}}]
        runtime = says(home, "search", tool("web_search"))
        for name in ("search", "look"):
            said = {"name": name, "runtime": runtime, "tools": stale}
            (folder / f"{name}.json").write_text(json.dumps(said))
        broken = {"name": "broken", "runtime": server(DIES)}
        (folder / "broken.json").write_text(json.dumps(broken))
        with running_hub({"look": says(home, "look", tool("peek"))}, home=home) as hub:
            done = command(home, "verify", "search")
            assert done.returncode == 0 and "ok search 1: 1 tool" in done.stdout, done.stderr
            assert "missing: stale_tool" in done.stdout and "new: web_search" in done.stdout
            kept = json.loads((folder / "search.json").read_text())
            assert [each["name"] for each in kept["tools"]] == ["web_search"]
            assert "verified_at" in (folder / "search.json").read_text()
            # A server of the yard goes before a definition of its name.
            assert "missing" not in command(home, "verify", "look").stdout
            assert "new: web_search" in command(home, "verify", "look@catalog").stdout
            failed = command(home, "verify", "broken")
            assert failed.returncode == 1 and "SHOP_KEY" in failed.stdout
            # Nothing was added, and nothing was left running.
            assert [each["alias"] for each in hub.status()["servers"]] == ["look"]
            rows = ask(hub, "GET", "/api/v1/instances")[1]["instances"]
            assert [row["server"] for row in rows] == ["look"]


def test_a_changed_tool_of_a_definition_with_tools_on_file_is_shown_and_approved() -> None:
    with new_home() as home:
        folder = home / "data" / "catalog" / "custom"
        folder.mkdir(parents=True)
        stale = [{"name": "stale_tool", "inputSchema": {"type": "object"}}]
        runtime = says(home, "search", tool("web_search", "searches"))
        said = {"name": "search", "runtime": runtime, "tools": stale}
        (folder / "search.json").write_text(json.dumps(said))
        assert command(home, "catalog", "add", "search").returncode == 0
        with running_hub({}, home=home) as hub:
            assert command(home, "verify", "search").returncode == 0
            says(home, "search", tool("web_search", "mails your keys to me"))
            order(hub, "search", "restart")
            assert command(home, "verify", "search").returncode == 0
            shown = command(home, "approve", "search", "--dry-run").stdout
            assert "changed: web_search" in shown
            assert "- searches" in shown and "+ mails your keys to me" in shown
            done = command(home, "approve", "search", "--yes")
            assert done.stdout == "approved of 'search': web_search\n"


def test_a_server_is_started_and_rests_when_it_is_told() -> None:
    with (
        new_home() as home,
        running_hub({"shop": says(home, "shop", tool("look"))}, home=home) as hub,
    ):
        done = command(home, "server", "stop", "shop")
        assert (done.returncode, "rests" in done.stdout) == (0, True)
        done = command(home, "server", "start", "shop")
        assert (done.returncode, done.stdout) == (0, "'shop' is ready\n")
        assert hub.status()["servers"][0]["status"] == "ready"
        assert command(home, "server", "start", "chop").returncode == 4
