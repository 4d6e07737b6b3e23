"""Secrets of servers move into the store under names that tell what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.keyrings import InMemory
from toolyard.core.model import Command, Endpoint
from toolyard.features.secrets.moving import MovedSecrets, SecretMover, make_name, shape_of
from toolyard.features.secrets.store import Secrets
from toolyard.records.secrets.expand import Lookup, expand

TOKEN = "ghp_notARealTokenOnlyForThisTest0123"
OTHER = "ghp_notARealTokenEither0123456789012"


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    return Secrets(tmp_path / "state")


def with_token(value: str) -> Command:
    return Command(("run",), (("GITHUB_TOKEN", value),))


def move(secrets: Secrets, server: str, endpoint: Endpoint) -> MovedSecrets:
    moved = SecretMover(secrets).move_out(server, endpoint)
    for name, value in moved.values.items():
        secrets.keep(name, value)
    return moved


def test_what_was_moved_is_the_same_once_its_references_are_filled_in(
    secrets: Secrets, a_keyring: InMemory
) -> None:
    env = (("GITHUB_TOKEN", TOKEN), ("PASSWORD", "not $${a reference}"))
    command = Command(("run", "--db=postgres://me:pw@h/x"), env)

    moved = move(secrets, "github", command)

    assert a_keyring.kept["toolyard", "github-token"] == TOKEN
    assert moved.endpoint == Command(
        ("run", "--db=postgres://me:${keyring:github-password}@h/x"),
        (
            ("GITHUB_TOKEN", "${keyring:github-token}"),
            ("PASSWORD", "${keyring:github-password-2}"),
        ),
    )
    assert expand(moved.endpoint, Lookup({})) == expand(command, Lookup({}))


def test_without_a_keyring_a_private_file_takes_each(secrets: Secrets, no_keyring: None) -> None:
    moved = move(secrets, "github", with_token(TOKEN))

    file = secrets.folder / "github-token"
    assert isinstance(moved.endpoint, Command)
    assert moved.endpoint.env == (("GITHUB_TOKEN", f"${{file:{file}}}"),)
    assert (file.read_text(), file.stat().st_mode & 0o777) == (f"{TOKEN}\n", 0o600)
    assert secrets.folder.stat().st_mode & 0o777 == 0o700
    assert expand(moved.endpoint, Lookup({})) == with_token(TOKEN)


def test_another_value_gets_another_name_and_the_same_value_the_same(
    secrets: Secrets, a_keyring: InMemory
) -> None:
    move(secrets, "github", with_token(TOKEN))

    again = move(secrets, "github", with_token(TOKEN))
    other = move(secrets, "github", with_token(OTHER))

    assert list(again.values) == ["github-token"]
    assert list(other.values) == ["github-token-2"]
    assert a_keyring.kept["toolyard", "github-token"] == TOKEN


def test_what_an_editor_would_ask_for_becomes_a_secret_that_is_needed(
    secrets: Secrets, a_keyring: InMemory
) -> None:
    command = Command(("run", "${input:api-key}"))

    moved = move(secrets, "figma", command)

    assert moved.endpoint == Command(("run", "${keyring:figma-api-key}"))
    assert [secret.name for secret in moved.needed] == ["figma-api-key"]
    secrets.set("figma-api-key", TOKEN)
    assert move(secrets, "figma", command).needed == ()


@pytest.mark.parametrize(
    ("server", "label", "name"),
    [
        ("github", "GITHUB_TOKEN", "github-token"),
        ("github", "Authorization", "github-authorization"),
        ("My Server", "API_KEY", "my-server-api-key"),
        ("git", "github_token", "git-github-token"),
        ("s" * 64, "TOKEN", "s" * 64),
    ],
)
def test_a_secret_is_named_after_its_server_and_its_variable(
    server: str, label: str, name: str
) -> None:
    assert make_name(server, label) == name


def test_a_server_has_the_same_shape_with_its_secret_and_without() -> None:
    plain = with_token(TOKEN)
    assert shape_of(plain) == shape_of(with_token("${keyring:github-token}"))
    assert shape_of(plain) == shape_of(with_token("${file:/x}"))
    assert shape_of(plain) != shape_of(with_token("${GITHUB_TOKEN}"))
