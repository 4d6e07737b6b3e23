"""The way Windows goes, walked here on the one loop both have."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.executors.children import ECHO, Ear, python
from toolyard.executors.child import Child
from toolyard.executors.local import portable
from toolyard.executors.local.program import locate


@pytest.mark.asyncio(loop_factories=["asyncio"])
async def test_a_process_started_by_asyncio_speaks_and_ends_alike() -> None:
    child = Child()
    env = dict(os.environ)
    process = await portable.start(locate("echo", python(ECHO), env), env, child)
    await process.attach()
    ear = Ear(child)
    child.write(b"hello\n")
    assert await ear.line() == b"hello"

    child.close_input()
    async with asyncio.timeout(10):
        await child.gone.wait()
    assert await ear.end() == "exited with code 0"
    process.reap()
    child.close()
