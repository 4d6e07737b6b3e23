from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.fixtures.keyrings import InMemory
from toolyard.core.errors import SecretError, StoreError, UnknownNameError
from toolyard.core.model import Command, Server, ServerId, Url
from toolyard.features.catalog.source import make_report, with_link
from toolyard.features.catalog.store import Catalog
from toolyard.features.secrets.inventory import take_stock
from toolyard.features.secrets.store import Secrets
from toolyard.records.secrets.expand import Lookup, expand, find_secrets, find_unset
from toolyard.records.secrets.keyring import NoKeyringError

VALUE = "s3cr3t-value-0123"


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    return Secrets(tmp_path / "state")


def header(text: str, folder: str | None = None) -> str:
    url = expand(Url("http://h/", headers=(("X-Key", text),)), Lookup({}, folder))
    assert isinstance(url, Url)
    return url.headers[0][1]


def test_a_secret_is_kept_in_the_keyring_and_only_its_name_in_a_file(
    secrets: Secrets, a_keyring: InMemory
) -> None:
    kept = secrets.set("github", VALUE)

    assert header(kept.reference) == VALUE
    assert a_keyring.kept == {("toolyard", "github"): VALUE}
    assert list(secrets.list()) == ["github"]
    assert VALUE not in secrets.index.read_text()
    assert secrets.index.stat().st_mode & 0o777 == 0o600

    secrets.remove("github")

    assert a_keyring.kept == {}
    assert secrets.list() == {}
    with pytest.raises(UnknownNameError, match="no secret 'github'"):
        secrets.remove("github")


@pytest.mark.usefixtures("no_keyring")
def test_without_a_keyring_nothing_is_kept_and_the_other_ways_are_named(secrets: Secrets) -> None:
    with pytest.raises(NoKeyringError) as caught:
        secrets.set("github", VALUE)

    assert "--file PATH" in caught.value.hint
    assert "${env:NAME}" in caught.value.hint
    assert not secrets.index.exists()


def test_a_keyring_that_writes_plain_text_does_not_count(
    secrets: Secrets, a_keyring: InMemory
) -> None:
    import keyring

    class PlaintextKeyring(InMemory):
        pass

    keyring.set_keyring(PlaintextKeyring())
    with pytest.raises(NoKeyringError):
        secrets.set("github", VALUE)


def test_a_secret_may_be_kept_in_a_file_of_the_user_alone(secrets: Secrets, tmp_path: Path) -> None:
    file = tmp_path / "key"

    kept = secrets.set_file("github", file, VALUE)

    assert file.stat().st_mode & 0o777 == 0o600
    assert kept.reference == f"${{file:{file}}}"
    assert header(kept.reference) == VALUE
    secrets.remove("github")
    assert not file.exists()


def test_a_file_that_was_there_is_used_and_never_deleted(secrets: Secrets, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(VALUE + "\n")
    file.chmod(0o600)

    assert header(secrets.set_file("github", file, None).reference) == VALUE
    secrets.remove("github")
    assert file.exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o777])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    file.write_text(VALUE)
    file.chmod(mode)

    with pytest.raises(SecretError, match="others may read") as caught:
        header(f"${{file:{file}}}")
    assert "chmod 600" in caught.value.hint
    assert VALUE not in str(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(VALUE)
    file.chmod(0o600)
    os.chown(file, 12345, 12345)

    with pytest.raises(SecretError, match="belongs to another user"):
        header(f"${{file:{file}}}")


def test_the_path_of_a_file_may_begin_at_home_or_at_the_declaration(home: Path) -> None:
    (home / "key").write_text(VALUE)
    (home / "key").chmod(0o600)

    assert header("${file:~/key}") == VALUE
    assert header("${file:key}", str(home)) == VALUE
    with pytest.raises(SecretError, match="not an absolute path"):
        header("${file:key}")
    with pytest.raises(SecretError, match="there is no file"):
        header("${file:~/none}")


def test_whoever_only_looks_reads_no_secret(a_keyring: InMemory) -> None:
    url = Url("http://h/?${keyring:a}", headers=(("X", "${file:/no/such} ${NO:-${keyring:b}}"),))

    assert find_unset(url, Lookup({})) == ()
    assert find_secrets(url) == ("keyring:a", "file:/no/such", "keyring:b")


def test_stock_is_taken_of_what_is_kept_used_and_missing(
    secrets: Secrets, a_keyring: InMemory
) -> None:
    secrets.set("used", VALUE)
    secrets.set("idle", VALUE)
    a_keyring.set_password("toolyard", "byhand", VALUE)
    command = Command(("x",), env=(("A", "${keyring:used}"), ("B", "${keyring:gone}")))
    url = Url("http://h/", headers=(("X", "${keyring:used}${keyring:byhand}"),))
    servers = [Server(ServerId("one", "c"), command), Server(ServerId("two", "c"), url)]

    rows = {row.name: row for row in take_stock(secrets, servers)}

    assert {name: (row.place, row.used_by) for name, row in rows.items()} == {
        "byhand": ("keyring", ("two",)),
        "gone": ("missing", ("one",)),
        "idle": ("keyring", ()),
        "used": ("keyring", ("one", "two")),
    }
    assert "toolyard secret set gone" in rows["gone"].problem
    assert VALUE not in repr(rows)


@pytest.mark.parametrize("name", ["", "../x", "a b", "-x", "a/b", "x" * 65, "a\n"])
def test_a_name_that_could_be_something_else_is_refused(secrets: Secrets, name: str) -> None:
    with pytest.raises(SecretError, match="cannot name a secret"):
        secrets.set_file(name, Path("/nowhere"), VALUE)


def test_a_damaged_list_of_names_is_said_and_not_overwritten(
    secrets: Secrets, a_keyring: InMemory
) -> None:
    secrets.index.parent.mkdir()
    secrets.index.write_text("{")

    with pytest.raises(StoreError, match="damaged"):
        secrets.set("github", VALUE)
    assert secrets.index.read_text() == "{"


def test_the_catalog_says_where_to_get_what_is_missing(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "catalog")
    definition = {
        "name": "needy",
        "version": "1.0.0",
        "title": "Needy",
        "description": "Needs a key.",
        "authorization": {
            "type": "api_key",
            "required": True,
            "variables": [
                {"name": "KEY", "required": True, "secret": True, "url": "https://k.example/"}
            ],
        },
        "runtime": {"command": "x", "env": {"KEY": "${KEY}"}},
    }
    catalog.put(json.dumps(definition).encode())
    catalog.add("needy")

    (server,) = make_report(catalog.load(), {}).servers

    assert server.problem is not None
    assert server.problem.hint == (
        "get it at https://k.example/, then run: toolyard secret set KEY; "
        "toolyard catalog add needy -e 'KEY=${keyring:KEY}'"
    )
    found = with_link(catalog, server, SecretError("the keyring has no secret 'KEY'", "set it"))
    assert found.hint == "get it at https://k.example/, then set it"
