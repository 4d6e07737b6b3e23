"""An issuer of logins, and a PostgreSQL for those that hubs share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures.issuer import Issuer, issuing
from tests.fixtures.postgres import postgres, shared_yard

__all__ = ["issuer", "postgres", "shared_yard"]


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as running:
        yield running
