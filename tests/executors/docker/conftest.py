"""Real daemons, one of each for a file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.executors.docker.site import Daemon, daemon_here, daemon_there


@pytest.fixture(scope="module")
def here() -> Iterator[Daemon]:
    with daemon_here() as daemon:
        yield daemon


@pytest.fixture(scope="module")
def there() -> Iterator[Daemon]:
    with daemon_there() as daemon:
        yield daemon
