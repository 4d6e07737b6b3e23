"""Orders given to the hub from within a page, as another window of the same person would."""

from __future__ import annotations

from typing import Any

_SEND = """async ([method, path, body]) => {
    const {order} = await import("/ui/assets/lib/store.js");
    return order(method, path, body === null ? undefined : body);
}"""


async def order(page: Any, method: str, path: str, body: Any = None) -> Any:
    """What the control API answers."""
    return await page.evaluate(_SEND, [method, path, body])
