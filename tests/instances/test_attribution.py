"""Many clients over one pipe: everything reaches who caused it, or nobody, and that is counted."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.talk import LineTalk, text_of
from tests.instances.storm import crowd, rage
from tests.instances.yard import AGENT, company


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_twenty_clients_share_a_process_and_nothing_is_crossed_or_lost(
    home: Path, era: str
) -> None:
    listed = {"crowd": {**crowd(era), "mode": "shared"}}
    async with company(home, {AGENT: listed}) as yard:
        connect = partial(yard.client, door="line")
        storm = await rage(connect, 20, 100, ("legacy", "modern"))
        assert (storm.calls, storm.crossed, storm.lost) == (20 * 100, [], [])
        await storm.stop_running(connect)
        tally = await storm.tally(connect)
        assert 0 < tally["cancelled"] <= storm.cancelled == 20 * 16 + 1
        (row,) = await yard.rows("crowd", "shared")
        assert storm.refused == tally["refused"] == row["unattributed"]
        if era == "modern":
            assert storm.refused == 0


async def test_what_went_to_nobody_is_counted_where_people_look(home: Path) -> None:
    listed = {"crowd": {**crowd("legacy"), "mode": "shared"}}
    async with (
        company(home, {AGENT: listed}) as yard,
        yard.client(name="one") as one,
        yard.client(name="two") as two,
    ):
        message = two.message("tools/call", {"name": "crowd__wait", "arguments": {}})
        waiting = two.group.create_task(two.exchange(message))
        await two.call("crowd__echo", {})
        said = await one.call("crowd__ask", {"who": "one", "n": 1})
        assert said["content"][0]["text"] == "refused", "either of the two may have caused it"
        await two.cancel(message["id"], waiting)
        (row,) = await yard.rows("crowd", "shared")
        assert row["unattributed"] == 1
        metrics = (await yard.doors.ask("GET", "/metrics")).body.decode()
        assert 'toolyard_unattributed_total{server="crowd"} 1' in metrics
        said = await one.call("crowd__ask", {"who": "one", "n": 2})
        assert "Ada" in said["content"][0]["text"], "alone it is clear whose question it is"


async def test_a_call_that_is_taken_back_with_the_next_line_is_never_left_running(
    home: Path,
) -> None:
    listed = {"crowd": {**crowd("legacy"), "mode": "shared"}}
    async with company(home, {AGENT: listed}) as yard, yard.client(door="line") as talk:
        assert isinstance(talk, LineTalk)
        await talk.call("crowd__echo", {})
        asked = talk.message("tools/call", {"name": "crowd__wait", "arguments": {}})
        back = {"method": "notifications/cancelled", "params": {"requestId": asked["id"]}}
        count = talk.message("tools/call", {"name": "crowd__tally", "arguments": {}})
        async with asyncio.timeout(60):
            said = await talk.burst(asked, {"jsonrpc": "2.0", **back}, count)
        tally = json.loads(text_of(said["result"]))
        assert tally["running"] == 0, "the next call overtook what took the first one back"
