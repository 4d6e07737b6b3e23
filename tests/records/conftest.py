"""A PostgreSQL, for the engine that needs one."""

from __future__ import annotations

from tests.fixtures.postgres import postgres, shared_yard

__all__ = ["postgres", "shared_yard"]
