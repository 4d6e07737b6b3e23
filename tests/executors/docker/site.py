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
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.executors.contract import Ground
from tests.executors.replicas import alone
from tests.fixtures.certificates import make_certificates
from toolyard.core.model import Command
from toolyard.core.sites import Site
from toolyard.executors.docker import Docker

IMAGE = "toolyard-python:test"
TLS_PORT, SSH_PORT, SHUT_SSH_PORT = 2376, 12322, 12323
_START_SECONDS = 40.0


@dataclass(frozen=True, slots=True)
class Plot:
    """The networks of one daemon; several runs of the tests may be on one machine."""

    number: int

    @property
    def bridge(self) -> str:
        """Of a daemon here."""
        return f"tydock{self.number}"

    @property
    def netns(self) -> str:
        """Where a far daemon is."""
        return f"tydock{self.number}"

    @property
    def cable(self) -> str:
        """Our end of the way to a far daemon."""
        return f"tydock{self.number}h"

    @property
    def here(self) -> str:
        """The address of our end."""
        return f"10.198.{self.number}.1"

    @property
    def there(self) -> str:
        """The address of the far end."""
        return f"10.198.{self.number}.2"

    @property
    def gateway(self) -> str:
        """Of the containers."""
        return f"172.29.{self.number}.1"


@contextlib.contextmanager
def plot() -> Iterator[Plot]:
    """A plot that nobody else has now."""
    import fcntl

    for number in range(64):
        with (Path(tempfile.gettempdir()) / f"tydock-{number}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield Plot(number)
            return
    pytest.skip("too many docker daemons of tests on this machine")


class Daemon:
    """A dockerd of the tests' own, with the image in it."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes], plot: Plot) -> None:
        self.folder = folder
        self.plot = plot
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
def dockerd(plot: Plot, folder: Path, *flags: str, inside: str = "") -> Iterator[Daemon]:
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
    daemon = Daemon(folder, process, plot)
    try:
        _wait_for(daemon)
        load_image(daemon)
        yield daemon
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()
        log.close()
        # Left mounted by containers in the network of the host.
        for mounted in (folder / "exec" / "netns").glob("*"):
            subprocess.run(["umount", "-l", mounted], check=False, capture_output=True)


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


def load_image(daemon: Daemon, image: str = IMAGE, *more: str) -> None:
    """Make an image with python in it, and with what `more` lines of a Dockerfile say."""
    script = Path(__file__).with_name("image.sh")
    tar = subprocess.run(["sh", script, sys.executable], check=True, stdout=subprocess.PIPE).stdout
    name, _, tag = image.partition(":")
    changes = "&".join(
        "changes=" + quote(change)
        for change in ("ENV PATH=/usr/local/bin:/bin", "ENV PYTHONDONTWRITEBYTECODE=1", *more)
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
    with plot() as mine, _folder() as folder:
        _ip("link", "del", mine.bridge, check=False)
        _ip("link", "add", mine.bridge, "type", "bridge")
        try:
            _ip("addr", "add", f"{mine.gateway}/24", "dev", mine.bridge)
            _ip("link", "set", mine.bridge, "up")
            with dockerd(mine, folder, "--iptables=false", "--bridge", mine.bridge) as daemon:
                yield daemon
        finally:
            _ip("link", "del", mine.bridge, check=False)


@contextlib.contextmanager
def daemon_there() -> Iterator[Daemon]:
    """A daemon in a network of its own, at the far end of a cable: TLS, and ssh beside it."""
    _require("dockerd", "ip", "nsenter", "openssl", "sshd", "ssh-keygen")
    with plot() as mine, _folder() as folder:
        make_certificates(folder, mine.there)
        with _cable(mine):
            tls = [f"--tls{what}={folder}/{file}" for what, file in _SERVER_FILES]
            listen = ("-H", f"tcp://{mine.there}:{TLS_PORT}", "--tlsverify", *tls)
            bip = ("--bip", f"{mine.gateway}/24")
            with (
                dockerd(mine, folder, *listen, *bip, inside=mine.netns) as daemon,
                _sshd(mine, folder),
            ):
                yield daemon


@contextlib.contextmanager
def daemon_apart() -> Iterator[Daemon]:
    """A daemon in a network of its own from which everything outside is reached."""
    _require("dockerd", "ip", "nsenter", "iptables")
    with (
        plot() as mine,
        _folder() as folder,
        _cable(mine),
        _way_out(mine),
        dockerd(mine, folder, "--bip", f"{mine.gateway}/24", inside=mine.netns) as daemon,
    ):
        yield daemon


@contextlib.contextmanager
def _way_out(plot: Plot) -> Iterator[None]:
    """The way from the far end of a cable to everything outside; closed again in the end."""
    forward = Path("/proc/sys/net/ipv4/ip_forward")
    before = forward.read_text()
    rules = [
        ("nat", "POSTROUTING", "-s", f"{plot.here}/24", "!", "-o", plot.cable, "-j", "MASQUERADE"),
        ("filter", "FORWARD", "-i", plot.cable, "-j", "ACCEPT"),
        ("filter", "FORWARD", "-o", plot.cable, "-j", "ACCEPT"),
    ]
    _ip("-n", plot.netns, "route", "add", "default", "via", plot.here)
    with contextlib.ExitStack() as stack:
        forward.write_text("1")
        stack.callback(forward.write_text, before)
        for table, *rule in rules:
            subprocess.run(["iptables", "-t", table, "-I", *rule], check=True)
            stack.callback(subprocess.run, ["iptables", "-t", table, "-D", *rule], check=True)
        yield


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tyd-", ignore_cleanup_errors=True) as name:
        yield Path(name)


_SERVER_FILES = (("cacert", "ca.pem"), ("cert", "server.pem"), ("key", "server-key.pem"))


@contextlib.contextmanager
def _cable(plot: Plot) -> Iterator[None]:
    far = f"{plot.netns}r"
    _ip("netns", "del", plot.netns, check=False)
    _ip("link", "del", plot.cable, check=False)
    _ip("netns", "add", plot.netns)
    try:
        _ip("link", "add", plot.cable, "type", "veth", "peer", "name", far, "netns", plot.netns)
        _ip("addr", "add", f"{plot.here}/24", "dev", plot.cable)
        _ip("link", "set", plot.cable, "up")
        _ip("-n", plot.netns, "addr", "add", f"{plot.there}/24", "dev", far)
        _ip("-n", plot.netns, "link", "set", far, "up")
        _ip("-n", plot.netns, "link", "set", "lo", "up")
        yield
    finally:
        _ip("link", "del", plot.cable, check=False)
        _ip("netns", "del", plot.netns, check=False)


@contextlib.contextmanager
def _sshd(plot: Plot, folder: Path) -> Iterator[None]:
    """Two ssh daemons at the far end: one lets us listen for containers, the other does not."""
    for name in ("hostkey", "id"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    shutil.copy(folder / "id.pub", folder / "authorized_keys")
    key = " ".join((folder / "hostkey.pub").read_text().split()[:2])
    known = [f"[{plot.there}]:{port} {key}\n" for port in (SSH_PORT, SHUT_SSH_PORT)]
    (folder / "known_hosts").write_text("".join(known))
    Path("/run/sshd").mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        for port, gateway in ((SSH_PORT, "clientspecified"), (SHUT_SSH_PORT, "no")):
            stack.enter_context(_one_sshd(plot, folder, port, gateway))
        yield


@contextlib.contextmanager
def _one_sshd(plot: Plot, folder: Path, port: int, gateway: str) -> Iterator[None]:
    config = folder / f"sshd_{port}"
    config.write_text(
        f"Port {port}\nListenAddress {plot.there}\nHostKey {folder}/hostkey\n"
        f"PidFile {folder}/sshd-{port}.pid\nAuthorizedKeysFile {folder}/authorized_keys\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\n"
        "PermitRootLogin prohibit-password\nClientAliveInterval 5\nClientAliveCountMax 2\n"
        f"GatewayPorts {gateway}\n"
    )
    program = shutil.which("sshd")
    assert program is not None
    with (folder / f"sshd-{port}.log").open("wb") as log:
        process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{plot.netns}", program, "-D", "-e", "-f", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for_port(plot.there, port)
        yield
    finally:
        process.terminate()
        process.wait()


def _wait_for_port(address: str, port: int) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
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
        return Docker(self.site, alone(self.hub))

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
        _ip("link", "set", self.daemon.plot.cable, "down")
        try:
            yield
        finally:
            _ip("link", "set", self.daemon.plot.cable, "up")


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
