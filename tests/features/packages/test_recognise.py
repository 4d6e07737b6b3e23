"""Which commands are understood as a package, and which are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.core.model import Command
from toolyard.core.packages import Package, installation_name, recognise, start_installed

FILES = "@modelcontextprotocol/server-filesystem"
UNDERSTOOD = {
    "npx hello": Package("npm", "hello", "hello", ""),
    "npx -y hello@1.2.3 --stdio x": Package("npm", "hello", "hello@1.2.3", "", ("--stdio", "x")),
    f"npx --yes {FILES} /data": Package("npm", FILES, FILES, "", ("/data",)),
    f"npx -y {FILES}@latest": Package("npm", FILES, f"{FILES}@latest", ""),
    "npx -y hello@^1.2": Package("npm", "hello", "hello@^1.2", ""),
    "npx -y -- hello -y": Package("npm", "hello", "hello", "", ("-y",)),
    "npx -y --package hello@1 bin a": Package("npm", "hello", "hello@1", "bin", ("a",)),
    "npx -y --package=hello -- bin": Package("npm", "hello", "hello", "bin"),
    "npx -p hello bin": Package("npm", "hello", "hello", "bin"),
    "/opt/node/bin/npx -q hello": Package("npm", "hello", "hello", ""),
    "uvx mcp-server-time": Package("pypi", "mcp-server-time", "mcp-server-time", "mcp-server-time"),
    "uvx time@1.2 --tz UTC": Package("pypi", "time", "time==1.2", "time", ("--tz", "UTC")),
    "uvx time@latest": Package("pypi", "time", "time", "time"),
    "uvx time==1.2": Package("pypi", "time", "time==1.2", "time"),
    "uvx --from big[cli]>=1,<2 small -v": Package(
        "pypi", "big", "big[cli]>=1,<2", "small", ("-v",)
    ),
    "uvx --with mcp<2 --with=a,b time": Package(
        "pypi", "time", "time", "time", (), ("mcp<2", "a", "b")
    ),
    "uvx -p 3.12 time": Package("pypi", "time", "time", "time", (), (), "3.12"),
    "pipx run time --tz UTC": Package("pypi", "time", "time", "time", ("--tz", "UTC")),
    "pipx run -q --spec big[cli]==1.2 small": Package("pypi", "big", "big[cli]==1.2", "small"),
    "/opt/bin/pipx run --python 3.12 time": Package("pypi", "time", "time", "time", (), (), "3.12"),
    "uv tool run time -x": Package("pypi", "time", "time", "time", ("-x",)),
}
LEFT_ALONE = [
    "",
    "node server.js",
    "npx",
    "npx -y",
    "npx -y -c hello",
    "npx --no-install hello",
    "npx --yes=true hello",
    "npx -y ./here",
    "npx -y ../here",
    "npx -y /abs/path",
    "npx -y github:somebody/something",
    "npx -y somebody/something",
    "npx -y https://example.com/x.tgz",
    "npx -y alias@npm:other",
    "npx -y hello@file:../x",
    "npx -y hello -- --stdio",
    "npx -p a -p b bin",
    "npx -p a",
    "npx -p",
    "npx -p -y hello",
    "npx -p=hello bin",
    "npx --registry https://example.com hello",
    "uvx",
    "uvx --from git+https://example.com/x tool",
    "uvx --from ./here tool",
    "uvx --from a --from b tool",
    "uvx --refresh time",
    "uvx --default-index https://example.com time",
    "uvx --with ./local time",
    "uvx --with-requirements r.txt time",
    "uvx python -m server",
    "uvx --from big python3.12 -m big",
    "pipx install time",
    "pipx run",
    "pipx run time@1.2",
    "pipx run --spec git+https://example.com/x tool",
    "pipx run --pip-args=--pre time",
    "pipx run https://example.com/x.py",
    "uv run server.py",
    "uv tool install time",
    "npx.js hello",
]
WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), max_size=12
) | st.sampled_from(
    [
        "npx",
        "uvx",
        "pipx",
        "uv",
        "tool",
        "run",
        "-y",
        "--",
        "-p",
        "--package",
        "--from",
        "--with",
        "a@1",
    ]
)


@pytest.mark.parametrize("command", UNDERSTOOD)
def test_a_package_is_understood(command: str) -> None:
    assert recognise(tuple(command.split())) == UNDERSTOOD[command]


@pytest.mark.parametrize("command", LEFT_ALONE)
def test_what_is_in_doubt_is_left_alone(command: str) -> None:
    assert recognise(tuple(command.split())) is None


@given(st.lists(WORDS, max_size=8))
def test_any_words_are_read_and_nothing_but_an_end_of_them_becomes_arguments(
    words: list[str],
) -> None:
    package = recognise(tuple(words))

    if package is not None:
        assert package.args == tuple(words)[len(words) - len(package.args) :]
        assert not package.spec.startswith("-")
        assert "/" not in package.binary
        assert "/" not in installation_name(package, ())
        assert not installation_name(package, ()).startswith(".")


@given(st.lists(st.text(max_size=6), max_size=5).filter(lambda words: words[:1] != ["--"]))
def test_whatever_follows_a_package_is_for_its_program(words: list[str]) -> None:
    for launcher in (("npx", "-y", "hello"), ("uvx", "hello"), ("pipx", "run", "hello")):
        package = recognise((*launcher, *words))

        assert package is not None
        assert package.args == tuple(words)


def test_commands_that_would_fetch_the_same_share_an_installation() -> None:
    one, other = recognise(("npx", "-y", "hello", "a")), recognise(("npx", "hello", "b"))
    assert one is not None and other is not None

    assert installation_name(one, (("TOKEN", "x"),)) == installation_name(other, ())


@pytest.mark.parametrize(
    "command", ["npx hello@1", "npx -p hello other", "uvx hello", "uvx --with x hello"]
)
def test_another_version_program_or_company_is_another_installation(command: str) -> None:
    plain, other = recognise(("npx", "hello")), recognise(tuple(command.split()))
    assert plain is not None and other is not None

    assert installation_name(plain, ()) != installation_name(other, ())


def test_a_variable_that_steers_the_launcher_makes_another_installation() -> None:
    package = recognise(("npx", "hello"))
    assert package is not None

    steered = installation_name(package, (("npm_config_registry", "https://example.com"),))

    assert steered != installation_name(package, ())


def test_the_installed_program_gets_all_that_its_launcher_would_have_passed_on() -> None:
    command = Command(("npx", "-y", "hello", "a"), (("X", "1"), ("PATH", "/bin")), "/tmp")
    package = recognise(command.argv)
    assert package is not None

    made = start_installed(command, package, "/pins/hello", "/pins:/bin")

    assert made == Command(("/pins/hello", "a"), (("X", "1"), ("PATH", "/pins:/bin")), "/tmp")
