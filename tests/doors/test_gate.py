"""Who may speak at the HTTP doors: judged by the head, before anything else happens."""

from __future__ import annotations

import json
import re

import pytest

from tests.doors.doors import TOKEN, Doors, call
from toolyard.doors.http.gate import is_open
from toolyard.doors.page.page_sessions import KEYS_KEPT

OWN = ("127.0.0.1", "localhost", "LOCALHOST", "[::1]")
FOREIGN = (
    "evil.example:{port}",
    "127.0.0.1.evil.example:{port}",
    "127.0.0.1:{other}",
    "127.0.0.1",
    "EVIL.EXAMPLE:{port}",
    "127.0.0.1:{port}.evil.example",
    "127.1:{port}",
    "evil.example@127.0.0.1:{port}",
    "0.0.0.0:{port}",
    "",
)
PAGES = [("GET", "/"), ("HEAD", "/"), ("GET", "/open"), ("HEAD", "/open"), ("POST", "/open")]
SHELL = [("GET", "/ui"), ("GET", "/ui/servers/x"), ("HEAD", "/ui"), ("GET", "/ui/assets/app.js")]
AS_BROWSER = ("Authorization",)
MCP = [(method, "/mcp") for method in ("GET", "POST", "DELETE", "PUT", "OPTIONS")]


async def all_routes(doors: Doors) -> list[tuple[str, str]]:
    """Every route there is, as the hub describes itself, its pages and the MCP door."""
    paths = (await doors.ask("GET", "/api/v1/openapi.json")).json()["paths"]
    api = [(m.upper(), re.sub("{[^}]*}", "x", p)) for p, ways in paths.items() for m in ways]
    assert ("POST", "/api/v1/call") in api
    return [*api, *PAGES, *SHELL, *MCP, ("GET", "/api/v1/openapi.json"), ("GET", "/nothing")]


async def closed_routes(doors: Doors) -> list[tuple[str, str]]:
    """Those that want a token."""
    return [(method, path) for method, path in await all_routes(doors) if not is_open(path)]


@pytest.mark.parametrize("host", FOREIGN)
async def test_a_foreign_host_is_turned_away_on_every_route(doors: Doors, host: str) -> None:
    value = host.format(port=doors.port, other=doors.port + 1)
    for method, path in await all_routes(doors):
        assert (await doors.ask(method, path, headers={"Host": value})).status == 421, path


@pytest.mark.parametrize("name", OWN)
async def test_every_name_of_loopback_is_taken(doors: Doors, name: str) -> None:
    answer = await doors.ask(headers={"Host": f"{name}:{doors.port}"})
    assert answer.status == 200


async def test_a_missing_or_doubled_host_is_turned_away(doors: Doors) -> None:
    assert (await doors.ask(leave_out=("Host",))).status == 421
    doubled = {"host": doors.host}
    assert (await doors.ask(headers=doubled)).status == 421
    assert (await doors.ask(headers={"host": "evil.example"})).status == 421


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1", "file://"])
async def test_a_foreign_origin_is_turned_away_on_every_route(doors: Doors, origin: str) -> None:
    for method, path in await all_routes(doors):
        answer = await doors.ask(method, path, headers={"Origin": origin})
        assert answer.status == 403, path
        assert "access-control-allow-origin" not in answer.headers


async def test_our_own_origin_hides_no_foreign_one_beside_it(doors: Doors) -> None:
    ours = f"http://{doors.host}"
    assert (await doors.ask(headers={"Origin": ours})).status == 200
    both = {"Origin": "https://evil.example", "origin": ours}
    assert (await doors.ask(headers=both)).status == 403


@pytest.mark.parametrize(
    "token", ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}"]
)
async def test_without_the_token_no_route_but_the_open_ones_answers(
    doors: Doors, token: str
) -> None:
    for method, path in await closed_routes(doors):
        answer = await doors.ask(method, path, headers={"Authorization": token})
        assert answer.status == 401, path
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_what_answers_without_a_token_gives_nothing_away(doors: Doors) -> None:
    live = await doors.ask("GET", "/health/live", leave_out=("Authorization",))
    assert live.json() == {"live": True}
    opened = await doors.ask("POST", "/open?code=guess", leave_out=("Authorization",))
    assert opened.status == 403
    assert "key" not in opened.json()


async def test_other_spellings_of_an_open_path_are_not_open(doors: Doors) -> None:
    spellings = ["//health/live", "/health/live/", "/health/../open", "/%68ealth/live", "/Open"]
    spellings += ["/open/../api/v1/status", "/open%2f..%2fapi", "/open/..", "/open;x"]
    for path in spellings:
        answer = await doors.ask("GET", path, leave_out=("Authorization",))
        assert answer.status == 401, path


async def fresh_link(doors: Doors) -> str:
    """The path of a link that was printed just now."""
    link = (await doors.ask("POST", "/api/v1/link", headers={"Content-Length": "0"})).json()["link"]
    path: str = link.removeprefix(f"http://{doors.host}")
    return path


async def enter(doors: Doors) -> str:
    """The key that a fresh link is swapped for."""
    answer = await doors.ask("POST", await fresh_link(doors), leave_out=AS_BROWSER)
    key: str = answer.json()["key"]
    return key


async def test_the_printed_link_works_once(doors: Doors) -> None:
    path = await fresh_link(doors)
    first = await doors.ask("POST", path, leave_out=AS_BROWSER)
    assert first.status == 200 and first.json()["key"]
    second = await doors.ask("POST", path, leave_out=AS_BROWSER)
    assert second.status == 403 and "toolyard status" in second.json()["hint"]


@pytest.mark.parametrize("method", ["HEAD", "GET"])
async def test_looking_at_the_printed_link_does_not_use_it_up(doors: Doors, method: str) -> None:
    path = await fresh_link(doors)
    for _ in range(2):
        assert (await doors.ask(method, path, leave_out=AS_BROWSER)).status == 200
    assert (await doors.ask("POST", path, leave_out=AS_BROWSER)).status == 200


async def test_the_key_of_a_page_opens_the_api_and_no_other_door(doors: Doors) -> None:
    key = await enter(doors)
    carried = {"Authorization": f"Bearer {key}", "Origin": f"http://{doors.host}"}
    outside = [r for r in await closed_routes(doors) if not r[1].startswith("/api/v1/")]
    assert ("POST", "/mcp") in outside and ("GET", "/metrics") in outside
    for method, place in outside:
        assert (await doors.ask(method, place, headers=carried)).status == 401, (method, place)
    for place in ("/api/v1/status", "/api/v1/servers", "/api/v1/openapi.json"):
        for method in ("GET", "HEAD"):
            assert (await doors.ask(method, place, headers=carried)).status == 200, place
    for wrong in (f"Bearer {key}x", f"Bearer {key[:-1]}", f"Basic {key}", key):
        refused = {**carried, "Authorization": wrong}
        assert (await doors.ask("GET", "/api/v1/status", headers=refused)).status == 401, wrong


async def test_nothing_that_a_browser_sends_by_itself_opens_a_door(doors: Doors) -> None:
    path = await fresh_link(doors)
    shown = await doors.ask("GET", path, leave_out=AS_BROWSER)
    opened = await doors.ask("POST", path, leave_out=AS_BROWSER)
    page = await doors.ask("GET", "/ui", leave_out=AS_BROWSER)
    assert not any("set-cookie" in answer.headers for answer in (shown, opened, page))
    # What a cookie of ours could hold, as whoever listens on another port would send it on.
    key = opened.json()["key"]
    cookie = "; ".join(f"{name}={key}" for name in ("key", "toolyard", f"toolyard-{doors.port}"))
    forged = {"Cookie": cookie, "Origin": f"http://{doors.host}", "Sec-Fetch-Site": "same-origin"}
    for method, place in await closed_routes(doors):
        answer = await doors.ask(method, place, headers=forged, leave_out=AS_BROWSER)
        assert answer.status == 401, (method, place)


async def test_pages_that_were_let_in_are_counted_and_the_oldest_go_first(doors: Doors) -> None:
    first, *others = [await enter(doors) for _ in range(KEYS_KEPT + 1)]
    asked = [{"Authorization": f"Bearer {key}"} for key in (first, others[0], others[-1])]
    said = [(await doors.ask("GET", "/api/v1/status", headers=each)).status for each in asked]
    assert said == [401, 200, 200]


async def test_the_shell_is_the_same_for_everybody_and_knows_nothing(doors: Doors) -> None:
    shells = set()
    for path in ("/ui", "/ui/", "/ui/servers/nobody", "/ui/../api/v1/status", "/ui/%2e%2e/mcp"):
        answer = await doors.ask("GET", path, leave_out=("Authorization",))
        assert answer.status == 200
        shells.add(answer.body)
    assert len(shells) == 1 and b"nobody" not in shells.pop()
    for path in ("/ui/assets/../web.py", "/ui/assets/%2e%2e/web.py", "/ui/assets/nothing.js"):
        assert (await doors.ask("GET", path, leave_out=("Authorization",))).status == 404


async def test_the_page_lets_nobody_frame_it_or_bring_scripts(doors: Doors) -> None:
    for path in ("/ui", "/ui/assets/app.js", "/open"):
        headers = (await doors.ask("GET", path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert "script-src 'self'" in policy and "frame-ancestors 'none'" in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"


async def test_a_body_that_a_form_can_send_is_not_taken_for_json(doors: Doors) -> None:
    body = json.dumps(call("ping")).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = await doors.ask("POST", "/mcp", body, {"Content-Type": kind})
        assert answer.status == 415


async def test_a_turned_away_request_is_answered_before_its_body_comes(doors: Doors) -> None:
    head = doors.request("POST", "/mcp", headers={"Host": "evil", "Content-Length": "1000"})
    async with doors.connected() as raw:
        await raw.send(head)
        assert (await raw.answer()).status == 421
        assert await raw.rest() == b""
