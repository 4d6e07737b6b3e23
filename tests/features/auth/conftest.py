"""An issuer of logins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures.issuer import Issuer, issuing


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as running:
        yield running
