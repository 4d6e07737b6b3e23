"""Hubs that share a database, in the short form of the two scripts beside this file."""

from __future__ import annotations

import pytest

from tests.fleet import database_restarts, shared_memory

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(1800)]


async def test_no_call_fails_while_the_database_is_restarted_and_stopped() -> None:
    account = await database_restarts.run(restarts=2, seconds=5)

    print(account)
    assert account.calls.failed == {}
    assert account.orders.keys() == {"200", "503 database-away"}


def test_orders_from_three_hubs_at_once_are_seen_by_all_and_none_is_lost() -> None:
    shared_memory.run(orders=60, times=5)
