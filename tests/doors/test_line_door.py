"""The line door: both eras on one connection, told apart by the envelope of each request."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.doors.doors import INITIALIZE, META, Json, call, modern, open_doors
from tests.instances.yard import socket_of

STATUS = {"name": "toolyard_status", "arguments": {}}


async def said(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: Json) -> Json:
    """The answer to a request."""
    writer.write(json.dumps(message).encode() + b"\n")
    async with asyncio.timeout(60):
        while True:
            answer: Json = json.loads(await reader.readline())
            if "method" not in answer:
                return answer


async def test_a_request_is_modern_if_its_envelope_is_and_whatever_its_arguments_hold(
    tmp_path: Path,
) -> None:
    mention = {**STATUS, "arguments": {"note": f"{META}protocolVersion"}}
    async with open_doors(tmp_path) as doors:
        line = await asyncio.open_unix_connection(socket_of(doors.home))
        await said(*line, call("initialize", INITIALIZE))

        legacy = await said(*line, call("tools/call", mention, 2))
        by_envelope = await said(*line, modern("tools/call", STATUS))

        line[1].close()
        await line[1].wait_closed()
    assert "resultType" not in legacy["result"]
    assert by_envelope["result"]["resultType"] == "complete"


async def test_params_that_are_no_object_are_refused_under_the_id_of_the_request(
    tmp_path: Path,
) -> None:
    async with open_doors(tmp_path) as doors:
        line = await asyncio.open_unix_connection(socket_of(doors.home))

        refused = await said(*line, {**call("tools/list"), "id": 7, "params": []})

        line[1].close()
        await line[1].wait_closed()
    assert (refused["id"], refused["error"]["code"]) == (7, -32602)
