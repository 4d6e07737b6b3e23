"""The hub's own HTTP: what clients do to a connection, by mistake or on purpose."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median

import pytest

from tests.doors.doors import PATIENCE, Answer, Doors, Raw, call, open_doors
from toolyard.doors.http import connection
from toolyard.doors.http.gate import is_open

PING = json.dumps(call("ping")).encode()
UNFINISHED = {"Transfer-Encoding": "chunked"}
AMBIGUOUS = {
    "both lengths": "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
    "two lengths": "Content-Length: 4\r\nContent-Length: 5\r\n",
    "the same length twice": "Content-Length: 4\r\nContent-Length: 4\r\n",
    "a signed length": "Content-Length: +4\r\n",
    "a list of lengths": "Content-Length: 4, 4\r\n",
    "an endless length": "Content-Length: 99999999999999999999999\r\n",
    "a blank before the colon": "Transfer-Encoding : chunked\r\n",
    "an encoding we do not know": "Transfer-Encoding: gzip\r\n",
    "chunks inside of something": "Transfer-Encoding: chunked, identity\r\n",
    "a folded header": "X-Folded: a\r\n b\r\nContent-Length: 4\r\n",
}


async def exchange(doors: Doors, data: bytes) -> tuple[Answer, bytes]:
    """Send bytes; the first answer and all that follows until the hub hangs up."""
    async with doors.connected() as raw:
        await raw.send(data)
        return await raw.answer(), await raw.rest()


async def is_well(doors: Doors) -> bool:
    """Whether the hub still answers others."""
    async with asyncio.timeout(60):
        return (await doors.ask()).status == 200


@pytest.mark.parametrize("lines", AMBIGUOUS.values(), ids=AMBIGUOUS)
async def test_a_body_whose_end_is_ambiguous_is_refused_and_what_follows_is_not_read(
    doors: Doors, lines: str
) -> None:
    head = doors.request("POST", "/mcp", headers={"Content-Type": "application/json"})
    smuggled = b"0\r\n\r\n" + doors.request("POST", "/api/v1/stop")
    answer, rest = await exchange(doors, head[:-2] + lines.encode() + b"\r\n" + smuggled)
    assert answer.status == 400
    assert answer.headers["connection"] == "close"
    assert rest == b""
    assert await is_well(doors)


async def test_what_stands_behind_a_refused_request_is_not_served(doors: Doors) -> None:
    refused = doors.request("GET", "/api", headers={"Authorization": "Bearer wrong"})
    stop = doors.request("POST", "/api/v1/stop", headers={"Content-Length": "0"})
    answer, rest = await exchange(doors, refused + stop)
    assert (answer.status, rest) == (401, b"")
    assert await is_well(doors)


async def test_a_bad_chunk_is_refused(doors: Doors) -> None:
    head = doors.request("POST", "/mcp", headers={"Transfer-Encoding": "chunked"})
    answer, rest = await exchange(doors, head + b"zz\r\nhello\r\n")
    assert (answer.status, rest) == (400, b"")


async def test_a_body_in_chunks_arrives_whole(doors: Doors) -> None:
    headers = {"Transfer-Encoding": "chunked", "Content-Type": "application/json"}
    head = doors.request("POST", "/mcp", headers={**headers, **await doors.initialize()})
    chunks = b"".join(b"1;note=1\r\n%c\r\n" % byte for byte in PING)
    async with doors.connected() as raw:
        await raw.send(head + chunks + b"0\r\n\r\n")
        assert (await raw.answer()).json()["result"] == {}


async def test_what_trails_a_body_is_no_header(doors: Doors) -> None:
    session = await doors.initialize()
    headers = {"Transfer-Encoding": "chunked", "Content-Type": "application/json"}
    head = doors.request("POST", "/mcp", headers=headers)
    trailer = f"Mcp-Session-Id: {session['Mcp-Session-Id']}\r\n".encode()
    async with doors.connected() as raw:
        await raw.send(head + b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(PING), PING, trailer))
        assert (await raw.answer()).status == 400


async def test_a_body_that_says_it_is_too_large_is_refused_unread(home: Path) -> None:
    async with open_doors(home, client_message_limit=1000) as doors:
        head = doors.request("POST", "/mcp", headers={"Content-Length": "1001"})
        answer, rest = await exchange(doors, head)
        assert (answer.status, rest) == (413, b"")


async def test_a_body_that_grows_too_large_is_refused_while_it_comes(home: Path) -> None:
    async with open_doors(home, client_message_limit=1000) as doors:
        head = doors.request("POST", "/mcp", headers={"Transfer-Encoding": "chunked"})
        answer, _ = await exchange(doors, head + b"1f4\r\n%b\r\n" % (b"x" * 500) * 3)
        assert answer.status == 413
        assert "1000 bytes" in answer.json()["title"]


async def test_a_head_that_is_too_large_is_refused(doors: Doors) -> None:
    many = {f"X-{number}": "x" * 1000 for number in range(40)}
    for headers, path in (({"X-Long": "x" * 40_000}, "/"), (many, "/"), ({}, "/" + "x" * 40_000)):
        answer, _ = await exchange(doors, doors.request("GET", path, headers=headers))
        assert answer.status == 431


async def test_what_the_door_itself_refuses_is_documented_for_every_operation(
    doors: Doors,
) -> None:
    huge = await doors.ask("GET", "/api/v1/status", headers={"X-Huge": "x" * 70_000})
    large = await doors.ask("GET", "/api/v1/status", headers={"Content-Length": "999999999"})
    paths = (await doors.get("/api/v1/openapi.json"))["paths"]

    assert (huge.status, large.status) == (431, 413)
    undocumented = [
        (path, method)
        for path, operations in paths.items()
        for method, operation in operations.items()
        if not {"413", "431"} <= operation["responses"].keys()
    ]
    assert undocumented == []


async def test_a_header_without_end_is_cut_off(doors: Doors) -> None:
    async with doors.connected() as raw:
        await raw.send(b"GET / HTTP/1.1\r\nX-Endless: ")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            await flood(raw)
    assert await is_well(doors)


async def flood(raw: Raw) -> None:
    """Send what may be sent of far too much."""
    async with asyncio.timeout(PATIENCE):
        for _ in range(128):
            await raw.send(b"x" * 65536)


async def test_a_head_that_trickles_is_given_up(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEADER_SECONDS", 0.2)
    async with doors.connected() as raw, asyncio.TaskGroup() as group:
        trickle = group.create_task(drip(raw, doors.request()))
        assert await raw.rest() == b""
        trickle.cancel()


async def drip(raw: Raw, data: bytes) -> None:
    """Send a byte now and then, until nobody takes it."""
    with suppress(ConnectionError):
        for byte in data:
            await raw.send(bytes([byte]))
            await asyncio.sleep(0.02)


async def test_a_body_that_stops_coming_is_given_up(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEADER_SECONDS", 0.1)
    monkeypatch.setattr(connection, "BODY_IDLE_SECONDS", 0.2)
    async with doors.connected() as raw:
        await raw.send(doors.request("POST", "/mcp", headers={"Content-Length": "10"}) + b"1234")
        async with asyncio.timeout(60):
            assert await raw.rest() == b""


async def test_an_idle_connection_is_closed_after_a_while(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEADER_SECONDS", 0.1)
    monkeypatch.setattr(connection, "KEEP_ALIVE_SECONDS", 0.2)
    async with doors.connected() as raw:
        await raw.send(doors.request())
        assert (await raw.answer()).status == 200
        async with asyncio.timeout(60):
            assert await raw.rest() == b""


async def test_500_trickling_connections_delay_nobody(
    doors: Doors, record_property: Callable[[str, object], None]
) -> None:
    trickling = [await asyncio.open_connection("127.0.0.1", doors.port) for _ in range(500)]
    for _, writer in trickling:
        writer.write(b"GET / HTTP/1.1\r\nX-Slow: ")
    loop = asyncio.get_running_loop()
    times = []
    for _ in range(50):
        began = loop.time()
        assert (await doors.ask()).status == 200
        times.append(loop.time() - began)
    for _, writer in trickling:
        writer.close()
    record_property("figure", f"{len(times)} calls answered beside 500 trickling connections")
    assert median(times) < 2.0


async def hold(doors: Doors, data: bytes) -> Raw:
    """A connection that has sent this, and stays."""
    raw = Raw(*await asyncio.open_connection("127.0.0.1", doors.port))
    await raw.send(data)
    return raw


async def test_more_connections_with_a_token_than_allowed_are_told_so(home: Path) -> None:
    async with open_doors(home, connection_limit=3) as doors:
        held = [await hold(doors, doors.request()) for _ in range(3)]
        assert [(await raw.answer()).status for raw in held] == [200, 200, 200]
        assert (await doors.ask()).status == 503
        for raw in held:
            await raw.close()


@pytest.mark.parametrize(
    "said",
    [b"", b"GET / HTTP/1.1\r\nX-Slow: ", b"GET /health/live HTTP/1.1\r\nHost: {host}\r\n\r\n"],
    ids=["nothing", "half a head", "what is open"],
)
async def test_strangers_make_room_for_whoever_has_a_token(home: Path, said: bytes) -> None:
    async with open_doors(home, connection_limit=20) as doors:
        said = said.replace(b"{host}", doors.host.encode())
        known = await hold(doors, doors.request())
        assert (await known.answer()).status == 200
        strangers = [await hold(doors, said) for _ in range(25)]
        for _ in range(30):
            assert (await doors.ask("GET", "/api/v1/status")).status == 200
        await known.send(doors.request())
        assert (await known.answer()).status == 200
        await strangers[0].rest()  # the oldest were hung up on
        for raw in (known, *strangers):
            await raw.close()


@pytest.mark.slow
async def test_2100_unfinished_bodies_without_a_token_lock_nobody_out(home: Path) -> None:
    async with open_doors(home) as doors:
        paths = ("/health/live", "/ui", "/open?code=x", "/", "/mcp", "/api/v1/status")
        for turn in range(2100 // 60):
            path = paths[turn % len(paths)]
            head = doors.request("POST", path, headers=UNFINISHED, leave_out=("Authorization",))
            held = [await hold(doors, head + b"2\r\nxx\r\n") for _ in range(60)]
            said = {(await raw.answer()).status for raw in held}
            assert said == ({413} if is_open(path.partition("?")[0]) else {401}), path
            for raw in held:
                await raw.close()
        assert (await doors.ask("GET", "/api/v1/status")).status == 200


async def test_a_body_without_a_token_is_refused_before_any_of_it_comes(doors: Doors) -> None:
    for lines in (UNFINISHED, {"Content-Length": "1"}, {"Content-Length": "00"}):
        head = doors.request("POST", "/open", headers=lines, leave_out=("Authorization",))
        answer, rest = await exchange(doors, head)
        assert (answer.status, rest) == (413, b"")
    form = doors.request(
        "POST", "/login/for/x", headers={"Content-Length": "1"}, leave_out=("Authorization",)
    )
    assert (await exchange(doors, form))[0].status == 413, "here are no pages of members"
    empty = {"Content-Length": "0"}
    said = await doors.ask("POST", "/open", headers=empty, leave_out=("Authorization",))
    assert said.status == 403


async def test_a_body_in_small_pieces_is_kept_as_one(doors: Doors) -> None:
    head = doors.request("POST", "/mcp", headers=UNFINISHED)
    pieces = 100_000
    async with doors.connected() as raw:
        await raw.send(head + b"2\r\nxx\r\n")
        await is_well(doors)
        before = sys.getallocatedblocks()
        await raw.send(b"2\r\nxx\r\n" * pieces + b"1\r\n")
        for _ in range(20):  # the same loop reads them meanwhile
            await is_well(doors)
        assert sys.getallocatedblocks() - before < pieces // 10
        await raw.send(b"x\r\n0\r\n\r\n")
        assert (await raw.answer()).status == 415


async def test_a_body_that_trickles_for_too_long_is_given_up(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEADER_SECONDS", 0.1)
    monkeypatch.setattr(connection, "BODY_SECONDS", 0.3)
    async with doors.connected() as raw, asyncio.TaskGroup() as group:
        await raw.send(doors.request("POST", "/mcp", headers={"Content-Length": "9000"}))
        trickle = group.create_task(drip(raw, b"x" * 8000))
        assert await raw.rest() == b""
        trickle.cancel()


async def test_a_head_with_too_many_headers_is_refused(doors: Doors) -> None:
    many = {f"x{number}": "" for number in range(connection.HEADER_COUNT)}
    answer, rest = await exchange(doors, doors.request(headers=many))
    assert (answer.status, rest) == (431, b"")


async def test_a_stranger_that_does_not_read_is_hung_up_on(doors: Doors) -> None:
    loop = asyncio.get_running_loop()
    ask = doors.request("GET", "/ui/assets/lib/form.js", leave_out=("Authorization",))
    sent = 0
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.setblocking(False)
        await loop.sock_connect(deaf, ("127.0.0.1", doors.port))
        with suppress(ConnectionError):
            while sent < 1000:  # of more than 10 kB each
                await loop.sock_sendall(deaf, ask)
                sent += 1
                await is_well(doors)  # and so has answered
    assert sent < 500


async def test_a_stranger_may_not_send_far_ahead(doors: Doors) -> None:
    ahead = doors.request(leave_out=("Authorization",)) * 1000
    async with doors.connected() as raw:
        await raw.send(ahead)
        said = (await raw.rest()).count(b"HTTP/1.1 ")
    assert said <= connection.PIPELINED + 2
    assert await is_well(doors)


async def test_a_caller_with_a_token_may_send_far_ahead(doors: Doors) -> None:
    async with doors.connected() as raw, asyncio.TaskGroup() as group:
        group.create_task(raw.send(doors.request() * 1000))
        said = [(await raw.answer()).status for _ in range(1000)]
    assert set(said) == {200}


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://{host}/api/v1/status", 200),
        ("http://evil.example/api/v1/status", 421),
        ("http://evil.example:{port}/api/v1/status", 421),
        ("http://evil@{host}/api/v1/status", 421),
        ("http://127.0.0.1.evil.example:{port}/api/v1/status", 421),
    ],
)
async def test_a_target_with_a_foreign_host_is_turned_away(
    doors: Doors, target: str, status: int
) -> None:
    place = target.format(host=doors.host, port=doors.port)
    assert (await doors.ask("GET", place)).status == status


async def test_requests_sent_ahead_are_answered_in_order(doors: Doors) -> None:
    session = await doors.initialize()
    paths = ["/health/live", "/nothing/1", "/health/live", "/nothing/2", "/ui"] * 8
    ahead = [doors.request("GET", path) for path in paths]
    ahead.insert(3, doors.request("POST", "/mcp", PING, session))
    async with doors.connected() as raw:
        await raw.send(b"".join(ahead))
        said = [(await raw.answer()) for _ in ahead]
    assert said.pop(3).json()["result"] == {}
    assert [a.status for a in said] == [404 if "nothing" in path else 200 for path in paths]
    assert b"/nothing/2" in said[3].body


async def test_a_bad_request_behind_a_good_one_does_not_cost_its_answer(doors: Doors) -> None:
    bad = doors.request("GET", "/api", headers={"Authorization": "wrong"})
    async with doors.connected() as raw:
        await raw.send(doors.request("GET", "/api/v1/status") + bad)
        assert (await raw.answer()).json()["servers"]
        assert (await raw.answer()).status == 401
        assert await raw.rest() == b""


async def test_an_old_client_gets_an_answer_and_the_end(doors: Doors) -> None:
    answer, rest = await exchange(doors, doors.request(version="1.0"))
    assert (answer.status, answer.json(), rest) == (200, {"live": True}, b"")
    assert answer.headers["connection"] == "close"


async def test_a_head_request_gets_the_head_alone(doors: Doors) -> None:
    async with doors.connected() as raw:
        await raw.send(doors.request("HEAD", "/ui") + doors.request())
        head = await raw.answer(bodiless=True)
        assert head.status == 200 and int(head.headers["content-length"]) > 100
        assert (await raw.answer()).json() == {"live": True}


async def test_a_client_that_asks_first_is_told_to_go_on(doors: Doors) -> None:
    headers = {"Expect": "100-continue", **await doors.initialize()}
    data = doors.request("POST", "/mcp", PING, headers)
    async with doors.connected() as raw:
        await raw.send(data[: -len(PING)])
        assert (await raw.answer()).status == 100
        await raw.send(PING)
        assert (await raw.answer()).json()["result"] == {}


async def test_a_client_that_asks_first_and_may_not_is_told_no(doors: Doors) -> None:
    headers = {"Expect": "100-continue", "Authorization": "Bearer wrong"}
    data = doors.request("POST", "/mcp", PING, headers)
    answer, rest = await exchange(doors, data[: -len(PING)])
    assert (answer.status, rest) == (401, b"")


async def test_an_offer_to_upgrade_is_overlooked(doors: Doors) -> None:
    headers = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMA"}
    headers |= await doors.initialize()
    data = doors.request("POST", "/mcp", PING, headers)
    async with doors.connected() as raw:
        for cut in (len(data), len(data) - 5, len(data) - len(PING)):
            await raw.send(data[:cut])
            await asyncio.sleep(0.01)
            await raw.send(data[cut:])
            assert (await raw.answer()).json()["result"] == {}
        await raw.send(doors.request())
        assert (await raw.answer()).status == 200


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
        b"hello\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nBad\x00Name: x\r\n\r\n",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    ],
)
async def test_what_is_not_http_gets_one_refusal(doors: Doors, data: bytes) -> None:
    answer, rest = await exchange(doors, data)
    assert answer.status in (400, 421)
    assert rest == b""
    assert await is_well(doors)
