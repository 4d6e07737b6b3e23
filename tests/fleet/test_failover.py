"""A fail-over of the database, in the short form of the script beside this file."""

from __future__ import annotations

import pytest

from tests.fleet import failover

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(1800)]


async def test_calls_go_on_and_no_order_is_lost_when_a_standby_takes_over() -> None:
    account = await failover.run(times=1)

    print(account)
    assert account.calls.failed == {}
    assert account.orders.keys() == {"200", "503 database-away"}
