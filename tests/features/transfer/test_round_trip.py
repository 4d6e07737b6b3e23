"""A yard goes from one engine to another and is the same there, whatever is in it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.features.transfer.yards import WHOLE, Json, yard_in
from tests.fixtures.postgres import PostgresServer
from toolyard.features.transfer.yaml_text import read_yaml, write_yaml

pytestmark = pytest.mark.slow

ENGINES = ("files", "postgres")
NAMES = st.sampled_from(["git", "a", "a-b", "x.y", "z1"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0$"), max_size=12)
WORDS = st.sampled_from(["git", "git/*", "*/delete_*", "yes", "1.10", "null", "-p", "~"])


@pytest.fixture(params=ENGINES)
def server(request: pytest.FixtureRequest) -> PostgresServer | None:
    """The database of one engine; None for files and SQLite."""
    if request.param == "files":
        return None
    running: PostgresServer = request.getfixturevalue("postgres")
    return running


def records(bodies: st.SearchStrategy[Json], names: Any = NAMES) -> st.SearchStrategy[Json]:
    return st.dictionaries(names, bodies, max_size=3)


COMMANDS = st.fixed_dictionaries(
    {"command": st.sampled_from(["npx", "uvx", "/opt/with space"])},
    optional={
        "args": st.lists(WORDS, max_size=3),
        "env": st.dictionaries(st.sampled_from(["A", "LEVEL"]), TEXTS, max_size=2),
        "title": TEXTS,
        "disabled": st.booleans(),
        "timeout": st.sampled_from([1, 2.5, 900]),
    },
)
ADDRESSES = st.fixed_dictionaries(
    {"url": st.sampled_from(["http://127.0.0.1:9/mcp", "https://example.com/mcp"])},
    optional={"headers": st.dictionaries(st.just("X-Team"), st.just("a b"), max_size=1)},
)
PROFILE = st.fixed_dictionaries(
    {},
    optional={
        "title": TEXTS.filter(bool),
        "allow": st.lists(WORDS, min_size=1, max_size=3, unique=True),
        "describe": st.dictionaries(WORDS, TEXTS, min_size=1, max_size=2),
    },
)
LISTED = st.one_of(
    st.builds(lambda name: {"mode": "auto", "server": name}, NAMES),
    st.builds(
        lambda args: {"type": "stdio", "command": "own", "args": args, "mode": "auto"},
        st.lists(WORDS, min_size=1, max_size=2),
    ),
)
LIST = st.builds(
    lambda servers: {"enabled": True, "servers": servers}, st.dictionaries(NAMES, LISTED)
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "version": st.just(1),
        "servers": records(st.one_of(COMMANDS, ADDRESSES)),
        "profiles": records(PROFILE),
        "lists": records(LIST, st.sampled_from(["codex", "cursor", "gemini"])),
        "policies": records(
            st.builds(
                lambda deny: {"deny": deny}, st.lists(WORDS, min_size=1, max_size=2, unique=True)
            ),
            st.sampled_from(["local", "docker", "ssh"]),
        ),
        "executors": records(
            st.builds(
                lambda limit: {"type": "ssh", "host": "me@box", "running_limit": limit},
                st.integers(0, 9),
            ),
            st.sampled_from(["box", "lab"]),
        ),
        "quirks": records(
            st.builds(lambda most: {"most_tools": most}, st.integers(20, 90)),
            st.sampled_from(["cursor", "claude-code"]),
        ),
    }
)


def carried_over(document: Json, folder: Path, server: PostgresServer | None) -> None:
    """See that a document makes a yard, and the document of that the same yard elsewhere."""
    first, second = yard_in(folder / "a"), yard_in(folder / "b", server)
    first.apply(document)
    exported = first.export()
    for section, bodies in document.items():
        assert exported[section] == bodies, section
    text = write_yaml(exported)
    applied = second.apply(read_yaml(text))
    assert all(change.done for change in applied.changes) and applied.failed is None
    assert write_yaml(second.export()) == text
    assert second.apply(read_yaml(text), prune=True).changes == []


def test_every_section_is_carried_over_and_back(home: Path, server: PostgresServer | None) -> None:
    carried_over(WHOLE, home, server)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=DOCUMENTS)
def test_any_yard_is_carried_over(home: Path, document: Json) -> None:
    with tempfile.TemporaryDirectory(dir=home) as folder:
        carried_over(document, Path(folder), None)


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=DOCUMENTS)
def test_any_yard_is_carried_over_to_postgresql(
    home: Path, postgres: PostgresServer, document: Json
) -> None:
    with tempfile.TemporaryDirectory(dir=home) as folder:
        carried_over(document, Path(folder), postgres)


def test_a_document_with_prune_makes_any_yard_the_same(home: Path) -> None:
    yard = yard_in(home / "a")
    yard.apply(WHOLE)
    less: Json = {section: {} for section in WHOLE if section != "approvals"}
    less |= {"version": 1, "profiles": {"other": {"allow": ["git"]}}}
    applied = yard.apply(less, prune=True)
    assert applied.failed is None
    assert {k: v for k, v in yard.export().items() if v} == {
        "version": 1,
        "profiles": {"other": {"allow": ["git"]}},
    }
