"""A PostgreSQL, for definitions that hubs share."""

from __future__ import annotations

from tests.fixtures.postgres import postgres, shared_yard

__all__ = ["postgres", "shared_yard"]
