"""How the pages look and weigh: pictures of each, nothing too wide, nothing inaccessible."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub import running_hub, stdio_stub
from tests.ui.conftest import DESK, PHONE, entered, kitchen, shots

pytestmark = pytest.mark.ui
AXE = Path(__file__).parents[2] / ".cache/axe/node_modules/axe-core/axe.min.js"
MOST_BYTES = 150_000
PAGES = {
    "yard": ("/ui", "[data-server=kitchen]"),
    "server": ("/ui/servers/kitchen", "section >> text=Tools (1)"),
    "tool": ("/ui/servers/kitchen/tools/cook", "form.schema"),
}
SERIOUS = """async () => (await axe.run()).violations
  .filter((each) => ["serious", "critical"].includes(each.impact))
  .map((each) => `${each.id}: ${each.nodes.map((node) => node.html).slice(0, 3).join(" ")}`)"""
FETCHED = """() => Object.fromEntries(performance.getEntriesByType("resource")
  .map((entry) => [new URL(entry.name).pathname, entry.encodedBodySize])
  .filter(([path]) => path.startsWith("/ui/assets/")))"""


def servers(home: Path) -> dict[str, Any]:
    """A yard with a light of several colours."""
    return {
        "kitchen": kitchen(home),
        "one": stdio_stub("one", home),
        "broken": {"command": "/nowhere/at/all"},
        "off": {"command": "off", "disabled": True},
    }


async def test_the_page_stays_light_over_the_wire(browser: Any, home: Path) -> None:
    with running_hub(servers(home), home=home) as hub:
        async with entered(browser, hub) as page:
            await page.wait_for_selector("[data-server=kitchen]")
            fetched = await page.evaluate(FETCHED)
            assert fetched["/ui/assets/style.css"] > 0
            assert fetched["/ui/assets/pages/doctor.js"] > 0
            assert sum(fetched.values()) < MOST_BYTES, fetched


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desk", "phone"])
async def test_every_page_fits_and_is_accessible(
    browser: Any, home: Path, theme: str, size: str
) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed; `make test-ui` fetches it where npm is")
    with running_hub(servers(home), home=home) as hub:
        view = {"viewport": DESK if size == "desk" else PHONE, "color_scheme": theme}
        async with entered(browser, hub, **view) as page:
            for name, (path, sign) in PAGES.items():
                await page.goto(f"{hub.url}{path}")
                await page.wait_for_selector(sign)
                await page.wait_for_selector(".live.live")
                folder = shots()
                if folder is not None:
                    await page.screenshot(path=folder / f"{name}-{theme}-{size}.png")
                wide = "document.documentElement.scrollWidth <= innerWidth"
                assert await page.evaluate(wide), name
                await page.evaluate(AXE.read_text())
                assert await page.evaluate(SERIOUS) == [], name


async def test_a_great_yard_stays_smooth_while_things_happen(browser: Any, home: Path) -> None:
    listed = [
        {"name": f"tool_{n}", "description": "does", "inputSchema": {"type": "object"}}
        for n in range(1000)
    ]
    many: dict[str, Any] = {f"s{n:03}": {"command": "off", "disabled": True} for n in range(199)}
    many["kitchen"] = kitchen(home, "kitchen", *listed)
    with running_hub(many, home=home) as hub:
        async with entered(browser, hub) as page:
            await page.wait_for_selector("[data-server=kitchen]")
            await page.wait_for_selector("[data-server=kitchen] >> text=~")
            changes = await page.evaluate(STORM)
            # About 1600 nodes; more than 50,000 if rows that stay the same were made anew.
            assert 150 < changes < 10_000, changes


STORM = """async () => {
  const {state, tell} = await import("/ui/assets/lib/store.js");
  let changes = 0;
  const size = (node) => 1 + (node.querySelectorAll?.("*").length || 0);
  const observer = new MutationObserver((records) => {
    for (const record of records) {
      changes += 1;
      for (const node of record.addedNodes) changes += size(node);
    }
  });
  const everything = {subtree: true, childList: true, attributes: true, characterData: true};
  observer.observe(document.getElementById("main"), everything);
  for (let count = 1; count <= 150; count += 1) {
    const servers = state.status.servers.map((each, at) => (
      at === count % 200 ? {...each, enabled: !each.enabled, tools: count} : each));
    tell({status: {...state.status, servers}});
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 400));
  observer.disconnect();
  return changes;
}"""

SHIFTED = """() => new Promise((resolve) => {
  const observer = new PerformanceObserver(() => {});
  observer.observe({type: "layout-shift", buffered: true});
  const moved = observer.takeRecords().filter((entry) => !entry.hadRecentInput);
  resolve(moved.reduce((sum, entry) => sum + entry.value, 0));
})"""


@pytest.mark.parametrize("size", ["desk", "phone"])
async def test_nothing_jumps_while_a_page_comes_up(browser: Any, home: Path, size: str) -> None:
    with running_hub(servers(home), home=home) as hub:
        async with entered(browser, hub, viewport=DESK if size == "desk" else PHONE) as page:
            for path, sign in PAGES.values():
                await page.goto(f"{hub.url}{path}")
                await page.wait_for_selector(sign)
                await page.wait_for_selector(".live.live")
                assert await page.evaluate(SHIFTED) < 0.1, path
