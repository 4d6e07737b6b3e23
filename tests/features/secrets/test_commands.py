from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Toolyard
from tests.fixtures.keyrings import InMemory
from tests.fixtures.own_home import write_servers
from toolyard.console.exits import Exit

VALUE = "s3cr3t-from-stdin"
pytestmark = pytest.mark.usefixtures("own_home")


def test_a_secret_is_set_listed_with_its_users_and_removed(
    toolyard: Toolyard, a_keyring: InMemory, own_home: Path
) -> None:
    write_servers(own_home, hub={"command": "x", "env": {"T": "${keyring:github}"}})

    code, out, _ = toolyard("secret", "set", "github", stdin=VALUE + "\n")

    assert code == 0
    assert "${keyring:github}" in out
    assert a_keyring.kept == {("toolyard", "github"): VALUE}
    code, out, err = toolyard("secret", "list", "--json")
    assert json.loads(out)["secrets"] == [
        {
            "name": "github",
            "kept_in": "keyring",
            "used_by": ["hub"],
            "reference": "${keyring:github}",
            "problem": "",
        }
    ]
    assert VALUE not in out + err
    assert toolyard("secret", "remove", "github")[0] == 0
    assert toolyard("secret", "remove", "github")[0] == Exit.NOT_FOUND
    assert json.loads(toolyard("secret", "list", "--json")[1])["secrets"][0]["kept_in"] == "missing"


def test_a_value_on_the_command_line_is_refused_and_not_repeated(
    toolyard: Toolyard, a_keyring: InMemory
) -> None:
    code, out, err = toolyard("secret", "set", "github", VALUE)

    assert code == Exit.USAGE
    assert VALUE not in out + err
    assert a_keyring.kept == {}


@pytest.mark.usefixtures("no_keyring")
def test_without_a_keyring_the_command_offers_the_other_ways(
    toolyard: Toolyard, home: Path
) -> None:
    code, _, err = toolyard("secret", "set", "github", stdin=VALUE)

    assert code == Exit.CONFIG
    assert "no keyring" in err
    assert "--file PATH" in err
    assert "${env:NAME}" in err
    file = home / "github.key"
    code, out, _ = toolyard("secret", "set", "github", "--file", str(file), stdin=VALUE)
    assert code == 0
    assert f"${{file:{file}}}" in out
    assert file.read_text() == VALUE + "\n"
    assert file.stat().st_mode & 0o777 == 0o600
    code, out, _ = toolyard("secret", "set", "github", "--file", str(file), stdin="another-one")
    assert (code, file.read_text()) == (0, "another-one\n")


@pytest.mark.usefixtures("no_keyring")
def test_a_file_that_is_there_is_used_as_it_is(toolyard: Toolyard, home: Path) -> None:
    file = home / "theirs"
    file.write_text(VALUE)
    file.chmod(0o644)
    assert toolyard("secret", "set", "github", "--file", str(file), stdin="x")[0] == Exit.CONFIG
    file.chmod(0o600)

    assert toolyard("secret", "set", "github", "--file", str(file), stdin="x")[0] == 0

    assert file.read_text() == VALUE
