"""Pages that a legacy server wants opened before it serves a call, as questions to modern clients.

A legacy server refuses such a call with an error that lists the pages, and expects it again later.
A modern client does just that with an `input_required` result, so nothing has to be kept here.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Raw

from toolyard.relay.held_calls import METHOD, action_of, answer_to
from toolyard.relay.questions import NEEDS, is_able
from toolyard.relay.replies import refuse_call
from toolyard.relay.session import ClientRequest
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fault, Fields, Message

LONGEST: Final = 1 << 16
"""Bytes of an error that is looked into; a list of pages is short."""
MOST_PAGES: Final = 16
_ASKING: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""Methods whose result may be a question."""


def ask_to_open(
    request: ClientRequest, method: str, fields: Fields, fault: Fault
) -> Message | None:
    """Return what a modern client is told of the pages an error lists; None if it lists none."""
    pages = _pages_in(fault.data)
    if not pages or method not in _ASKING:
        return None
    if any(action_of(answer_to(fields, key)) in ("decline", "cancel") for key in pages):
        return refuse_call(f"{fault.message} (you declined)", method, is_modern=True)
    params = jsonrpc.encode(next(iter(pages.values())))
    if not is_able(request.capabilities, NEEDS[METHOD], params):
        links = ", ".join(page["url"] for page in pages.values())
        text = f"{fault.message}. Open {links} in a browser, then call again."
        return refuse_call(text, method, is_modern=True)
    questions = {key: {"method": METHOD, "params": page} for key, page in pages.items()}
    body = {"resultType": "input_required", "inputRequests": questions}
    return Message(result=Raw(jsonrpc.encode(body)))


def _pages_in(details: Any) -> dict[str, dict[str, str]]:
    """Return the params of a question for each page; the same page has the same key in each round.

    An error of which any part is not as it should be lists no page: half of what a server
    wants would only be asked for again.
    """
    listed = details.get("elicitations") if isinstance(details, dict) else None
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_PAGES:
        return {}
    pages = {f"page-{number}": _page(entry) for number, entry in enumerate(listed, 1)}
    return pages if all(pages.values()) else {}


def _page(entry: Any) -> dict[str, str]:
    """The params of a question about one page; empty if the entry is none."""
    if not isinstance(entry, dict) or entry.get("mode") != "url":
        return {}
    url, text = entry.get("url"), entry.get("message", "")
    if not isinstance(url, str) or not isinstance(text, str) or not _is_web(url):
        return {}
    return {"mode": "url", "message": text, "url": url}


def _is_web(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https")
    except ValueError:
        return False
