"""The look of a page: it fits its window, keeps nobody out, and is pictured if that is wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.ui.conftest import DESK, PHONE, shots

AXE = Path(__file__).parents[2] / ".cache/axe/node_modules/axe-core/axe.min.js"
SIZES = {"desk": DESK, "phone": PHONE}
LOOKS = [("desk", "light"), ("desk", "dark"), ("phone", "light"), ("phone", "dark")]
FEW_LOOKS = LOOKS if shots() else [LOOKS[0], LOOKS[3]]
"""All of them for pictures; each size and each theme once for a test."""
_SERIOUS = """async () => (await axe.run()).violations
  .filter(({impact}) => ["serious", "critical"].includes(impact))
  .map(({id, nodes}) => `${id}: ${nodes.map(({html}) => html).slice(0, 3).join(" ")}`)"""
_TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"


def look(size: str, scheme: str) -> dict[str, Any]:
    """Return the options of a browser window of that size and theme."""
    return {"viewport": SIZES[size], "color_scheme": scheme}


async def check_look(page: Any, name: str) -> None:
    """See that what a page shows now fits, and that axe finds nothing serious in it."""
    wide = await page.evaluate(_TOO_WIDE)
    assert wide <= 0, f"{name} is {wide} pixels too wide"
    if AXE.exists():
        if not await page.evaluate("'axe' in window"):
            await page.evaluate(AXE.read_text())
        assert await page.evaluate(_SERIOUS) == [], name


async def keep(page: Any, name: str, *, whole: bool = True) -> None:
    """Keep a picture of a page, if pictures are wanted."""
    folder = shots()
    if folder is not None:
        await page.screenshot(path=folder / f"{name}.png", full_page=whole)
