"""The SDK's own client is asked whether a call may run, in both eras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.doors.doors import TOKEN
from tests.e2e.talk import PLAIN
from tests.features.rules.calling import open_ruled, ran

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_it_runs_after_a_yes_and_not_after_a_no(home: Path, mode: str) -> None:
    asked: list[str] = []
    answers = iter([True, False])

    async def decide(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"approve": next(answers)})

    bearer = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        open_ruled(home, echoes={"tools": ["s/echo"]}) as doors,
        httpx2.AsyncClient(headers=bearer, timeout=60, **PLAIN) as http,
    ):
        transport = streamable_http_client(f"http://{doors.host}/mcp", http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=decide) as client:
            yes = await client.call_tool("s__echo", {"text": "hello"})
            no = await client.call_tool("s__echo", {"text": "hello"})
    assert (yes.is_error, no.is_error) == (False, True)
    assert ["'echo' of 's'" in message for message in asked] == [True, True]
    assert len(ran(home)) == 1
