"""Definitions of apps, and what the environment makes of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.core.apps import App, Install, read_app, write_app
from toolyard.core.errors import ConfigError
from toolyard.core.watches import settle

KUNOBI = App(
    "kunobi",
    "kunobi",
    (("legacy", 3030), ("stable", 3200), ("dev", 3400), ("local", 3500)),
    title="Kunobi",
    prefix="KUNOBI",
)


def definition(**more: Any) -> dict[str, Any]:
    return {"name": "kunobi", "match": "kunobi", "variants": {"dev": 3400}, **more}


def test_a_definition_survives_being_written_and_read() -> None:
    install = Install(
        "My App", "dev", (("linux", ("/opt/a",)),), (("linux", ("{place}", "--dev")),)
    )
    app = App(
        "my-app",
        "mine",
        (("dev", 1), ("e2e", 65535)),
        title="My App",
        path="/",
        prefix="MINE",
        installs=(install,),
        enabled=False,
        misses=7,
        example=("dev", "k8s", '{"a": 1}'),
    )
    assert read_app(msgspec.to_builtins(write_app(app))) == app


def test_most_of_a_definition_can_be_left_out() -> None:
    app = read_app({"name": "mine", "variants": {"dev": 3400}})
    assert (app.match, app.title, app.path) == ("mine", "Mine", "/mcp")
    assert app.is_called("The MINE server")
    assert not app.is_called("yours")


def test_how_many_misses_make_a_variant_leave_is_in_the_definition_or_the_environment() -> None:
    app = read_app(definition(misses=5))
    assert settle(app, {})[0].misses == 5
    assert settle(app, {"TOOLYARD_KUNOBI_SCAN_MISSES": "1"})[0].misses == 1
    assert settle(KUNOBI, {"KUNOBI_SCAN_MISSES": "10"})[0].misses == 10
    assert settle(KUNOBI, {})[0].misses == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"misses": 0},
        {"misses": True},
        {"name": "Kunobi"},
        {"name": "a_b"},
        {"name": "toolyard"},
        {"name": "configured"},
        {"name": 3},
        {"variants": {}},
        {"variants": {"dev": 0}},
        {"variants": {"dev": 65536}},
        {"variants": {"dev": True}},
        {"variants": {"dev": 3400.0}},
        {"variants": {"a__b": 3400}},
        {"variants": {"a/b": 3400}},
        {"variants": {"": 3400}},
        {"variants": {"a": 3400, "b": 3400}},
        {"variants": {f"v{n}": n + 1 for n in range(65)}},
        {"variants": [3400]},
        {"match": " "},
        {"path": "mcp"},
        {"path": "/m cp"},
        {"environment": "kunobi"},
        {"installs": {}},
        {"installs": [{}]},
        {"installs": [{"label": "A", "places": {"beos": ["/a"]}}]},
        {"installs": [{"label": "A", "places": {"linux": "/a"}}]},
        {"enabled": "no"},
        {"title": "a\nb"},
    ],
)
def test_what_cannot_be_used_is_an_error_with_a_hint(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        read_app(definition(**wrong))
    assert caught.value.hint


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_json_whatever_makes_reading_fail_otherwise(value: Any) -> None:
    for tried in (value, definition(variants=value), definition(installs=value)):
        try:
            read_app(tried)
        except ConfigError as error:
            assert error.hint


# The environment.


def names(env: dict[str, str]) -> dict[str, int]:
    watch, _ = settle(KUNOBI, env)
    return {variant.name: variant.port for variant in watch.variants}


def test_without_a_word_everything_is_scanned_every_five_seconds() -> None:
    watch, problems = settle(KUNOBI, {})
    assert watch.names == ("legacy", "stable", "dev", "local")
    assert watch.variants[0].url == "http://127.0.0.1:3030/mcp"
    assert (watch.interval_ms, watch.enabled, problems) == (5000, True, ())


def test_ports_choose_and_named_ports_add() -> None:
    assert names({"KUNOBI_SCAN_PORTS": "3400,3500"}) == {"dev": 3400, "local": 3500}
    assert names({"KUNOBI_SCAN_PORTS": "mine:9000"}) == {
        "legacy": 3030,
        "stable": 3200,
        "dev": 3400,
        "local": 3500,
        "mine": 9000,
    }
    assert names({"KUNOBI_SCAN_PORTS": " 3400 , mine:9000,"}) == {"dev": 3400, "mine": 9000}
    assert names({"KUNOBI_SCAN_PORTS": "dev:9000,3200"}) == {"stable": 3200, "dev": 9000}
    assert names({"KUNOBI_SCAN_PORTS": "mine:3400,3400,3200"}) == {"stable": 3200, "mine": 3400}


def test_our_own_prefix_works_for_every_app_and_wins() -> None:
    env = {"KUNOBI_SCAN_INTERVAL": "1000", "TOOLYARD_KUNOBI_SCAN_INTERVAL": "2000"}
    assert settle(KUNOBI, env)[0].interval_ms == 2000
    plain = App("my-app", "mine", (("dev", 1),))
    assert settle(plain, {"TOOLYARD_MY_APP_SCAN_INTERVAL": "3000"})[0].interval_ms == 3000


def test_a_single_address_takes_the_place_of_legacy() -> None:
    watch, _ = settle(KUNOBI, {"KUNOBI_MCP_URL": "http://localhost:4000"})
    assert watch.variants[-1].url == "http://127.0.0.1:4000/mcp"
    assert watch.names == ("stable", "dev", "local", "legacy")
    far, _ = settle(KUNOBI, {"KUNOBI_MCP_URL": "https://far.example/x"})
    assert (far.variants[-1].url, far.variants[-1].port) == ("https://far.example/x", 443)
    assert not far.variants[-1].is_local


@pytest.mark.parametrize("no", ["false", "FALSE", "0", "no", "off"])
def test_switched_off_only_the_single_address_is_left(no: str) -> None:
    assert names({"KUNOBI_SCAN_ENABLED": no}) == {}
    env = {"KUNOBI_SCAN_ENABLED": no, "KUNOBI_MCP_URL": "http://127.0.0.1:3030/mcp"}
    assert names(env) == {"legacy": 3030}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SCAN_INTERVAL", "soon"),
        ("SCAN_INTERVAL", "0"),
        ("SCAN_INTERVAL", "-5"),
        ("SCAN_INTERVAL", "99999999999999999999999"),
        ("SCAN_MISSES", "0"),
        ("SCAN_MISSES", "often"),
        ("SCAN_PORTS", "99999"),
        ("SCAN_PORTS", "3401"),
        ("SCAN_PORTS", "a b:3400"),
        ("SCAN_PORTS", "dev:"),
        ("SCAN_ENABLED", "perhaps"),
        ("MCP_URL", "127.0.0.1:3030"),
        ("MCP_URL", "http://127.0.0.1:99999/mcp"),
        ("MCP_URL", "http://[oops/mcp"),
    ],
)
def test_a_value_that_cannot_be_read_is_a_problem_and_the_default_stands(
    variable: str, value: str
) -> None:
    watch, problems = settle(KUNOBI, {f"KUNOBI_{variable}": value})
    (problem,) = problems
    assert (problem.code, problem.subject) == ("app-setting", f"KUNOBI_{variable}")
    assert problem.hint
    assert watch == settle(KUNOBI, {})[0]


def test_a_password_in_an_address_is_not_shown() -> None:
    _, (problem,) = settle(KUNOBI, {"KUNOBI_MCP_URL": "ftp://me:secret@host/"})
    assert "secret" not in problem.text + problem.hint
