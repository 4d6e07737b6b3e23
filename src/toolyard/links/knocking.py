"""Asks a server something harmless, to be told how to be let in."""

from __future__ import annotations

from typing import Final

from toolyard.core.model import Url
from toolyard.links.greeting import ENVELOPE
from toolyard.links.issuer_http import IssuerHttp, IssuerReply
from toolyard.wire import era, jsonrpc

METHOD: Final = "server/discover"


async def knock(http: IssuerHttp, url: Url, authorization: str = "") -> IssuerReply:
    """Ask a server what it is, as somebody who is not let in, or with this authorization.

    Raises:
        LinkError: It cannot be asked.
    """
    message = {"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": {"_meta": ENVELOPE}}
    headers = {
        **{name.lower(): value for name, value in url.headers},
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": era.MODERN,
        "mcp-method": METHOD,
    }
    headers.pop("authorization", None)
    if authorization:
        headers["authorization"] = authorization
    return await http.send("POST", url.url, headers, jsonrpc.encode(message))
