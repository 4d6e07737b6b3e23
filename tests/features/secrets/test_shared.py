"""Secrets are kept alike in files and in a shared database, where nobody reads them unsealed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.doors.doors import Json
from tests.fixtures.hubs import order, sees, send, two_hubs
from tests.fixtures.postgres import OpenShared, SharedYard
from tests.fixtures.stub_run import running_http_stub
from toolyard.core.errors import SecretError, UnknownNameError
from toolyard.core.model import Url
from toolyard.features.secrets.store import Secrets
from toolyard.records.follow import Follower
from toolyard.records.places import SEALED_KINDS, RecordPlaces
from toolyard.records.postgres.sealed import reseal
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.records.secrets.expand import Lookup, expand
from toolyard.records.secrets.shared import open_shared_secrets
from toolyard.wire.seal import Seal

VALUE = "s3cr3t-value-0123"
OLD, NEW = "an-old-key-of-these-tests-0123456789", "a-new-key-of-these-tests-9876543210"

Opened = Callable[[], Secrets]


def shared_secrets(database: SharedDatabase, folder: Path, *keys: str) -> Secrets:
    return Secrets(folder, open_shared_secrets(RecordPlaces(Follower(), database), keys))


@pytest.fixture(params=["file", "database"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, no_keyring: None) -> Opened:
    """Opens the same secrets again and again, as several programs would."""
    if request.param == "file":
        return lambda: Secrets(tmp_path)
    open_shared: OpenShared = request.getfixturevalue("open_shared")
    return lambda: shared_secrets(open_shared(False), tmp_path, OLD)


def test_a_secret_is_kept_listed_resolved_and_removed(opened: Opened) -> None:
    secrets = opened()
    assert secrets.list() == {} and secrets.changes() == {}
    before = secrets.revision()
    secret = secrets.keep("github", VALUE)
    assert secrets.planned("github") == secret and secrets.revision() != before
    other = opened()
    assert other.list() == {"github": secret} and other.read(secret) == VALUE
    assert other.changes() == {secret.key: secret.changed_at}
    lookup = Lookup({}, keyring=other.look_up)
    endpoint = expand(Url("http://h/", headers=(("X-Key", secret.reference),)), lookup)
    assert isinstance(endpoint, Url) and endpoint.headers == (("X-Key", VALUE),)
    secrets.keep("github", "another-value-0123")
    assert other.read(other.list()["github"]) == "another-value-0123"
    other.remove("github")
    assert secrets.list() == {}
    with pytest.raises(UnknownNameError):
        secrets.remove("github")
    with pytest.raises(SecretError):
        secrets.read(secret)


def test_in_the_database_nothing_can_be_read_or_moved_to_another_name(
    open_shared: OpenShared, tmp_path: Path
) -> None:
    database = open_shared(False)
    secrets = shared_secrets(database, tmp_path, OLD)
    secrets.set("one", VALUE)
    secrets.set("two", "x" * 60_000)
    with database.transaction() as connection:
        rows = str(connection.execute("SELECT * FROM records").fetchall())
        assert "one" in rows and VALUE not in rows
        connection.execute(
            "UPDATE records SET value = (SELECT value FROM records WHERE key = 'one')"
            " WHERE key = 'two'"
        )
    assert not list(tmp_path.iterdir())
    database.refresh()
    reader = shared_secrets(open_shared(False), tmp_path, OLD)
    assert reader.look_up("one") == VALUE
    with pytest.raises(SecretError, match="another key"):
        reader.look_up("two")


def test_a_key_is_replaced_while_hubs_go_on(open_shared: OpenShared, tmp_path: Path) -> None:
    shared_secrets(open_shared(False), tmp_path, OLD).set("one", VALUE)
    assert shared_secrets(open_shared(False), tmp_path, OLD, NEW).look_up("one") == VALUE
    with pytest.raises(SecretError, match="another key"):
        shared_secrets(open_shared(False), tmp_path, NEW).look_up("one")
    reseal(open_shared(False), SEALED_KINDS, Seal([NEW, OLD]))
    assert shared_secrets(open_shared(False), tmp_path, NEW).look_up("one") == VALUE


@pytest.mark.usefixtures("no_keyring")
async def test_a_secret_that_is_set_at_one_hub_lets_the_other_in(
    home: Path, shared_yard: SharedYard
) -> None:
    def is_ready(answer: Json) -> bool:
        return bool(answer.get("status") == "ready")

    with running_http_stub("--token", "right-token-0123") as url:
        entry = {"url": url, "headers": {"Authorization": "Bearer ${keyring:key}"}}
        async with two_hubs(home, shared_yard, key=(OLD,)) as (a, b):
            await order(a, "PUT", "/secrets/key", {"value": "wrong-token-0123"})
            await order(a, "POST", "/servers", {"name": "web", "entry": entry})
            for hub in (a, b):
                await sees(hub, "/servers/web", lambda answer: answer.get("problem"))
            await order(b, "PUT", "/secrets/key", {"value": "right-token-0123"})
            for hub in (a, b):
                await sees(hub, "/servers/web", is_ready)
                rows = (await send(hub, "GET", "/secrets")).json()["secrets"]
                assert [(r["name"], r["place"], r["used_by"]) for r in rows] == [
                    ("key", "database", ["web"])
                ]
                assert b"right-token" not in (await send(hub, "GET", "/status")).body
