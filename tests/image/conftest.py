"""The image, built once by a docker daemon of the tests' own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.executors.docker.site import daemon_here

ROOT = Path(__file__).resolve().parents[2]
BASE = "python:3.13-slim"
LOCAL_BASE = "toolyard-base:test"
BUILD_SECONDS = 900.0
TRUST = "/etc/ssl/certs/ca-certificates.crt"


@dataclass(frozen=True, slots=True)
class Engine:
    """A docker daemon, spoken to by its own command line."""

    socket: str

    def run(self, *words: str, seconds: float = 120.0) -> str:
        """Run a command of docker that must succeed; return its output."""
        done = self.attempt(*words, seconds=seconds)
        assert done.returncode == 0, f"docker {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def attempt(self, *words: str, seconds: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run a command of docker."""
        return subprocess.run(
            ["docker", "-H", f"unix://{self.socket}", *words],
            env={**os.environ, "DOCKER_BUILDKIT": "0"},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """A daemon without an image of ours."""
    with daemon_here() as daemon:
        yield Engine(daemon.socket)


def get_base(engine: Engine) -> str:
    """Return the base of the image: the usual one, or TOOLYARD_IMAGE_BASE, a tar of another."""
    local = os.environ.get("TOOLYARD_IMAGE_BASE", "")
    if local:
        trusting = f"ENV SSL_CERT_FILE={TRUST} NODE_EXTRA_CA_CERTS={TRUST}"
        engine.run("import", "--change", trusting, local, LOCAL_BASE, seconds=BUILD_SECONDS)
        return LOCAL_BASE
    pulled = engine.attempt("pull", "--quiet", BASE, seconds=BUILD_SECONDS)
    if pulled.returncode:
        pytest.skip(f"{BASE} cannot be pulled; name a tar made by scripts/image_base.sh")
    return BASE


@pytest.fixture(scope="session")
def base(engine: Engine) -> str:
    """The base of the image."""
    return get_base(engine)


@pytest.fixture(scope="session", params=["slim", "whole"])
def image(request: pytest.FixtureRequest, engine: Engine, base: str) -> str:
    """The image, without and with launchers."""
    name = f"toolyard:{request.param}"
    target = ("--target", "slim") if request.param == "slim" else ()
    words = ("build", "--quiet", "--network", "host", "--build-arg", f"PYTHON={base}")
    engine.run(*words, *target, "--tag", name, str(ROOT), seconds=BUILD_SECONDS)
    return name
