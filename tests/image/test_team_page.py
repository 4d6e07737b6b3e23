"""The page that takes a team of five to working: its commands are read from it, and carried out.

Everything is in a network of its own with a daemon of its own, on a machine that has never seen the
hub. Only the certificate differs from the page: no authority outside knows this machine, so Caddy
makes one itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.executors.docker.site import Daemon, daemon_apart
from tests.image.conftest import BUILD_SECONDS, ROOT, Engine, get_base

pytestmark = [pytest.mark.image, pytest.mark.timeout(3600)]

PAGE = ROOT / "docs" / "how-to" / "start-a-team.md"
HUB = "https://yard.example.com"
PATIENCE = 1200.0
COMMANDS_OF_CLIENTS = (f"claude mcp add --transport http yard {HUB}/mcp",)
"""What a client carries out; a client of the SDK stands in for it."""


def commands() -> dict[str, list[str]]:
    """The commands of the page, by the headings that they stand under."""
    told: dict[str, list[str]] = {}
    for section in re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        told[heading] = [
            command.strip()
            for block in blocks
            for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
        ]
    return told


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine of a team: a clone of the hub, docker with compose, and a network of its own."""

    netns: str
    home: Path
    env: dict[str, str]

    @property
    def clone(self) -> Path:
        """Where somebody who follows the page stands."""
        return self.home / "toolyard"

    @property
    def ca(self) -> Path:
        """The certificate that everybody trusts here."""
        return self.home / "caddy" / "pki" / "authorities" / "local" / "root.crt"

    def inside(self, *words: str) -> list[str]:
        """Return a command as it is carried out here, where the hub has its name."""
        named = f'mount --bind {self.home}/hosts /etc/hosts; exec "$@"'
        apart = ("nsenter", f"--net=/run/netns/{self.netns}", "unshare", "--mount")
        return [*apart, "sh", "-c", named, "sh", *words]

    def follow(self, *commands: str, keys: str = "") -> str:
        """Carry out commands in a terminal, in one shell, and press keys; return what they say."""
        script = self.home / "commands.sh"
        lines = [f"cd {self.clone}", "shopt -s expand_aliases", _ALIASES, *commands]
        script.write_text("\n".join(["set -e", *lines]) + "\n", "utf-8")
        words = self.inside("script", "-qec", f"bash {script}", "/dev/null")
        done = subprocess.run(
            words,
            env=self.env,
            input=keys,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def people(self, *words: str, given: str = "") -> str:
        """Have people use the hub from here; return what they tell."""
        told = subprocess.run(
            self.inside(sys.executable, "-m", "tests.image.people", HUB, str(self.ca), *words),
            cwd=ROOT,
            env=self.env,
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert told.returncode == 0, told.stdout + told.stderr
        return told.stdout


_ALIASES = next(
    command for told in commands().values() for command in told if command.startswith("alias ")
)


@contextmanager
def proxy(machine: Machine, command: str) -> Iterator[None]:
    """Caddy, as the page starts it, but for who signs its certificate."""
    words = [*command.split(), "--internal-certs"]
    with (machine.home / "caddy.log").open("wb") as log:
        process = subprocess.Popen(machine.inside(*words), env=machine.env, stdout=log, stderr=log)
        try:
            _wait(machine.ca.exists)
            yield
        finally:
            process.terminate()
            process.wait()


def _wait(holds: Callable[[], bool]) -> None:
    """Wait for what nobody tells of."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)  # noqa: TID251 - nothing tells when it is there


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    for program in ("caddy", "script", "unshare", "git"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed; on Debian: scripts/debian.sh {program}")
    words = [str(ROOT / "scripts" / "compose.sh")]
    compose = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if compose.returncode:
        pytest.skip("docker has no compose here; scripts/compose.sh installs it")
    with daemon_apart() as daemon:
        prepare_images(Engine(daemon.socket))
        yield make_machine(daemon, tmp_path, compose.stdout.strip())


def prepare_images(engine: Engine) -> None:
    """Have the daemon know the images of others that the hub is built from and runs beside."""
    base = get_base(engine)
    if base != "python:3.13-slim":
        engine.run("tag", base, "python:3.13-slim")
    if engine.attempt("pull", "--quiet", "postgres:17", seconds=BUILD_SECONDS).returncode:
        words = ("build", "--quiet", "--build-arg", f"BASE={base}", "--tag", "postgres:17")
        engine.run(*words, str(Path(__file__).with_name("postgres")), seconds=BUILD_SECONDS)


def make_machine(daemon: Daemon, home: Path, compose: str) -> Machine:
    """Lay out the home of somebody who has just cloned the hub."""
    (home / "hosts").write_text("127.0.0.1 localhost yard.example.com\n", "utf-8")
    subprocess.run(["git", "clone", "-q", str(ROOT), str(home / "toolyard")], check=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("TOOLYARD")}
    env |= {
        "HOME": str(home),
        "XDG_DATA_HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}",
        "DOCKER_HOST": f"unix://{daemon.socket}",
        "DOCKER_CONFIG": compose,
        "DOCKER_BUILDKIT": "0",
    }
    return Machine(daemon.plot.netns, home, env)


def links_in(said: str) -> dict[str, str]:
    """The links of invitations, by email."""
    links = re.findall(r"a link for (\S+),.*?(https://\S+)", said, re.DOTALL)
    return dict(links)


def test_a_team_of_five_works_after_following_the_page(
    machine: Machine, record_property: Callable[[str, object], None]
) -> None:
    began = time.monotonic()
    start, add, admit, invite, use, live = commands().values()
    caddy = start.pop()
    assert caddy.startswith("caddy reverse-proxy")
    machine.follow(*start)
    up = time.monotonic() - began
    with proxy(machine, caddy):
        listed = machine.follow(*add)
        assert listed.count("ready") >= 2, listed
        machine.follow(*admit)
        links = links_in(machine.follow(*invite))
        assert len(links) == 5, links
        told = json.loads(machine.people("join", given=json.dumps(links)))
        for email, client in told.items():
            has_memory = any(tool.startswith("memory__") for tool in client["tools"])
            assert has_memory is (email[:3] in ("ann", "bob", "cyd")), (email, client)
            assert "Europe/Berlin" in client["result"], client
        follow_as_bob(machine, use)
        said = machine.follow(*live)
        assert "get_current_time" in said and "bob@example.com" in said, said
        statuses = {
            name: machine.people("knock", told[f"{name}@example.com"]["token"]).strip()
            for name in ("bob", "eve")
        }
        assert statuses["bob"] == "400" and statuses["eve"] in ("401", "403"), statuses
    took = time.monotonic() - began
    record_property("figure", f"{took:.0f} s, of which {up:.0f} s to build and start")


def follow_as_bob(machine: Machine, use: list[str]) -> None:
    """Carry out what each person does, as Bob, whose browser logs in by itself."""
    ours = [command for command in use if command not in COMMANDS_OF_CLIENTS]
    assert len(ours) == len(use) - len(COMMANDS_OF_CLIENTS)
    browser = machine.home / "browser"
    words = f'-m tests.image.people {HUB} {machine.ca} browse bob@example.com "$1"'
    browser.write_text(f"#!/bin/sh\ncd {ROOT} && {sys.executable} {words} &\n", "utf-8")
    browser.chmod(0o755)
    (machine.home / ".codex").mkdir()
    place = f"export SSL_CERT_FILE={machine.ca} TOOLYARD_HOME={machine.home}/bob"
    said = machine.follow(f"{place} BROWSER={browser}", *ours, keys="y\n")  # to write Codex's file
    assert "logged in to https://yard.example.com as bob@example.com" in said, said
    assert "--hub" in (machine.home / ".codex" / "config.toml").read_text("utf-8")
