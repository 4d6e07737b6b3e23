"""The client that we are, in the words of client metadata (RFC 7591)."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from toolyard.core.jsontypes import JsonObject

HOST: Final = "127.0.0.1"
"""The address to which browsers come back that run where we do."""
CLIENT_DOCUMENT: Final = "/login/client.json"
"""The path of the document that describes a hub, as a client, to the issuers of servers."""
NAME: Final = "Toolyard"
GRANT_TYPES: Final = ("authorization_code", "refresh_token")


def describe_client(callback: str, scope: str = "") -> JsonObject:
    """The client that we are, as we introduce it."""
    is_native = urlsplit(callback).hostname == HOST
    document: JsonObject = {
        "client_name": NAME,
        "redirect_uris": [callback],
        "grant_types": [*GRANT_TYPES],
        "response_types": ["code"],
        "application_type": "native" if is_native else "web",
    }
    return {**document, "scope": scope} if scope else document
