from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolyard import settings as module
from toolyard.core.errors import ConfigError
from toolyard.settings import SETTINGS, Settings, in_force, moved_places, read_settings

LIMITS = (
    "page_size",
    "call_timeout",
    "start_timeout",
    "client_message_limit",
    "server_message_limit",
    "session_limit",
    "session_idle",
    "connection_limit",
    "running_limit",
    "instance_limit",
    "unread_limit",
)


def variable(name: str) -> str:
    return next(each.variable for each in SETTINGS if each.name == name)


def test_without_anything_told_the_hub_is_on_loopback_and_limited(home: Path) -> None:
    settings = read_settings({}, os.environ)

    assert (settings.host, settings.port, settings.port_fixed) == ("127.0.0.1", 7420, False)
    assert (settings.separator, settings.expose, settings.token) == ("__", "all", None)
    assert settings.client_message_limit == 4 * 1024 * 1024
    assert settings.server_message_limit == 16 * 1024 * 1024
    assert (settings.running_limit, settings.instance_limit) == (64, 32)
    assert settings.config_file == home / "config" / "toolyard" / "servers.json"
    assert settings.state_dir == home / "state" / "toolyard"
    assert settings.cache_dir == home / "cache" / "toolyard"
    assert settings.data_dir == home / "data" / "toolyard"
    assert settings.runtime_dir == home / "runtime" / "toolyard"


def test_a_flag_wins_over_the_environment_and_that_over_the_default() -> None:
    env = {"TOOLYARD_PORT": "8001", "TOOLYARD_EXPOSE": "search"}

    settings = read_settings({"port": "8002", "expose": None}, env)

    assert (settings.port, settings.expose, settings.separator) == (8002, "search", "__")


@pytest.mark.parametrize("flags", [{"port": 7420}, {}])
def test_a_port_that_was_told_is_fixed_even_if_it_is_the_default(flags: dict[str, object]) -> None:
    env = {} if flags else {"TOOLYARD_PORT": "7420"}

    assert read_settings(flags, env).port_fixed


def test_every_setting_but_whether_the_port_is_fixed_is_described() -> None:
    described = [each.name for each in SETTINGS]

    assert described == [
        each.name for each in dataclasses.fields(Settings) if each.name != "port_fixed"
    ]
    assert all(each.text.endswith(".") for each in SETTINGS)
    assert len({each.variable for each in SETTINGS}) == len(SETTINGS)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "many", "1e99", " ", "²"])
def test_a_limit_is_never_zero_unlimited_or_unreadable(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings({}, {variable(name): value})

    assert variable(name) in str(caught.value)
    assert repr(value) in str(caught.value)
    assert "allowed is" in caught.value.hint


@pytest.mark.parametrize(
    ("flag", "value", "allowed"),
    [
        ("port", "0", "1 to 65535"),
        ("port", "65536", "1 to 65535"),
        ("port", "http", "1 to 65535"),
        ("expose", "some", "all, search"),
        ("separator", "-", "__, ., /, none"),
        ("log_level", "loud", "debug, info, warning, error"),
        ("host", "a b", "without a port"),
        ("config_file", "a\0b", "a path"),
        ("public", "hub.example.com", "an address such as"),
        ("public", "https://hub.example.com:port", "an address such as"),
        ("public", "https://hub.example.com/mcp", "an address such as"),
        ("public", "https://me@hub.example.com", "an address such as"),
        ("issuer", "https://login.example.com:port", "an address such as"),
        ("issuer", "http://login.example.com", "an address such as"),
        ("issuer", "https://login.example.com/ä", "an address such as"),
        ("issuer", "https://login.example.com#", "an address such as"),
        ("audience", 'hub "two"', "visible ASCII"),
        ("groups_claim", "two words", "the name of a claim"),
        ("peer_address", "hub.example.com", "HOST:PORT"),
        ("database_schema", "pg_yard", "1 to 40 of"),
        ("database_schema", "1yard", "1 to 40 of"),
        ("drain_delay", "soon", "more than 0"),
        ("drain_delay", "86401", "more than 0"),
    ],
)
def test_what_cannot_be_used_is_named_with_what_is_allowed(
    flag: str, value: str, allowed: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings({flag: value}, {})

    assert repr(value) in str(caught.value)
    assert allowed in caught.value.hint


@pytest.mark.parametrize(
    ("name", "written", "meant"),
    [
        ("drain_delay", "0", 0.0),
        ("drain_delay", "2.5", 2.5),
        ("idle_timeout", "never", 0.0),
        ("idle_timeout", "90", 90.0),
        ("memory_limit", "none", 0),
        ("memory_limit", "7", 7),
        ("public", "https://hub.example.com:443/", "https://hub.example.com"),
        ("public", "http://[::1]:7420", "http://[::1]:7420"),
        ("issuer", "https://login.example.com/team", "https://login.example.com/team"),
        ("issuer", "http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("scopes", " read  write", ("read", "write")),
        ("groups_claim", "groups", "groups"),
        ("peer_address", "[::1]:7421", "[::1]:7421"),
        ("database", "postgresql://user@host/base", "postgresql://user@host/base"),
        ("database_schema", "yard_1", "yard_1"),
    ],
)
def test_what_was_written_is_read_as_what_it_means(name: str, written: str, meant: object) -> None:
    assert getattr(read_settings({}, {variable(name): written}), name) == meant


def test_a_database_that_cannot_be_used_is_refused_and_never_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings({"database": "mysql://me:passw0rd@host/base"}, {})

    assert "passw0rd" not in str(caught.value)
    assert "postgresql://" in caught.value.hint


@pytest.mark.parametrize("alone", ["tls_cert", "tls_key"])
def test_a_certificate_without_its_key_is_an_error_and_so_is_the_reverse(alone: str) -> None:
    with pytest.raises(ConfigError, match="of no use without"):
        read_settings({alone: "file.pem"}, {})


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no such variables")
def test_variables_that_lead_away_from_the_usual_directories_are_named(home: Path) -> None:
    usual = {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "XDG_DATA_HOME": "data"}

    assert moved_places(usual) == {}
    assert moved_places(usual | {"XDG_STATE_HOME": "/s"}) == {"XDG_STATE_HOME": "/s"}
    assert moved_places(usual | {"TOOLYARD_HOME": "/t"}) == {"TOOLYARD_HOME": "/t"}


def test_a_flag_nobody_knows_is_an_error() -> None:
    with pytest.raises(ConfigError, match="colour"):
        read_settings({"colour": "red"}, {})


@pytest.mark.parametrize(("written", "meant"), [("none", ""), (".", "."), ("/", "/"), ("__", "__")])
def test_no_separator_is_written_as_a_word(written: str, meant: str) -> None:
    assert read_settings({"separator": written}, {}).separator == meant


def test_lists_come_from_repeated_flags_or_commas() -> None:
    assert read_settings({"pinned": ("a", "b")}, {}).pinned == ("a", "b")
    assert read_settings({}, {"TOOLYARD_PIN": "a, b,"}).pinned == ("a", "b")


@pytest.mark.parametrize("token", ["short", "with a space in the middle of it", "ümlaut" * 5])
def test_a_token_that_cannot_be_used_is_refused_and_never_shown(token: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings({}, {"TOOLYARD_TOKEN": token})

    assert token not in str(caught.value) + caught.value.hint


def test_the_token_does_not_show_in_the_settings() -> None:
    settings = read_settings({}, {"TOOLYARD_TOKEN": "s3cret-s3cret-s3cret"})

    assert settings.token == "s3cret-s3cret-s3cret"
    assert "s3cret" not in repr(settings)


KEY, NEXT = "fake-key-" + "k" * 32, "fake-key-" + "n" * 32


def test_two_keys_are_good_while_one_is_replaced() -> None:
    assert read_settings({}, {"TOOLYARD_KEY": KEY}).key == (KEY,)
    assert read_settings({}, {"TOOLYARD_KEY": f"{NEXT}, {KEY}"}).key == (NEXT, KEY)


@pytest.mark.parametrize(
    "keys", ["short", KEY + " with a space", f"{KEY},short", f"{KEY},{KEY}", f"{KEY},{NEXT},{KEY}a"]
)
def test_a_key_that_cannot_be_used_is_refused_and_never_shown(keys: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings({}, {"TOOLYARD_KEY": keys})

    text = str(caught.value) + caught.value.hint
    assert "TOOLYARD_KEY" in text and "short" not in text and "k" * 9 not in text


def test_a_key_shows_in_no_list_of_settings() -> None:
    settings = read_settings({}, {"TOOLYARD_KEY": KEY})

    assert KEY not in repr(settings) + repr(in_force(settings))


@pytest.mark.parametrize("name", ["-a", "a.", "a b", "x" * 64, "a/b", "é"])
def test_a_replica_is_called_what_a_label_may_hold(name: str) -> None:
    with pytest.raises(ConfigError, match="TOOLYARD_REPLICA"):
        read_settings({}, {"TOOLYARD_REPLICA": name})

    assert read_settings({}, {"TOOLYARD_REPLICA": "hub-0.yard"}).replica == "hub-0.yard"


def test_an_empty_variable_counts_as_not_set() -> None:
    settings = read_settings({}, {"TOOLYARD_TOKEN": "", "TOOLYARD_PORT": ""})

    assert (settings.token, settings.port_fixed) == (None, False)


def test_one_directory_can_hold_everything(tmp_path: Path) -> None:
    settings = read_settings({}, {**os.environ, "TOOLYARD_HOME": str(tmp_path)})

    assert settings.config_file == tmp_path / "servers.json"
    places = (settings.state_dir, settings.cache_dir, settings.runtime_dir)
    assert places == (tmp_path / "state", tmp_path / "cache", tmp_path / "run")


def test_a_relative_configuration_file_becomes_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert read_settings({"config_file": "a/../my.json"}, {}).config_file == tmp_path / "my.json"


@pytest.mark.parametrize("trouble", ["open to others", "a file", "missing", "relative"])
def test_a_runtime_directory_that_is_not_ours_alone_is_not_used(
    trouble: str, home: Path, tmp_path: Path
) -> None:
    place = tmp_path / "runtime"
    if trouble == "a file":
        place.touch()
    elif trouble != "missing":
        place.mkdir()
        place.chmod(0o777 if trouble == "open to others" else 0o700)
    told = "runtime" if trouble == "relative" else str(place)

    settings = read_settings({}, {**os.environ, "XDG_RUNTIME_DIR": told})

    assert settings.runtime_dir == home / "state" / "toolyard" / "run"


def test_a_client_that_hides_the_runtime_directory_still_finds_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = tmp_path / str(os.geteuid())
    usual.mkdir(mode=0o700)
    monkeypatch.setattr(module, "RUN_USER", str(tmp_path))

    assert read_settings({}, {"HOME": str(home)}).runtime_dir == usual / "toolyard"


def test_without_any_runtime_directory_it_is_below_the_state(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RUN_USER", str(tmp_path / "missing"))

    found = read_settings({}, {"HOME": str(home)}).runtime_dir

    assert found == home / ".local" / "state" / "toolyard" / "run"


@pytest.mark.parametrize("xdg", [True, False])
def test_the_places_are_those_other_programs_use(xdg: bool, home: Path) -> None:
    env = dict(os.environ) if xdg else {"HOME": str(home)}
    script = (
        "import platformdirs; d = platformdirs.PlatformDirs('toolyard', appauthor=False);"
        "print(d.user_config_dir, d.user_state_dir, d.user_cache_dir)"
    )
    asked = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
    )

    settings = read_settings({}, env)

    places = (settings.config_file.parent, settings.state_dir, settings.cache_dir)
    assert asked.stdout.split() == [str(each) for each in places]
