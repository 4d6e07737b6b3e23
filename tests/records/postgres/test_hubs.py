"""Two real hubs on one database: an order at one holds at the other, on every door."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.doors.doors import Doors, Json, mirrored, modern, open_doors
from tests.e2e.hub import environment
from tests.fixtures.forking import run as run_forked
from tests.fixtures.hubs import names, order, sees, send, stub, two_hubs
from tests.fixtures.ports import free_port
from tests.fixtures.postgres import PostgresServer, SharedYard
from tests.fixtures.stub_run import stub_command
from toolyard.core.model import ServerId
from toolyard.records.postgres.offers import SharedOffers
from toolyard.records.postgres.shared import SharedDatabase


def limits_cursor(answer: Json) -> bool:
    return any("most_tools" in row["overridden"] for row in answer["passports"])


async def test_every_kind_of_order_at_one_hub_is_on_the_picture_of_the_other(
    home: Path, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        await order(a, "POST", "/servers", {"name": "one", "entry": stub("one")})
        await order(a, "PUT", "/profiles/few", {"allow": ["one"]})
        await order(b, "PUT", "/passports/cursor", {"most_tools": 70})
        await order(b, "PUT", "/apps/mine", {"variants": {"dev": 41234}})
        listed = {"enabled": True, "servers": {"one": {"server": "one"}}}
        await order(a, "PUT", "/agents/codex/config", listed)
        await order(b, "PUT", "/executors/box", {"type": "docker", "host": "unix:///none"})
        for hub in (a, b):
            await sees(hub, "/servers", lambda answer: "one" in names("servers")(answer))
            await sees(hub, "/profiles", lambda answer: "few" in names("profiles")(answer))
            await sees(hub, "/executors", lambda answer: "box" in names("executors")(answer))
            await sees(hub, "/apps", lambda answer: "mine" in names("apps")(answer))
            await sees(hub, "/passports", limits_cursor)
            await sees(hub, "/agents/codex/config", lambda answer: answer["servers"] != {})


async def test_a_token_made_at_one_hub_opens_the_other_and_revoked_it_opens_none(
    home: Path, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        token = (await order(a, "POST", "/tokens", {"name": "agent"}))["token"]
        message = modern("tools/list")

        async def status(hub: Doors) -> int:
            head = {**mirrored(message), "Authorization": f"Bearer {token}"}
            return (await hub.post(message, head)).status

        async def opens() -> bool:
            return await status(b) == 200

        async def is_shut() -> bool:
            return await status(b) == 401

        assert await status(a) == 200
        await b.until(opens, 60)
        await order(a, "DELETE", "/tokens/agent")
        assert await status(a) == 401
        await b.until(is_shut, 60)


async def test_who_decided_on_an_older_version_is_told_at_any_hub(
    home: Path, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        first = await send(a, "PUT", "/policies/docker", {"deny": ["git"]})
        head = {"If-Match": first.headers["etag"]}
        answers = await asyncio.gather(
            send(a, "PUT", "/policies/docker", {"deny": ["one"]}, **head),
            send(b, "PUT", "/policies/docker", {"deny": ["two"]}, **head),
        )
        assert sorted(answer.status for answer in answers) == [200, 412]


async def test_while_the_database_is_away_calls_go_on_and_orders_are_refused(
    home: Path, postgres: PostgresServer, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        await order(a, "POST", "/servers", {"name": "one", "entry": stub("one")})

        async def has_tool() -> bool:
            return "one__echo" in await b.tools()

        await b.until(has_tool, 60)
        await asyncio.to_thread(postgres.stop)
        assert await b.text("one__echo", text="still here") == "still here"
        answer = await send(b, "PUT", "/profiles/few", {"allow": ["one"]})
        assert (answer.status, answer.json()["code"]) == (503, "database-away")
        assert answer.json()["hint"]
        await sees(b, "/status", lambda s: any(p["code"] == "database-away" for p in s["problems"]))
        await asyncio.to_thread(postgres.start)
        await sees(b, "/status", lambda status: not status["problems"])
        await order(a, "PUT", "/profiles/few", {"allow": ["one"]})
        await sees(b, "/profiles", lambda answer: "few" in names("profiles")(answer))


async def test_a_hub_whose_database_was_never_there_refuses_every_order_alike(home: Path) -> None:
    nowhere = f"postgresql://toolyard@127.0.0.1:{free_port()}/toolyard"
    async with open_doors(home, database=nowhere) as hub:
        for method, path, body in (
            ("POST", "/servers", {"name": "one", "entry": stub("one")}),
            ("PUT", "/profiles/few", {"allow": ["one"]}),
        ):
            answer = await send(hub, method, path, body)
            assert (answer.status, answer.json().get("code")) == (503, "database-away"), answer


def has_offers(yard: SharedYard, name: str) -> bool:
    database = SharedDatabase(yard.address, yard.schema, follows=False)
    with closing(database):
        return SharedOffers(database).read(ServerId(name, "configured")) is not None


async def test_a_new_hub_lists_what_servers_offered_to_another_before_it_can_start_them(
    home: Path, shared_yard: SharedYard
) -> None:
    script = home / "server.py"
    command = stub_command("--name", "one", "--only", "echo", "--tools", "1")
    script.write_text(f"import os; os.execv({command[0]!r}, {command!r})")
    entry = {"command": sys.executable, "args": [str(script)]}
    async with two_hubs(home, shared_yard) as (a, _):
        await order(a, "POST", "/servers", {"name": "one", "entry": entry})

        async def is_kept() -> bool:
            return await asyncio.to_thread(has_offers, shared_yard, "one")

        await a.until(is_kept, 60)
    script.unlink()
    (home / "c").mkdir()
    async with open_doors(home / "c", **shared_yard.settings) as c:
        assert "one__echo" in await c.tools()


def test_a_command_without_a_hub_orders_in_the_database(
    home: Path, shared_yard: SharedYard
) -> None:
    env = {**environment(home), **shared_yard.environment}

    def run(*words: str) -> str:
        argv = [sys.executable, "-m", "toolyard", *words]
        done = run_forked(argv, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("add", "one", "--url", "http://127.0.0.1:1/mcp", "--no-wait")
    run("profile", "set", "few", "--allow", "one")
    assert "one" in run("list") and "few" in run("profile", "list")
    assert not (home / "servers.json").exists() and not (home / "profiles").exists()


def test_without_the_setting_neither_driver_nor_cryptography_is_imported(home: Path) -> None:
    code = (
        "import sys\n"
        "from toolyard.app import House\n"
        "from toolyard.links.patience import Patience\n"
        "from toolyard.settings import read_settings\n"
        "House(read_settings({}, {'TOOLYARD_HOME': sys.argv[1]}), Patience())\n"
        "heavy = {'psycopg', 'cryptography'}\n"
        "print(*(name for name in sys.modules if name.split('.')[0] in heavy))\n"
    )
    argv = [sys.executable, "-c", code, str(home)]
    done = subprocess.run(argv, env=environment(home), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
