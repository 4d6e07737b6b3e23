"""Orders at any door are in the audit trail, of one hub or of all that share a database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Toolyard
from tests.doors.doors import open_doors
from tests.fixtures.hubs import order, sees, send, stub, two_hubs
from tests.fixtures.postgres import SharedYard

pytestmark = pytest.mark.slow


def rows(answer: Any) -> list[tuple[str, str, str, str, str]]:
    fields = ("by", "address", "verb", "kind", "key")
    return [tuple(row[field] for field in fields) for row in answer["orders"]]


async def test_a_hub_of_its_own_records_every_kind_of_order(home: Path, no_keyring: None) -> None:
    async with open_doors(home) as hub:
        await order(hub, "POST", "/servers", {"name": "one", "entry": stub("one")})
        await order(hub, "PUT", "/profiles/few", {"allow": ["one"]})
        await order(hub, "PUT", "/policies/docker", {"deny": ["git"]})
        await order(hub, "POST", "/tokens", {"name": "ci"})
        await order(hub, "DELETE", "/tokens/ci")
        await order(hub, "POST", "/servers/one/approve", {})
        orders = await order(hub, "GET", "/audit")
        changes = [row[2:] for row in reversed(rows(orders))]
        for change in (
            ("put", "server", "one"),
            ("put", "profile", "few"),
            ("put", "policy", "docker"),
            ("put", "token", "ci"),
            ("delete", "token", "ci"),
            ("put", "launch", "one@configured"),
        ):
            assert change in changes
        assert {row[:2] for row in rows(orders)} == {("control", "127.0.0.1")}


async def test_an_order_at_one_hub_is_in_the_trail_of_the_other(
    home: Path, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        await order(a, "POST", "/servers", {"name": "one", "entry": stub("one")})
        await order(b, "PUT", "/profiles/few", {"allow": ["one"]})
        await order(a, "POST", "/tokens", {"name": "ci"})
        trail = await order(b, "GET", "/audit")
        assert [row[2:] for row in rows(trail)] == [
            ("put", "token", "ci"),
            ("put", "profile", "few"),
            ("put", "server", "one"),
        ]
        profile = trail["orders"][1]
        assert (profile["before"], profile["after"]["allow"]) == (None, ["one"])
        token = (await send(a, "POST", "/tokens", {"name": "other"})).json()["token"]
        assert token not in json.dumps(await order(a, "GET", "/audit"))
        await sees(b, "/audit?kind=token", lambda answer: len(answer["orders"]) == 2)


def test_without_a_hub_the_command_line_records_and_shows_orders(toolyard: Toolyard) -> None:
    toolyard("profile", "set", "few", "--allow", "one")
    shown = toolyard("history", "orders")
    assert "command line" in shown.out and "profile" in shown.out and "few" in shown.out
    (row,) = json.loads(toolyard("history", "orders", "--json", "--key", "few").out)["orders"]
    assert row["after"]["allow"] == ["one"]
    assert "no orders match" in toolyard("history", "orders", "--by", "nobody").err
