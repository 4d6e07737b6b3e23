"""Real docker daemons to run servers on: one here, one behind a cable that can be pulled."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.executors.contract import Ground
from toolyard.core.model import Command
from toolyard.core.placement import Site
from toolyard.executors.docker import Docker

IMAGE = "toolyard-python:test"
BRIDGE, GATEWAY = "tydock0", "172.29.7.1"
NETNS, CABLE = "tydock", "tydock-h"
HERE, THERE = "10.198.0.1", "10.198.0.2"
TLS_PORT, SSH_PORT, SHUT_SSH_PORT = 2376, 12322, 12323
_START_SECONDS = 40.0


class Daemon:
    """A dockerd of the tests' own, with the image in it."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.process = process
        self.socket = str(folder / "docker.sock")

    def ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        """Ask its API, behind the back of the executor."""
        connection = http.client.HTTPConnection("docker")
        with contextlib.closing(connection), socket.socket(socket.AF_UNIX) as connection.sock:
            connection.sock.settimeout(60)
            connection.sock.connect(self.socket)
            connection.request(method, path, body)
            answer = connection.getresponse()
            text = answer.read()
        assert answer.status < 400, (path, text)
        return json.loads(text) if text.startswith((b"{", b"[")) else text

    def containers(self, hub: str) -> list[dict[str, Any]]:
        """All containers of a hub, running or not."""
        filters = quote(json.dumps({"label": [f"toolyard.hub={hub}"]}))
        return list(self.ask("GET", f"/containers/json?all=1&filters={filters}"))


@contextlib.contextmanager
def dockerd(folder: Path, *flags: str, inside: str = "") -> Iterator[Daemon]:
    """Run a daemon with these flags; in a network namespace if one is named."""
    _require("dockerd", "ip")
    prefix = ["nsenter", f"--net=/run/netns/{inside}"] if inside else []
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        [
            *(*prefix, "dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"),
            *("-p", f"{folder}/pid", "-H", f"unix://{folder}/docker.sock", *flags),
        ],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    daemon = Daemon(folder, process)
    try:
        _wait_for(daemon)
        _load_image(daemon)
        yield daemon
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()
        log.close()


def _wait_for(daemon: Daemon) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            daemon.ask("GET", "/_ping")
            return
        except OSError:
            if daemon.process.poll() is not None or time.monotonic() > deadline:
                last = (daemon.folder / "log").read_text(errors="replace").splitlines()[-1:]
                pytest.skip(f"dockerd does not start here: {last}")
        time.sleep(0.1)  # noqa: TID251 - nothing tells when it listens


def _load_image(daemon: Daemon) -> None:
    script = Path(__file__).with_name("docker_image.sh")
    tar = subprocess.run(["sh", script, sys.executable], check=True, stdout=subprocess.PIPE).stdout
    name, _, tag = IMAGE.partition(":")
    changes = "&".join(
        "changes=" + quote(change)
        for change in ("ENV PATH=/usr/local/bin:/bin", "ENV PYTHONDONTWRITEBYTECODE=1")
    )
    daemon.ask("POST", f"/images/create?fromSrc=-&repo={name}&tag={tag}&{changes}", tar)


def _require(*programs: str) -> None:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a docker daemon of our own needs root on linux")
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed; scripts/engines.sh installs it")


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True)


@contextlib.contextmanager
def daemon_here() -> Iterator[Daemon]:
    """A daemon on this machine, with a bridge of its own and no rules in the firewall."""
    _require("dockerd", "ip")
    with tempfile.TemporaryDirectory(prefix="tyd-", ignore_cleanup_errors=True) as name:
        _ip("link", "del", BRIDGE, check=False)
        _ip("link", "add", BRIDGE, "type", "bridge")
        try:
            _ip("addr", "add", f"{GATEWAY}/24", "dev", BRIDGE)
            _ip("link", "set", BRIDGE, "up")
            with dockerd(Path(name), "--iptables=false", "--bridge", BRIDGE) as daemon:
                yield daemon
        finally:
            _ip("link", "del", BRIDGE, check=False)


@contextlib.contextmanager
def daemon_there() -> Iterator[Daemon]:
    """A daemon in a network of its own, at the far end of a cable: TLS, and ssh beside it."""
    _require("dockerd", "ip", "nsenter", "openssl", "sshd", "ssh-keygen")
    with tempfile.TemporaryDirectory(prefix="tyd-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        _make_certificates(folder)
        with _cable():
            tls = [f"--tls{what}={folder}/{file}" for what, file in _SERVER_FILES]
            listen = ("-H", f"tcp://{THERE}:{TLS_PORT}", "--tlsverify", *tls)
            bip = ("--bip", "172.29.8.1/24")
            with dockerd(folder, *listen, *bip, inside=NETNS) as daemon, _sshd(folder):
                yield daemon


_SERVER_FILES = (("cacert", "ca.pem"), ("cert", "server.pem"), ("key", "server-key.pem"))


@contextlib.contextmanager
def _cable() -> Iterator[None]:
    _ip("netns", "del", NETNS, check=False)
    _ip("link", "del", CABLE, check=False)
    _ip("netns", "add", NETNS)
    try:
        _ip("link", "add", CABLE, "type", "veth", "peer", "name", "tydock-r", "netns", NETNS)
        _ip("addr", "add", f"{HERE}/24", "dev", CABLE)
        _ip("link", "set", CABLE, "up")
        _ip("-n", NETNS, "addr", "add", f"{THERE}/24", "dev", "tydock-r")
        _ip("-n", NETNS, "link", "set", "tydock-r", "up")
        _ip("-n", NETNS, "link", "set", "lo", "up")
        yield
    finally:
        _ip("link", "del", CABLE, check=False)
        _ip("netns", "del", NETNS, check=False)


def _make_certificates(folder: Path) -> None:
    new = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split()

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    ca = ("-keyout", "ca-key.pem", "-out", "ca.pem", "-subj", "/CN=test-ca")
    openssl("req", "-x509", *new, "-days", "3", *ca)
    for who, stem, extra in (
        ("server", "server-", f"subjectAltName=IP:{THERE}\nextendedKeyUsage=serverAuth\n"),
        ("client", "", "extendedKeyUsage=clientAuth\n"),
    ):
        (folder / f"{who}.ext").write_text(extra)
        key = ("-keyout", f"{stem}key.pem", "-out", f"{who}.csr", "-subj", f"/CN={who}")
        openssl("req", *new, *key)
        out = "server.pem" if who == "server" else "cert.pem"
        by = ("-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-days", "3")
        openssl("x509", "-req", "-in", f"{who}.csr", *by, "-out", out, "-extfile", f"{who}.ext")


@contextlib.contextmanager
def _sshd(folder: Path) -> Iterator[None]:
    """Two ssh daemons at the far end: one lets us listen for containers, the other does not."""
    for name in ("hostkey", "id"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    shutil.copy(folder / "id.pub", folder / "authorized_keys")
    key = " ".join((folder / "hostkey.pub").read_text().split()[:2])
    known = [f"[{THERE}]:{port} {key}\n" for port in (SSH_PORT, SHUT_SSH_PORT)]
    (folder / "known_hosts").write_text("".join(known))
    Path("/run/sshd").mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        for port, gateway in ((SSH_PORT, "clientspecified"), (SHUT_SSH_PORT, "no")):
            stack.enter_context(_one_sshd(folder, port, gateway))
        yield


@contextlib.contextmanager
def _one_sshd(folder: Path, port: int, gateway: str) -> Iterator[None]:
    config = folder / f"sshd_{port}"
    config.write_text(
        f"Port {port}\nListenAddress {THERE}\nHostKey {folder}/hostkey\n"
        f"PidFile {folder}/sshd-{port}.pid\nAuthorizedKeysFile {folder}/authorized_keys\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\n"
        "PermitRootLogin prohibit-password\nClientAliveInterval 5\nClientAliveCountMax 2\n"
        f"GatewayPorts {gateway}\n"
    )
    program = shutil.which("sshd")
    assert program is not None
    with (folder / f"sshd-{port}.log").open("wb") as log:
        process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{NETNS}", program, "-D", "-e", "-f", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for_port(port)
        yield
    finally:
        process.terminate()
        process.wait()


def _wait_for_port(port: int) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection((THERE, port), 1):
            return
        time.sleep(0.05)  # noqa: TID251 - nothing tells when it listens
    pytest.skip("sshd does not start here")


class Yard(Ground):
    """Containers of a daemon."""

    cuttable = True
    patience = 30.0  # a daemon here that hangs is given up after 20 s

    def __init__(self, daemon: Daemon, host: str, **options: str) -> None:
        self.daemon = daemon
        self.hub = f"test-{os.urandom(4).hex()}"
        self.site = Site("yard", "docker", host, (("image", IMAGE), *options.items()))

    def make(self) -> Docker:
        return Docker(self.site, self.hub)

    def python(self, code: str, *args: str, **env: str) -> Command:
        return Command(("python3", "-c", code, *args), tuple(env.items()))

    async def leftovers(self) -> list[str]:
        found = await asyncio.to_thread(self.daemon.containers, self.hub)
        return [each["Id"] for each in found]

    async def kill(self, where: str) -> None:
        identity = where.removeprefix("container ")
        await asyncio.to_thread(self.daemon.ask, "POST", f"/containers/{identity}/kill")

    @contextlib.asynccontextmanager
    async def cut(self) -> AsyncIterator[None]:
        """A daemon that hangs."""
        os.kill(self.daemon.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)


class FarYard(Yard):
    """Containers of a daemon behind a cable."""

    @contextlib.asynccontextmanager
    async def cut(self) -> AsyncIterator[None]:
        """A cable that is pulled: nothing is told to either end."""
        _ip("link", "set", CABLE, "down")
        try:
            yield
        finally:
            _ip("link", "set", CABLE, "up")


def tls_options(daemon: Daemon) -> dict[str, str]:
    """The options by which the far daemon lets us in."""
    return {name: str(daemon.folder / f"{name}.pem") for name in ("ca", "cert", "key")}


def ssh_options(daemon: Daemon) -> dict[str, str]:
    """The options by which ssh there lets us in."""
    return {
        "identity": str(daemon.folder / "id"),
        "known_hosts": str(daemon.folder / "known_hosts"),
        "socket": daemon.socket,
    }
