"""What a person may get wrong about docker: one error each, with a hint, and no daemon needed."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from tests.executors.replicas import alone
from tests.fixtures.ports import free_port
from toolyard.core.errors import ConfigError, StartError
from toolyard.core.model import Command
from toolyard.core.placement import Run
from toolyard.core.sites import Placement, Site
from toolyard.executors.docker import Docker, spec
from toolyard.executors.docker.host import Defaults, find_host, read_host

RUN = Run("git", Command(("git-server",)), Placement(image="git:1"))


def site(host: str = "", **options: str) -> Site:
    return Site("yard", "docker", host, tuple(options.items()))


async def failure(site: Site) -> StartError:
    docker = Docker(site, alone("hub"))
    with pytest.raises(StartError) as caught:
        async with asyncio.timeout(20), docker.open(RUN):
            pass
    await docker.close()
    return caught.value


@pytest.mark.parametrize(
    ("host", "options", "text", "hint"),
    [
        ("", {"imag": "x"}, 'no option "imag"', "image, key"),
        ("box", {}, '"box" is no host', "tcp://host:2376"),
        ("unix://run/docker.sock", {}, "is no host", "unix:///run"),
        ("http://box:2375", {}, "is no host", "ssh://"),
        ("tcp://box:99999", {}, "no port that exists", "tcp://"),
        ("ssh://-oProxyCommand=x", {}, "is no host", "ssh://"),
        ("tcp://10.0.0.9:2375", {"tls": "no"}, "commands that machine", "ssh://"),
        ("tcp://localhost", {"tls": "maybe"}, 'tls cannot be "maybe"', "yes or no"),
        ("tcp://box", {"cert": "/c.pem"}, "cert and key go together", "both"),
        ("", {"memory": "lots"}, 'memory cannot be "lots"', "MiB"),
        ("", {"cpus": "0"}, 'cpus cannot be "0"', "number"),
        ("", {"cpus": "nan"}, 'cpus cannot be "nan"', "number"),
        ("", {"pull": "always"}, 'pull cannot be "always"', "never or missing"),
        ("", {"reach": "here"}, 'reach "here" is no IP', "10.0.0.5"),
    ],
)
def test_a_site_that_cannot_be_used_is_a_config_error(
    host: str, options: dict[str, str], text: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        Docker(site(host, **options), alone("hub"))

    assert 'executor "yard"' in str(caught.value)
    assert text in str(caught.value)
    assert hint in caught.value.hint


async def test_a_socket_that_is_not_there_is_named(tmp_path: Path) -> None:
    error = await failure(site(f"unix://{tmp_path}/docker.sock"))

    assert f"there is no socket {tmp_path}/docker.sock" in str(error)
    assert "start docker" in error.hint


async def test_a_socket_nobody_listens_on_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))

    assert "cannot reach docker at unix://" in str(await failure(site(f"unix://{path}")))


async def test_a_port_nobody_listens_on_is_refused() -> None:
    port = free_port()
    error = await failure(site(f"tcp://127.0.0.1:{port}", tls="no"))

    assert "cannot reach docker" in str(error)
    assert "does docker run there" in error.hint


async def test_a_daemon_without_tls_is_not_spoken_to() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        error = await failure(site(f"tcp://127.0.0.1:{port}"))

    assert "cannot reach docker" in str(error)
    assert "ca, cert and key" in error.hint


async def test_something_else_that_answers_is_no_daemon() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        error = await failure(site(f"tcp://127.0.0.1:{port}", tls="no"))

    assert "is no docker daemon" in str(error)


@pytest.mark.parametrize("name", ["ca", "cert"])
@pytest.mark.parametrize("text", [None, "no certificate"])
async def test_a_tls_file_that_cannot_be_used_is_named(
    tmp_path: Path, name: str, text: str | None
) -> None:
    file = tmp_path / "file.pem"
    if text is not None:
        file.write_text(text)
    options = {"ca": str(file)} if name == "ca" else {"cert": str(file), "key": str(file)}
    error = await failure(site("tcp://127.0.0.1:2376", **options))

    assert str(file) in str(error)
    assert "cannot be used" in str(error)
    assert "PEM" in error.hint


async def test_a_missing_library_is_said_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "aiodocker", None)

    assert (await failure(site("unix:///x"))).hint == "install it: pip install 'toolyard[docker]'"


def test_the_environment_names_the_daemon(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://box:2376")
    monkeypatch.setenv("DOCKER_CERT_PATH", "/certs")
    host = find_host(site())

    assert (host.name, host.port, host.tls, host.key) == ("box", 2376, True, "/certs/key.pem")


def use_context(monkeypatch: pytest.MonkeyPatch, home: Path, address: str) -> Path:
    """Set the docker command to a context with that address; give the folder of its keys."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(home))
    (home / "config.json").write_text('{"currentContext": "box"}')
    digest = sha256(b"box").hexdigest()
    folder = home / "contexts" / "meta" / digest
    folder.mkdir(parents=True)
    context = {"Name": "box", "Endpoints": {"docker": {"Host": address}}}
    (folder / "meta.json").write_text(json.dumps(context))
    return home / "contexts" / "tls" / digest / "docker"


def test_the_context_of_the_docker_command_is_used(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    use_context(monkeypatch, home, "ssh://me@box:2222")
    host = find_host(site())

    assert (host.kind, host.user, host.name, host.port) == ("ssh", "me", "box", 2222)
    assert host.path == "/var/run/docker.sock"


def test_the_certificates_of_a_context_come_before_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    keys = use_context(monkeypatch, home, "tcp://box:2376")
    monkeypatch.setenv("DOCKER_CERT_PATH", "/certs")
    without = find_host(site())
    keys.mkdir(parents=True)
    (keys / "ca.pem").touch()
    host = find_host(site())

    assert (without.ca, without.cert, without.key) == (
        "/certs/ca.pem",
        "/certs/cert.pem",
        "/certs/key.pem",
    )
    assert (host.ca, host.cert, host.key) == (str(keys / "ca.pem"), "", "")


def test_the_socket_over_ssh_may_be_named_in_the_address() -> None:
    host = read_host(site("ssh://box/run/user/7/docker.sock"))

    assert host is not None and host.path == "/run/user/7/docker.sock"


def test_a_container_gets_what_is_declared_and_no_more() -> None:
    command = Command(("run", "it"), (("KEY", "value"),), "/work")
    placement = Placement(
        mounts=("/data:/in", "/out:/out:rw", "cache:/cache"), memory=64, cpus=0.5, user="7:7"
    )
    made = spec.container(Run("s", command, placement, "me"), "i", Defaults(), {"a": "b"})
    host = made["HostConfig"]

    assert (made["Entrypoint"], made["Cmd"], made["WorkingDir"]) == (["run"], ["it"], "/work")
    assert (made["Env"], made["User"]) == (["KEY=value"], "7:7")
    assert made["Labels"] == {"a": "b", "toolyard.server": "s", "toolyard.owner": "me"}
    assert (host["Memory"], host["MemorySwap"]) == (64 << 20, 64 << 20)
    assert (host["NanoCpus"], host["PidsLimit"]) == (500_000_000, 256)
    assert [(m["Type"], m["ReadOnly"]) for m in host["Mounts"]] == [
        ("bind", True),
        ("bind", False),
        ("volume", True),
    ]


def test_an_image_without_a_command_runs_its_own() -> None:
    made = spec.container(Run("s", Command(())), "i", Defaults(), {})

    assert "Entrypoint" not in made
    assert "Cmd" not in made


@pytest.mark.parametrize("text", ["/there", "/there:inside", ":/inside", "/a:/b:rx"])
def test_a_mount_that_cannot_be_understood_is_a_start_error(text: str) -> None:
    run = Run("s", Command(("x",)), Placement(mounts=(text,)))
    with pytest.raises(StartError) as caught:
        spec.container(run, "i", Defaults(), {})

    assert text in str(caught.value)
    assert "/there:/inside:rw" in caught.value.hint
