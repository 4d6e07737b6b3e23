"""What cannot be a login, or leads nowhere: said plainly, and soon. Needs no sshd."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from tests.executors.children import ECHO, python
from tests.executors.replicas import alone
from toolyard.core.errors import ConfigError, StartError
from toolyard.core.model import Command
from toolyard.core.placement import Run
from toolyard.core.sites import Site
from toolyard.executors.ssh import Ssh
from toolyard.executors.ssh_login import read_login


@pytest.mark.parametrize(
    ("host", "user", "name", "port"),
    [
        ("box", "", "box", 0),
        ("ana@box", "ana", "box", 0),
        ("ana@box:2222", "ana", "box", 2222),
        ("ssh://ana@box.example:2222/", "ana", "box.example", 2222),
        ("ana@[::1]:2222", "ana", "::1", 2222),
    ],
)
def test_a_host_is_read_with_user_and_port(host: str, user: str, name: str, port: int) -> None:
    login = read_login(Site("far", "ssh", host))

    assert (login.user, login.name, login.port) == (user, name, port)


@pytest.mark.parametrize("host", ["", "ana@", "-oProxyCommand=evil", "a b", "box:99999", "x/y"])
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match="is no host to log in to") as caught:
        Ssh(Site("far", "ssh", host), alone("hub"))

    assert "user@host" in caught.value.hint


def test_an_unknown_option_is_refused_and_the_known_are_listed() -> None:
    with pytest.raises(ConfigError, match='no option "identiy"') as caught:
        Ssh(Site("far", "ssh", "box", (("identiy", "x"),)), alone("hub"))

    assert "config, identity, keepalive, known_hosts" in caught.value.hint


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan"])
def test_a_keepalive_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="no number of seconds"):
        Ssh(Site("far", "ssh", "box", (("keepalive", text),)), alone("hub"))


async def refusal(site: Site) -> StartError:
    ssh = Ssh(site, alone("hub"))
    try:
        with pytest.raises(StartError) as caught:
            async with asyncio.timeout(20), ssh.open(Run("echo", python(ECHO))):
                pass
    finally:
        await ssh.close()
    return caught.value


async def test_an_unknown_host_is_a_clear_error() -> None:
    error = await refusal(Site("far", "ssh", "no-such-host.invalid"))

    assert 'cannot log in to "no-such-host.invalid"' in str(error)
    assert error.hint


async def test_a_refused_port_is_a_clear_error() -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        error = await refusal(Site("far", "ssh", f"127.0.0.1:{taken.getsockname()[1]}"))

    assert "connection refused" in str(error)
    assert "sshd" in error.hint


async def test_what_is_no_ssh_server_is_a_clear_error() -> None:
    async def chatter(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(chatter, "127.0.0.1", 0)
    async with server:
        error = await refusal(Site("far", "ssh", f"127.0.0.1:{server.sockets[0].getsockname()[1]}"))

    assert 'cannot log in to "127.0.0.1:' in str(error)
    assert "by hand" in error.hint


@pytest.mark.parametrize("option", ["config", "identity"])
async def test_a_missing_file_is_named(option: str) -> None:
    error = await refusal(Site("far", "ssh", "box", ((option, "/no/such/file"),)))

    assert '"/no/such/file" cannot be read' in str(error)


async def test_a_broken_configuration_is_named_with_its_line(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host box\n  Port many\n")

    error = await refusal(Site("far", "ssh", "box", (("config", str(config)),)))

    assert f"{config} line 2" in str(error)


async def test_of_many_that_need_one_connection_one_tries_and_all_hear() -> None:
    calls = 0

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        writer.close()

    async def attempt(ssh: Ssh) -> str:
        try:
            async with ssh.open(Run("echo", python(ECHO))):
                return "opened"
        except StartError as error:
            return str(error)

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server:
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ssh = Ssh(Site("far", "ssh", host), alone("hub"))
        answers = await asyncio.gather(*(attempt(ssh) for _ in range(20)))
        await ssh.close()

    assert calls == 1
    assert len(set(answers)) == 1
    assert "cannot log in" in answers[0]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (Command(()), "its command is empty"),
        (Command(("x\0y",)), "holds a zero byte"),
        (Command(("x",), (("A-B", "1"),)), "'A-B' cannot be set"),
        (Command(("x",), (("A", "1\0"),)), "'A' cannot be set"),
    ],
)
async def test_what_can_be_no_command_is_refused_before_a_connection(
    command: Command, why: str
) -> None:
    ssh = Ssh(Site("far", "ssh", "no-such-host.invalid"), alone("hub"))
    with pytest.raises(StartError, match=why):
        async with ssh.open(Run("odd", command)):
            pass


async def test_a_missing_library_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "asyncssh", None)

    error = await refusal(Site("far", "ssh", "box"))

    assert "pip install 'toolyard[ssh]'" in error.hint


def test_the_library_is_not_loaded_with_the_executor() -> None:
    import subprocess
    import sys

    code = "import sys, toolyard.executors.ssh; sys.exit('asyncssh' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
