from __future__ import annotations

import plistlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolyard.core.errors import ConfigError
from toolyard.features.autostart.model import (
    UnitSpec,
    UnitState,
    compare,
    is_unchanged,
    secret_variables,
    service_environment,
    write_plist,
    write_unit,
)

AWKWARD = "/tmp/a b/100% \"new\" $HOME; #1 \\ 'x'"
SPEC = UnitSpec((sys.executable, "up", "--port=8000"), {"PATH": "/usr/bin:/bin"}, "/x/hub.log")


def with_words(*words: str, **environment: str) -> UnitSpec:
    return UnitSpec((sys.executable, *words), environment, "/x/hub.log")


def line_of(text: str, key: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith(f"{key}=")]
    return line.removeprefix(f"{key}=")


def test_a_unit_starts_the_hub_and_lets_its_servers_finish() -> None:
    text = write_unit(SPEC)

    assert line_of(text, "ExecStart") == f"{sys.executable} up --port=8000"
    assert line_of(text, "Environment") == "PATH=/usr/bin:/bin"
    assert line_of(text, "KillMode") == "mixed"
    assert line_of(text, "WantedBy") == "default.target"


def test_awkward_words_are_written_so_that_systemd_reads_them_as_they_are() -> None:
    text = write_unit(with_words(AWKWARD, PLACE=AWKWARD))

    inner = "/tmp/a b/100%% \\\"new\\\" $HOME; #1 \\\\ 'x'"
    assert line_of(text, "Environment") == f'"PLACE={inner}"'
    assert line_of(text, "ExecStart").endswith(f'"{inner.replace("$", "$$")}"')


def test_a_word_with_a_line_end_is_refused() -> None:
    with pytest.raises(ConfigError):
        write_unit(with_words("a\nExecStartPre=/bin/false"))


@pytest.mark.parametrize("spec", [SPEC, with_words(AWKWARD, PLACE=AWKWARD)], ids=["plain", "odd"])
def test_systemd_finds_nothing_wrong_with_a_unit(spec: UnitSpec, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze on this machine")
    file = tmp_path / "toolyard.service"
    file.write_text(write_unit(spec))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_a_property_list_says_the_same() -> None:
    fields = plistlib.loads(write_plist(with_words(AWKWARD, PLACE=AWKWARD)).encode())

    assert fields["ProgramArguments"] == [sys.executable, AWKWARD]
    assert fields["EnvironmentVariables"] == {"PLACE": AWKWARD}
    assert fields["RunAtLoad"] is True
    assert fields["KeepAlive"] == {"SuccessfulExit": False}
    assert fields["StandardErrorPath"] == "/x/hub.log"


@pytest.mark.parametrize("write", [write_unit, write_plist])
def test_what_a_person_changed_is_told_from_what_we_wrote(
    write: Callable[[UnitSpec], str],
) -> None:
    ours, other = write(SPEC).encode(), write(with_words("up")).encode()

    assert compare(None, ours.decode()) is UnitState.ABSENT
    assert compare(ours, ours.decode()) is UnitState.CURRENT
    assert compare(other, ours.decode()) is UnitState.OLDER
    for changed in (ours.replace(b"8000", b"9000"), ours + b"\n", ours[:-80], b"", b"[Unit]\n"):
        assert compare(changed, ours.decode()) is UnitState.EDITED
        assert not is_unchanged(changed)


def test_the_environment_names_the_same_hub_and_holds_no_secret() -> None:
    env = {
        "PATH": "/usr/bin:.::bin:/opt/x/bin:/usr/bin",
        "TOOLYARD_HOME": "/srv/yard",
        "TOOLYARD_PORT": "8000",
        "TOOLYARD_TOKEN": "only-for-this-test-0123456789",
        "TOOLYARD_KEY": "only-for-this-test-0123456789-0123456789",
        "XDG_CONFIG_HOME": "/srv/config",
        "AWS_SECRET_ACCESS_KEY": "only-for-this-test",
    }

    assert service_environment(env) == {
        "PATH": "/usr/bin:/opt/x/bin",
        "XDG_CONFIG_HOME": "/srv/config",
        "TOOLYARD_HOME": "/srv/yard",
        "TOOLYARD_PORT": "8000",
    }
    assert secret_variables(env) == ["TOOLYARD_TOKEN", "TOOLYARD_KEY"]
