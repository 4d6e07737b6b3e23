"""`toolyard mcp --hub` stands in for a team's hub: clients see what its HTTP door shows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
import pytest_asyncio
from mcp import Client, StdioServerParameters

from tests.conformance.starting import everything_command
from tests.control.company import entry, open_yard, put_profile, send
from tests.doors.doors import Doors, Json, open_doors
from tests.e2e.entries import Background, EntryTalk
from tests.e2e.hub import toolyard
from tests.e2e.talk import ACKNOWLEDGED, ALL, ANSWERS, PLAIN, listening, text_of
from tests.features.authorization.people import bearer, free_port, make_member
from tests.features.members.team import admit
from tests.features.members.test_sdk_login import TeamIssuer, put_echoes
from tests.features.remote_hub.laptop import ANN, Laptop, end
from tests.fixtures.issuer import issuing
from toolyard.console.exits import Exit
from toolyard.doors.stdio import attach
from toolyard.features.remote_hub.address import door_of
from toolyard.links.grants import OAuthGrant

pytestmark = [
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
    pytest.mark.usefixtures("no_keyring"),
]
ERAS = ("legacy", "modern")
MODES = ("legacy", "2026-07-28")
REFUSED = "eyJhbGciOiJub25lIn0.e30.x"
CHANGED = "notifications/tools/list_changed"


@asynccontextmanager
async def open_asking(home: Path, port: int) -> AsyncIterator[Doors]:
    """A hub that people log in with, in front of servers that ask, and one that wants headers."""
    present = everything_command("stdio", "--modern-only")
    servers = {
        "old": entry("old", "--era", "legacy"),
        "new": entry("new", "--era", "modern"),
        "present": {"command": present[0], "args": present[1:]},
    }
    settings: Json = {"public": f"http://127.0.0.1:{port}", "port": port, "issuer": "own"}
    async with open_doors(home, servers, **settings) as doors:
        await doors.settled()
        yield doors


@pytest_asyncio.fixture
async def asking(home: Path) -> AsyncIterator[Doors]:
    async with open_asking(home, free_port()) as doors:
        await put_profile(doors, "asking", allow=["old", "new", "present/test_x_mcp_header"])
        await admit(doors, "developers", "asking")
        await make_member(doors)
        yield doors


@pytest_asyncio.fixture
async def member(asking: Doors, home: Path) -> Laptop:
    """The machine of a member who has logged in."""
    laptop = Laptop(home / "laptop", f"http://{asking.host}")
    done = await laptop.log_in(asking)
    assert done.code == 0, done
    return laptop


@asynccontextmanager
async def standing_in(laptop: Laptop, era: str, *words: str) -> AsyncIterator[EntryTalk]:
    """A client that has `toolyard mcp --hub` as its server."""
    talk = EntryTalk(era, "talk", ALL, ANSWERS)
    machine = Background(laptop.home, laptop.env)
    async with talk.group, talk.started(machine, "--hub", laptop.hub, *words):
        yield talk


def change_grant(laptop: Laptop, **changes: Any) -> OAuthGrant:
    """Change the login that a machine keeps; the login as it was."""
    grant = laptop.grants.read(door_of(laptop.hub))
    assert grant is not None
    laptop.grants.write(replace(grant, **changes))
    return grant


async def raw_exchange(laptop: Laptop, *lines: bytes, words: tuple[str, ...] = ()) -> list[Json]:
    """Write lines to the stand-in and close; the messages that it wrote."""
    process = await laptop.start("mcp", "--hub", laptop.hub, *words)
    async with asyncio.timeout(120):
        out, errors = await process.communicate(b"".join(line + b"\n" for line in lines))
    assert process.returncode == 0, errors
    return [json.loads(line) for line in out.splitlines()]


async def fill_in(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada"})


@pytest.mark.parametrize("mode", MODES)
async def test_the_sdk_sees_what_the_http_door_lists_calls_and_answers_questions(
    asking: Doors, member: Laptop, mode: str
) -> None:
    grant = member.grants.read(door_of(member.hub))
    assert grant is not None
    listed = await bearer(asking, grant.access_token).ask("tools/list")
    command, *words = toolyard("mcp", "--hub", member.hub)
    server = StdioServerParameters(command=command, args=words, env=member.env)

    async with Client(server, mode=mode, elicitation_callback=fill_in) as client:
        tools = (await client.list_tools()).tools
        echoed = await client.call_tool("old__echo", {"text": "hello"})
        asked = await client.call_tool("old__ask", {})

    assert [tool.name for tool in tools] == [tool["name"] for tool in listed["result"]["tools"]]
    assert "hello" in str(echoed) and "Ada" in str(asked)


@pytest.mark.parametrize("server", ["old", "new"])
@pytest.mark.parametrize("era", ERAS)
async def test_questions_progress_and_cancelling_pass_both_ways(
    member: Laptop, era: str, server: str
) -> None:
    async with standing_in(member, era) as talk:
        assert "Ada" in text_of(await talk.call(f"{server}__ask"))
        assert talk.asked
        done = await talk.call(f"{server}__progress", {"n": 2}, meta={"progressToken": "p"})
        assert text_of(done) == "2 steps"
        assert len(await talk.wait_heard("notifications/progress", 2)) == 2
        params = {"name": f"{server}__progress", "arguments": {"n": 10_000, "ms": 20}}
        message = talk.message("tools/call", params, {"progressToken": "q"})
        waiting = talk.group.create_task(talk.exchange(message))
        await talk.wait_heard("notifications/progress", 3)
        await talk.cancel(message["id"], waiting)
        assert text_of(await talk.call(f"{server}__echo", {"text": "on"})) == "on"


async def test_arguments_that_http_wants_as_headers_get_there(member: Laptop) -> None:
    async with standing_in(member, "modern") as talk:
        for region in ("north", "süd"):
            answer = await talk.call("present__test_x_mcp_header", {"region": region})
            assert text_of(answer) == f"The region is {region}."


async def test_a_profile_or_a_server_is_shown_alone(asking: Doors, member: Laptop) -> None:
    await put_profile(asking, "echoes", allow=["old/echo"])
    await admit(asking, "developers", "asking", "echoes")
    for words, name in ((("--profile", "echoes"), "old__echo"), (("--server", "old"), "echo")):
        async with standing_in(member, "legacy", *words) as talk:
            names = {tool["name"] for tool in (await talk.result("tools/list"))["tools"]}
            assert name in names and "new__echo" not in names
    (refused,) = await raw_exchange(member, INITIALIZE, words=("--profile", "secret"))
    assert "not admitted to the profile" in refused["error"]["message"] and refused["id"] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--agent", "codex"),
        ("--app", "x"),
        ("--standalone",),
        ("--config", "x"),
        ("--profile", "a", "--server", "b"),
    ],
)
def test_options_that_mean_nothing_there_are_refused(
    capfd: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    def nobody(*_: object) -> None:
        raise AssertionError("nothing may be served")

    options = attach.parse(["--hub", "https://yard.example.com", *words])
    assert options is not None
    assert attach.run(options, nobody, nobody) == Exit.FAILED
    errors = capfd.readouterr().err
    assert "does not go with --hub" in errors and "hint:" in errors


INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    }
).encode()
LIST = b'{"jsonrpc":"2.0","id":"two","method":"tools/list"}'


async def test_lines_that_come_all_at_once_are_answered_before_it_leaves(member: Laptop) -> None:
    initialized = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    answers = await raw_exchange(member, INITIALIZE, initialized, b"", b"nonsense", LIST)

    by_id = {answer["id"]: answer for answer in answers if "id" in answer}
    assert by_id[1]["result"]["serverInfo"]["name"] == "toolyard"
    assert by_id["two"]["result"]["tools"] and by_id[None]["error"]["code"] == -32700


async def test_without_a_login_the_client_is_told_the_one_thing_to_do(
    own: Doors, laptop: Laptop
) -> None:
    process = await laptop.start("mcp", "--hub", laptop.hub)
    async with asyncio.timeout(120):
        out, errors = await process.communicate(INITIALIZE + b"\n" + LIST + b"\n")

    first, second = (json.loads(line)["error"]["message"] for line in out.splitlines())
    assert (
        first
        == second
        == f"you are not logged in to {laptop.hub}; run: toolyard login {laptop.hub}"
    )
    assert errors.decode().count("toolyard login") == 1


@pytest.mark.parametrize("era", ERAS)
async def test_a_token_that_expired_or_is_refused_is_renewed_unseen(
    member: Laptop, era: str
) -> None:
    async with standing_in(member, era) as talk:
        assert await talk.result("tools/list")
        for changes in ({"issued_at": 0.0, "expires_at": 1.0}, {"access_token": REFUSED}):
            before = change_grant(member, **changes)
            assert text_of(await talk.call("old__echo", {"text": "hello"})) == "hello"
            after = member.grants.read(door_of(member.hub))
            assert after is not None and after.refresh_token != before.refresh_token


async def test_windows_that_renew_at_the_same_time_keep_their_one_login(member: Laptop) -> None:
    async with standing_in(member, "legacy") as one, standing_in(member, "modern") as other:
        change_grant(member, issued_at=0.0, expires_at=1.0)
        async with asyncio.TaskGroup() as group:
            for talk in (one, other) * 5:
                group.create_task(talk.call("new__echo", {"text": "hello"}))
        assert text_of(await one.call("new__echo", {"text": "still here"})) == "still here"


@pytest.mark.parametrize("era", ERAS)
async def test_whoever_logs_out_is_refused_and_goes_on_after_logging_in(
    asking: Doors, member: Laptop, era: str
) -> None:
    async with standing_in(member, era) as talk:
        assert await talk.result("tools/list")
        assert (await member.run("logout")).code == 0
        fault = await talk.fault("tools/list")
        assert fault["message"].endswith(f"run: toolyard login {member.hub}")
        assert (await member.log_in(asking)).code == 0
        assert text_of(await talk.call("old__echo", {"text": "again"})) == "again"


@pytest.mark.parametrize("era", ERAS)
async def test_a_member_who_was_removed_is_told_so_with_the_next_call(
    asking: Doors, member: Laptop, era: str
) -> None:
    async with standing_in(member, era) as talk:
        assert await talk.result("tools/list")
        assert (await send(asking, "DELETE", f"/api/v1/members/{ANN}")).status == 200
        fault = await talk.fault("tools/call", {"name": "old__echo", "arguments": {}})
        assert fault["message"] == f"{ANN} is not admitted to this hub; ask its keeper"


@pytest.mark.parametrize("era", ERAS)
async def test_changes_are_heard(asking: Doors, member: Laptop, era: str) -> None:
    async with standing_in(member, era) as talk, hearing(talk):
        await put_profile(asking, "asking", allow=["old/echo"])
        await talk.wait_heard(CHANGED)


@asynccontextmanager
async def hearing(talk: EntryTalk) -> AsyncIterator[None]:
    """Listen to changes, in the way of the client's era."""
    if not talk.is_modern:
        await talk.result("tools/list")
        yield
        return
    async with listening(talk, toolsListChanged=True):
        yield


async def test_a_client_that_listens_does_not_notice_that_tokens_expire(home: Path) -> None:
    issuer = TeamIssuer()
    with issuing(issuer):
        async with open_yard(home, issuer=issuer.url) as doors:
            await put_echoes(doors)
            laptop = Laptop(home / "laptop", f"http://{doors.host}")
            issuer.hub = door_of(laptop.hub)
            issuer.good_for = -57  # the hub allows for clocks that differ by a minute
            issuer.life = 2
            process, page = await laptop.begin_login()
            async with httpx2.AsyncClient(timeout=30, **PLAIN) as browser:
                await browser.get(page, follow_redirects=True)
            assert (await end(process)).code == 0
            async with standing_in(laptop, "modern") as talk, hearing(talk):
                # Where a stream ends, something may have been missed: it reads the lists again.
                await talk.wait_heard(CHANGED, 2)
                assert len(await talk.wait_heard(ACKNOWLEDGED)) == 1
                assert "one__echo" in str(await talk.result("tools/list"))


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_outlives_the_hub(home: Path, era: str) -> None:
    port = free_port()
    async with open_asking(home, port) as doors:
        await put_profile(doors, "asking", allow=["old"])
        await admit(doors, "developers", "asking")
        await make_member(doors)
        laptop = Laptop(home / "laptop", f"http://{doors.host}")
        assert (await laptop.log_in(doors)).code == 0
        client = standing_in(laptop, era)
        talk = await client.__aenter__()
        listener = hearing(talk)
        await listener.__aenter__()
    try:
        away = await talk.fault("tools/list")
        assert "is away" in away["message"]
        async with open_asking(home, port) as doors:
            assert text_of(await talk.call("old__echo", {"text": "back"})) == "back"
            seen = len(talk.heard)
            await put_profile(doors, "asking", allow=["old/echo"])
            async with asyncio.timeout(60):
                while not any(m["method"] == CHANGED for m in talk.heard[seen:]):
                    await talk.wait_heard(
                        CHANGED, sum(m["method"] == CHANGED for m in talk.heard) + 1
                    )
            await listener.__aexit__(None, None, None)
            await client.__aexit__(None, None, None)
    except BaseException:
        talk.process.kill()
        raise
