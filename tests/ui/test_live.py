"""What happens while the page is open is seen on it, without a reload."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import running_hub, stdio_stub
from tests.e2e.talk import talking
from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import STUB
from tests.ui.conftest import entered

pytestmark = pytest.mark.ui
BUSY = "[data-line$=' one'].busy"


@contextmanager
def web_stub(port: int) -> Iterator[str]:
    """A server behind an address, until the block ends."""
    command = [sys.executable, str(STUB), "http", "--name", "far", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def test_a_server_that_dies_and_returns_is_seen_to_do_so(browser: Any, home: Path) -> None:
    port = free_port()
    with web_stub(port) as url:
        hub_at = running_hub({"far": {"url": url}, "one": stdio_stub("one", home)}, home=home)
        hub = hub_at.__enter__()
    try:  # now it is dead
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/far")
            await page.click("text=Restart")
            await page.click(".crumbs >> text=Servers")
            await page.wait_for_selector("[data-server=far][data-light=failing]")
            await page.wait_for_selector("[data-server=far] .why")
            with web_stub(port):
                # The hub tries by itself, too, and takes the button away if it is first.
                again = page.locator("[data-server=far] button", has_text="Try again")
                await again.evaluate_all("buttons => buttons.forEach(button => button.click())")
                await page.wait_for_selector("[data-server=far][data-light=ready]")
                await page.wait_for_selector("[data-server=far] .why", state="detached")
    finally:
        hub_at.__exit__(None, None, None)


async def test_calls_are_counted_and_drawn_as_they_happen(browser: Any, home: Path) -> None:
    with running_hub({"one": stdio_stub("one", home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/activity")
            await page.wait_for_selector(".live.live")
            await page.wait_for_selector("text=No client is connected")
            async with talking(hub, "legacy", "line") as client:
                await page.wait_for_selector(".flow >> text=connected")
                await client.call("one__echo", {"text": "hi"})
                await page.wait_for_selector(BUSY, state="attached")
                await page.wait_for_selector(".flow >> text=1 call")
                await page.click("header nav >> text=Servers")
                await page.wait_for_selector("[data-server=one] >> text=1/min")
                await page.wait_for_selector(".strip >> text=1 call in the last hour")


async def test_a_hub_that_is_gone_is_said_to_be(browser: Any, home: Path) -> None:
    with running_hub({"one": stdio_stub("one", home)}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.wait_for_selector(".live.live")
            hub.process.terminate()
            await page.wait_for_selector("text=connection lost, trying again")
            assert await page.locator("[data-server=one]").count() == 1


async def test_a_server_that_dies_before_its_greeting_leaves_its_last_words(
    browser: Any, home: Path
) -> None:
    words = "import sys; print('no such folder: /data', file=sys.stderr); sys.exit(3)"
    dying = {"command": sys.executable, "args": ["-c", words]}
    with running_hub({"dying": dying}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/dying")
            await page.wait_for_selector("pre.log >> text=no such folder: /data")


async def test_the_log_follows_and_is_searched(browser: Any, home: Path) -> None:
    words = (
        "import os, sys\n"
        "for n in range(5): print(f'line number {n}', file=sys.stderr, flush=True)\n"
        f"os.execv(sys.executable, [sys.executable, {str(STUB)!r}, 'stdio'])\n"
    )
    talker = {"command": sys.executable, "args": ["-c", words]}
    with running_hub({"talker": talker}, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.goto(f"{hub.url}/ui/servers/talker")
            await page.wait_for_selector("pre.log >> text=line number 4")
            await page.fill("[aria-label='Search the log']", "number 3")
            await page.wait_for_selector("pre.log >> text=line number 4", state="detached")
            assert "line number 3" in await page.inner_text("pre.log")
