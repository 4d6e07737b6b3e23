"""Members log in to their team's hub from their own machine, and out again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from tests.control.company import open_yard
from tests.doors.doors import Doors
from tests.e2e.talk import PLAIN
from tests.features.authorization.people import Browser, bearer, invite, make_member
from tests.features.members.test_sdk_login import TeamIssuer, put_echoes
from tests.features.remote_hub.laptop import ANN, Laptop, end, modes, told
from tests.fixtures.issuer import issuing
from toolyard.console.exits import Exit
from toolyard.core.errors import ConfigError
from toolyard.features.remote_hub.address import door_of, read_hub


async def test_a_member_logs_in_once_and_is_told_who_they_are_and_what_they_may_use(
    own: Doors, laptop: Laptop
) -> None:
    await make_member(own)

    done = await laptop.log_in(own)

    answer = told(done)
    assert answer["person"] == ANN and answer["hub"] == laptop.hub
    assert {"one__echo", "two__echo"} <= {*answer["tools"]}  # type: ignore[misc]
    assert "one__env" not in answer["tools"]  # type: ignore[operator]
    grant = laptop.grants.read(door_of(laptop.hub))
    assert grant is not None and grant.refresh_token
    assert grant.access_token not in done.out + done.err
    assert answer["kept_in"] == "file" and modes(laptop.home / "state" / "hubs") == {"0o600"}


async def test_logging_out_ends_the_login_at_the_hub_too(own: Doors, laptop: Laptop) -> None:
    await make_member(own)
    await laptop.log_in(own)
    grant = laptop.grants.read(door_of(laptop.hub))
    assert grant is not None and await bearer(own, grant.access_token).tools()

    answer = told(await laptop.run("logout", "--json"))

    assert answer == {"done": "logged-out", "hub": laptop.hub, "revoked": True}
    assert laptop.grants.listed() == {}
    refused = await bearer(own, grant.access_token).post({"jsonrpc": "2.0", "method": "x"})
    assert refused.status == 401
    again = await laptop.run("logout")
    assert again.code == Exit.NOT_FOUND and "not logged in to any hub" in again.err


@pytest.mark.usefixtures("no_keyring")
async def test_an_issuer_that_is_away_does_not_keep_a_login_here(
    own: Doors, laptop: Laptop
) -> None:
    await make_member(own)
    await laptop.log_in(own)
    grant = laptop.grants.read(door_of(laptop.hub))
    assert grant is not None
    away = replace(grant, issuer="http://127.0.0.1:9", url="http://127.0.0.1:9/mcp")
    laptop.grants.write(away)

    several = await laptop.run("logout")
    assert several.code == Exit.USAGE and laptop.hub in several.err and ":9" in several.err
    done = await laptop.run("logout", "http://127.0.0.1:9")

    assert done.code == 0 and "not ended" in done.err and "good until" in done.err
    assert list(laptop.grants.listed()) == [door_of(laptop.hub)]


async def test_somebody_without_an_admission_is_told_so(own: Doors, laptop: Laptop) -> None:
    browser = Browser(own)
    await browser.join(await invite(own, "eve@example.com", groups=["nobody"]))
    process, page = await laptop.begin_login()

    refused = await browser.log_in(page, "eve@example.com")
    assert b"not admitted" in refused.body
    process.terminate()
    await process.wait()
    assert laptop.grants.listed() == {}


async def test_with_an_issuer_of_the_team_it_works_the_same(home: Path) -> None:
    issuer = TeamIssuer()
    with issuing(issuer):
        async with open_yard(home, issuer=issuer.url) as doors:
            await put_echoes(doors)
            laptop = Laptop(home / "laptop", f"http://{doors.host}")
            issuer.hub = door_of(laptop.hub)
            process, page = await laptop.begin_login()
            async with httpx2.AsyncClient(timeout=30, **PLAIN) as browser:
                await browser.get(page, follow_redirects=True)
            answer = told(await end(process))
    assert answer["person"] == ANN and answer["issuer"] == issuer.url
    assert "one__echo" in answer["tools"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("url", "hub"),
    [
        ("https://Yard.example.com", "https://yard.example.com"),
        ("https://yard.example.com/", "https://yard.example.com"),
        ("https://yard.example.com/mcp", "https://yard.example.com"),
        ("https://example.com/yard/mcp/", "https://example.com/yard"),
        ("http://127.0.0.1:7420", "http://127.0.0.1:7420"),
    ],
)
def test_a_hub_is_named_as_people_write_it(url: str, hub: str) -> None:
    assert read_hub(url) == hub


@pytest.mark.parametrize(
    "url",
    [
        "yard.example.com",
        "ftp://yard.example.com",
        "http://yard.example.com",
        "https://ann:secret@yard.example.com",
        "https://yard.example.com/mcp?token=x",
        "https://yard.example.com/mcp/p/code",
        "https://[yard",
    ],
)
def test_what_is_no_address_of_a_hub_is_refused_in_a_sentence(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_hub(url)
    assert caught.value.hint and "secret" not in str(caught.value)
