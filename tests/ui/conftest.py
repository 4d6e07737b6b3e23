"""A real browser in front of a real hub; each test says which servers are behind it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.e2e.hub import RunningHub, new_home, running_hub, scripted
from tests.features.approvals.yard import ask

playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")

HERE = Path(__file__).parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
# Without a word to anybody: a browser of its own asks a dozen hosts when it starts.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--no-first-run",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--metrics-recording-only",
    "--no-pings",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
PATIENCE_MS = 60_000
playwright.expect.set_options(timeout=PATIENCE_MS)
DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
ORDER = {
    "type": "object",
    "required": ["dish", "table"],
    "properties": {
        "dish": {"type": "string", "description": "What to cook"},
        "table": {"type": "integer", "minimum": 1, "maximum": 40},
        "size": {"enum": ["small", "large"], "default": "small"},
        "hurry": {"type": "boolean"},
        "extras": {"type": "array", "items": {"type": "string"}},
        "guest": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "allergies": {"$ref": "#/$defs/words"}},
        },
        "pay": {
            "oneOf": [
                {
                    "title": "by card",
                    "type": "object",
                    "required": ["by", "digits"],
                    "properties": {"by": {"const": "card"}, "digits": {"type": "string"}},
                },
                {"title": "in cash", "type": "number"},
            ]
        },
    },
    "$defs": {"words": {"type": "array", "items": {"type": "string"}}},
}
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SERVED: dict[str, Any] = {
    "content": [
        {"type": "text", "text": '{"cooked": ["soup"], "minutes": 12}'},
        {"type": "image", "mimeType": "image/png", "data": PIXEL},
        {"type": "audio", "mimeType": "audio/wav", "data": "UklGRiQAAABXQVZF"},
        {"type": "resource_link", "uri": "note://bill", "name": "the bill"},
    ],
    "structuredContent": {"cooked": ["soup"]},
}


def kitchen(home: Path, name: str = "kitchen", *tools: dict[str, Any]) -> dict[str, Any]:
    """The entry of a server with one rich tool, or with these."""
    listed = tools or ({"name": "cook", "description": "Cooks.", "inputSchema": ORDER},)
    replies = {"tools/list": json.dumps({"tools": listed}), "tools/call cook": json.dumps(SERVED)}
    return scripted(home, name, replies, tools={})


@pytest.fixture
def home() -> Iterator[Path]:
    """The home of a hub that is about to start."""
    with new_home() as made:
        yield made


@pytest.fixture(scope="session")
def hub() -> Iterator[RunningHub]:
    """A hub in front of one server, for all tests that leave it as they came to it."""
    with new_home() as made, running_hub({"kitchen": kitchen(made)}, home=made) as started:
        yield started


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let all tests of the page run on one event loop: that of the browser."""
    for item in items:
        if item.path.is_relative_to(HERE) and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Any]:
    """A browser, without a window: one for all tests, which open windows of their own in it."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; on Debian: apt install chromium")
    with new_home() as home:
        env = {**os.environ, "HOME": str(home)}
        async with playwright.async_playwright() as started:
            launched = await started.chromium.launch(
                executable_path=CHROMIUM, headless=True, args=FLAGS, env=env
            )
            try:
                yield launched
            finally:
                await launched.close()


def page_link(hub: RunningHub) -> str:
    """Return a link like the one that `toolyard status` prints for people."""
    status, answer = ask(hub, "POST", "/api/v1/link")
    assert status == 200, answer
    return str(answer["link"])


@asynccontextmanager
async def entered(browser: Any, hub: RunningHub, **options: Any) -> AsyncIterator[Any]:
    """A page that came in by a link; no error of a script goes unseen."""
    wanted = {"viewport": DESK, "reduced_motion": "reduce", **options}
    context = await browser.new_context(**wanted)
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    wrong: list[str] = []
    failed: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console", lambda said: wrong.append(said.text) if "Content Security" in said.text else None
    )
    page.on("requestfailed", lambda request: failed.append(f"{request.url} {request.failure}"))
    try:
        try:
            await page.goto(page_link(hub))
            await page.wait_for_url("**/ui")
            await page.wait_for_selector("h1")
        except playwright.Error as error:
            error.add_note(f"{wrong=} {failed=} {await page.inner_text('body')!r}")
            raise
        yield page
        assert wrong == []
    finally:
        await context.close()


def shots() -> Path | None:
    """Where pictures of the pages are wanted, if anywhere."""
    folder = os.environ.get("TOOLYARD_SHOTS")
    return Path(folder) if folder else None
