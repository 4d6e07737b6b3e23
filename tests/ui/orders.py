"""Orders given to the hub from within a page, as another window of the same person would."""

from __future__ import annotations

from typing import Any

_SEND = """async ([method, path, body]) => {
    const headers = {"content-type": "application/json"};
    const sent = body === null ? undefined : JSON.stringify(body);
    const answer = await fetch("/api/v1" + path, {method, headers, body: sent});
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
}"""


async def order(page: Any, method: str, path: str, body: Any = None) -> Any:
    """What the control API answers."""
    return await page.evaluate(_SEND, [method, path, body])
