"""A real sshd on a loopback port, with keys of its own; and the site that leads to it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.executors.replicas import alone
from tests.fixtures.ports import free_port
from toolyard.core.ports import Address, Pipes
from toolyard.core.sites import Site
from toolyard.executors.ssh import Ssh

HUB = f"hub-under-test-{os.getpid()}"  # of one name, two runs of the tests sweep each other


class Sshd:
    """A running sshd: its folder with keys, its port, and what leads to it."""

    def __init__(self, folder: Path, address: str = "127.0.0.1", *wrap: str, **extra: str) -> None:
        self.folder = folder
        self.address = address
        self._wrap = wrap
        self.port = free_port()
        self.host_key = _key(folder / "hostkey")
        self.identity = folder / "id"
        (folder / "authorized_keys").write_text(_key(self.identity))
        self.known_hosts = folder / "known_hosts"
        self.trust(self.host_key)
        self._configure(extra)
        self.process = self._start()

    def site(self, name: str = "box", **options: str) -> Site:
        """A site with nothing but options."""
        chosen = {"identity": str(self.identity), "known_hosts": str(self.known_hosts), **options}
        host = f"root@{self.address}:{self.port}"
        return Site(name, "ssh", host, tuple((key, chosen[key]) for key in chosen if chosen[key]))

    def trust(self, key: str) -> None:
        """Make this the key that is known of the host."""
        kind, text = key.split()[:2]
        self.known_hosts.write_text(f"[{self.address}]:{self.port} {kind} {text}\n")

    def sessions(self) -> list[int]:
        """The processes that serve connections; ending them is losing the connections."""
        out = subprocess.run(
            ["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False
        )
        return [int(word) for word in out.stdout.split()]

    def stop(self) -> None:
        """End it and its connections."""
        for pid in (*self.sessions(), self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        self.process.wait(60)

    def _configure(self, extra: dict[str, str]) -> None:
        lines = {
            "Port": str(self.port),
            "ListenAddress": self.address,
            "HostKey": str(self.folder / "hostkey"),
            "PidFile": "none",
            "AuthorizedKeysFile": str(self.folder / "authorized_keys"),
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "PermitRootLogin": "prohibit-password",
            "UsePAM": "no",
            "StrictModes": "no",
            "MaxStartups": "100",
            "ClientAliveInterval": "2",
            "ClientAliveCountMax": "2",
            **extra,
        }
        text = "".join(f"{key} {value}\n" for key, value in lines.items())
        (self.folder / "sshd_config").write_text(text)

    def _start(self) -> subprocess.Popen[bytes]:
        Path("/run/sshd").mkdir(exist_ok=True)
        command = [*self._wrap, _sshd(), "-D", "-e", "-f", str(self.folder / "sshd_config")]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env={"PATH": os.defpath}
        )
        assert process.stderr is not None
        for line in process.stderr:  # it says so when it listens
            if b"Server listening" in line:
                return process
        raise AssertionError("sshd does not start")


@contextmanager
def running(address: str = "127.0.0.1", *wrap: str, **extra: str) -> Iterator[Sshd]:
    """Run an sshd with these lines added to its configuration."""
    with tempfile.TemporaryDirectory(prefix="ty-ssh-") as name:
        sshd = Sshd(Path(name), address, *wrap, **extra)
        try:
            yield sshd
        finally:
            sshd.stop()
            assert sshd.process.stderr is not None
            sshd.process.stderr.close()


@pytest.fixture(scope="session")
def sshd() -> Iterator[Sshd]:
    """One sshd for many tests."""
    need_sshd()
    with running() as sshd:
        yield sshd


def need_sshd() -> None:
    """Skip, by name, where there is no sshd."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("an sshd that logs in its own user needs root here")
    if not _sshd() or not shutil.which("pgrep"):
        pytest.skip("no sshd: apt-get install openssh-server procps")


def _sshd() -> str:
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or ""


def _key(file: Path) -> str:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(file)]
    subprocess.run(command, check=True)
    return file.with_suffix(".pub").read_text()


@pytest.fixture
async def ssh(sshd: Sshd) -> AsyncIterator[Ssh]:
    """An executor with little patience, so that the stubborn cost a test little time."""
    ssh = Ssh(sshd.site(), alone(HUB), eof=0.3, term=0.5)
    yield ssh
    await ssh.close()


def pipes_of(running: Pipes | Address) -> Pipes:
    """What was opened, as a server over stdio."""
    assert not isinstance(running, Address)
    return running
