"""The OAuth client of the official SDK comes in through the hub's door, by what it finds there."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from joserfc import jwt
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

from tests.control.company import open_yard, put_profile
from tests.doors.doors import Doors
from tests.e2e.talk import PLAIN
from tests.features.members.team import admit
from tests.features.members.test_doors import members_kept
from tests.fixtures.issuer import Issuer, issuing
from tests.fixtures.signing_issuer import a_key

BACK = "http://127.0.0.1:9/back"

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


class TeamIssuer(Issuer):
    """An authorization server with registration and PKCE, whose tokens are signed for one hub."""

    def __init__(self) -> None:
        super().__init__()
        self.hub = ""
        self.good_for = 60
        """Seconds until a token expires."""

    @property
    def mcp(self) -> str:
        return self.hub

    def metadata(self) -> dict[str, Any]:
        self.pages = {"/keys": {"keys": [a_key("first").as_dict(private=False)]}}
        return {**super().metadata(), "jwks_uri": f"{self.url}/keys"}

    def _issue(self, scope: str) -> dict[str, Any]:
        now = int(time.time())
        claims = {
            "iss": self.url,
            "sub": "ann",
            "aud": self.hub,
            "iat": now,
            "exp": now + self.good_for,
        }
        claims |= {"email": "ann@example.com", "groups": ["developers"], "scope": scope}
        token = jwt.encode({"alg": "ES256", "kid": "first"}, claims, a_key("first"))
        return {**super()._issue(scope), "access_token": token}


class Memory:
    """Tokens and registration, as a client keeps them."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


def log_in_at(url: str, memory: Memory) -> OAuthClientProvider:
    """The SDK's login; a browser that says yes to everything goes where it is sent."""
    sent_back: dict[str, str] = {}

    async def browse(address: str) -> None:
        async with httpx2.AsyncClient(timeout=30, **PLAIN) as browser:
            answer = await browser.get(address, follow_redirects=False)
        words = parse_qs(urlsplit(answer.headers["location"]).query)
        sent_back.update({name: values[0] for name, values in words.items()})

    async def come_back() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**sent_back)

    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(BACK)], client_name="sdk", token_endpoint_auth_method="none"
    )
    return OAuthClientProvider(url, metadata, memory, browse, come_back)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/p/echoes"])
async def test_the_sdk_finds_the_issuer_logs_in_and_calls(home: Path, mode: str, path: str) -> None:
    issuer = TeamIssuer()
    with issuing(issuer):
        async with open_yard(home, issuer=issuer.url) as doors:
            await put_echoes(doors)
            issuer.hub = f"http://{doors.host}{path}"
            memory = Memory()
            login = log_in_at(issuer.hub, memory)
            async with httpx2.AsyncClient(auth=login, timeout=60, **PLAIN) as http:
                transport = streamable_http_client(issuer.hub, http_client=http)
                async with Client(transport, mode=mode) as client:
                    tools = [tool.name for tool in (await client.list_tools()).tools]
                    said = await client.call_tool("one__echo", {"text": "hello"})
            assert {"one__echo", "two__echo"} <= {*tools} and "one__env" not in tools
            assert "hello" in str(said)
            (row,) = await members_kept(doors)
            assert row["email"] == "ann@example.com"
            assert len(issuer.registrations) == 1 and memory.tokens is not None


async def put_echoes(doors: Doors) -> None:
    """Admit developers to what repeats."""
    await put_profile(doors, "echoes", allow=["*/echo"])
    await admit(doors, "developers", "echoes")
