"""An issuer of logins, and keyrings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures.keyrings import a_keyring, no_keyring
from tests.secrets.issuer import Issuer, issuing

__all__ = ["a_keyring", "no_keyring"]


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as running:
        yield running
