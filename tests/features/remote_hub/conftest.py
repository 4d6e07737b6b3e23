"""A hub that people log in with, and the machine of one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.doors import Doors
from tests.features.authorization.conftest import own
from tests.features.remote_hub.laptop import Laptop

__all__ = ["own"]


@pytest.fixture
def laptop(own: Doors, home: Path) -> Laptop:
    return Laptop(home / "laptop", f"http://{own.host}")
