"""Logins are kept alike in files and in a shared database, and one hub at a time renews one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.doors.doors import Doors, Json
from tests.features.auth.test_login import browser
from tests.fixtures.hubs import order, sees, two_hubs
from tests.fixtures.issuer import Issuer
from tests.fixtures.postgres import OpenShared, SharedYard
from toolyard.core.model import Url
from toolyard.features.auth.oauth import login
from toolyard.features.auth.store import Grants, open_grants
from toolyard.links.grants import OAuthGrant
from toolyard.records.follow import Follower
from toolyard.records.places import RecordPlaces
from toolyard.records.postgres.renewals import hold_renewal
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.settings import read_settings

KEY = "a-key-of-these-tests-0123456789-abcdef"
GRANT = OAuthGrant("http://x/mcp", "http://x", "http://x/token", "{}", "token-0123456789", "more")

Opened = Callable[[], Grants]


def shared_grants(database: SharedDatabase, home: Path) -> Grants:
    settings = replace(read_settings({}, {"TOOLYARD_HOME": str(home)}), key=(KEY,))
    return open_grants(settings, RecordPlaces(Follower(), database))


@pytest.fixture(params=["file", "database"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, no_keyring: None) -> Opened:
    """Opens the same grants again and again, as several programs would."""
    if request.param == "file":
        return lambda: Grants(tmp_path)
    open_shared: OpenShared = request.getfixturevalue("open_shared")
    return lambda: shared_grants(open_shared(False), tmp_path)


def test_a_grant_is_kept_listed_noted_and_removed(opened: Opened) -> None:
    grants = opened()
    assert grants.listed() == {} and grants.read(GRANT.url) is None
    before = grants.revision()
    listed = grants.write(GRANT)
    other = opened()
    assert other.listed() == {GRANT.url: listed} and other.read(GRANT.url) == GRANT
    assert grants.revision() != before
    other.want(GRANT.url, "mail")
    other.end(GRANT.url)
    noted = grants.listed()[GRANT.url]
    assert (noted.wanted, noted.ended) == ("mail", True)
    renewed = replace(GRANT, access_token="token-9876543210")
    grants.write(renewed)
    assert other.read(GRANT.url) == renewed
    assert not other.listed()[GRANT.url].ended
    assert other.remove(GRANT.url) is not None
    assert grants.read(GRANT.url) is None and grants.remove(GRANT.url) is None


def test_tokens_are_nowhere_unsealed(open_shared: OpenShared, tmp_path: Path) -> None:
    database = open_shared(False)
    shared_grants(database, tmp_path).write(GRANT)
    with database.transaction() as connection:
        rows = str(connection.execute("SELECT * FROM records").fetchall())
    assert GRANT.url in rows
    assert GRANT.access_token not in rows and not list(tmp_path.rglob("auth*"))


def test_of_several_who_renew_a_grant_one_does_at_a_time(opened: Opened) -> None:
    inside, most = [], []
    guard = threading.Lock()

    def renew(number: int) -> None:
        with opened().hold(GRANT.url):
            with guard:
                inside.append(number)
                most.append(len(inside))
            with guard:
                inside.remove(number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(renew, range(8)))
    assert most == [1] * 8


def test_the_turn_of_a_hub_that_is_gone_ends_by_the_clock_of_the_database(
    open_shared: OpenShared,
) -> None:
    database = open_shared(False)
    gone = hold_renewal(database, GRANT.url)
    gone.__enter__()
    with database.transaction() as connection:
        connection.execute("UPDATE renewals SET renewing_until = now() - interval '1 second'")
    with hold_renewal(open_shared(False), GRANT.url):
        gone.__exit__(None, None, None)  # comes back, and takes nothing away
        with database.transaction() as connection:
            assert connection.execute("SELECT count(*) FROM renewals").fetchone() == (1,)


@pytest.mark.usefixtures("no_keyring")
async def test_a_login_at_one_hub_holds_at_both_which_renew_it_in_turns(
    home: Path,
    shared_yard: SharedYard,
    issuer: Issuer,
    open_shared: OpenShared,
) -> None:
    def is_ready(answer: Json) -> bool:
        return bool(answer.get("status") == "ready")

    async with two_hubs(home, shared_yard, key=(KEY,)) as (a, b):
        await order(a, "POST", "/servers", {"name": "remote", "entry": {"url": issuer.mcp}})
        for hub in (a, b):
            await sees(hub, "/servers/remote", lambda answer: answer.get("problem"))
        # Renewed every three seconds, and good for as long as a busy machine needs to open a link.
        issuer.life, issuer.leeway = 4, 600
        await login("remote", Url(issuer.mcp), shared_grants(open_shared(False), home), browser)

        async def is_renewed() -> bool:
            return issuer.refreshes >= 2

        for hub in (a, b):
            await sees(hub, "/servers/remote", is_ready)
        await a.until(is_renewed, 60)
        for hub in (a, b):
            await is_served(hub)
        # A refresh token that is used twice is refused.
        assert issuer.denied == 0
        await order(b, "POST", "/auth/remote/logout")
        await sees(a, "/servers/remote", lambda answer: answer.get("problem"))


async def is_served(hub: Doors) -> None:
    async def answers() -> bool:
        return "result" in await hub.run("remote__whoami")

    await hub.until(answers, 60)
