"""People come in with tokens of `oidc-provider`: through clients of others, and on the page."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
import pytest_asyncio
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

from tests.control.company import open_yard, send
from tests.doors.doors import Answer, Doors
from tests.e2e.talk import PLAIN
from tests.features.authorization.people import words_in
from tests.features.members.test_doors import members_kept
from tests.features.members.test_sdk_login import BACK, Memory, put_echoes
from tests.fixtures.issuers.running import ForeignServer, running_issuer

pytestmark = [
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
    pytest.mark.timeout(600),  # the first time, the packages are fetched
]


@pytest.fixture
def provider() -> Iterator[ForeignServer]:
    with running_issuer("oidc_people") as running:
        yield running


@pytest_asyncio.fixture
async def hub(home: Path, provider: ForeignServer) -> AsyncIterator[Doors]:
    """A hub that trusts the provider, and admits developers."""
    async with open_yard(home, issuer=provider.url, scopes=("mcp",)) as doors:
        await put_echoes(doors)
        yield doors


async def agree(address: str, back: str) -> str:
    """Go where a browser is sent, and agree as Ann; the address that it is sent back to."""
    async with httpx2.AsyncClient(timeout=60, **PLAIN) as browser:
        for _ in range(10):
            answer = await browser.get(address, follow_redirects=False)
            assert answer.status_code in (302, 303), answer.text
            address = str(answer.url.join(answer.headers["location"]))
            if address.startswith(back):
                return address
    raise AssertionError(f"it ended at {address}")


def sdk_login(url: str, memory: Memory) -> OAuthClientProvider:
    """The login of the Python SDK."""
    sent_back: dict[str, str] = {}

    async def browse(address: str) -> None:
        sent_back.update(words_in(await agree(address, BACK)))

    async def come_back() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**sent_back)

    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(BACK)],
        client_name="sdk",
        application_type="native",
        token_endpoint_auth_method="none",
    )
    return OAuthClientProvider(url, metadata, memory, browse, come_back)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_sdk_comes_in_with_a_token_of_the_provider(
    hub: Doors, provider: ForeignServer, mode: str
) -> None:
    url = f"http://{hub.host}/mcp"
    memory = Memory()
    async with httpx2.AsyncClient(auth=sdk_login(url, memory), timeout=60, **PLAIN) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            said = await client.call_tool("one__echo", {"text": "hello"})
    assert {"one__echo", "two__echo"} <= tools and "one__env" not in tools
    assert "hello" in str(said)
    (row,) = await members_kept(hub)
    assert row["email"] == "ann@example.com" and row["groups"] == ["developers"]
    told = provider.told()
    assert told["registrations"] == 1 and told["resources"] == [url]


async def test_ann_logs_in_on_the_page_with_the_provider(
    hub: Doors, provider: ForeignServer
) -> None:
    tie = secrets.token_urlsafe(32)

    async def knock(path: str, secret: str) -> Answer:
        answer = await hub.ask("POST", path, b"", {"Authorization": f"Bearer {secret}"})
        assert answer.status == 200, answer
        return answer

    begun = (await knock("/ui/login/begin", tie)).json()["url"]
    query = urlsplit(await agree(begun, f"http://{hub.host}/ui/login?")).query
    logged_in = (await knock(f"/ui/login/finish?{query}", tie)).json()
    head = f"Bearer {logged_in['key']}"
    me = (await send(hub, "GET", "/api/v1/my/self", Authorization=head)).json()
    assert (me["email"], me["profiles"]) == ("ann@example.com", ["echoes"])
    assert (await send(hub, "GET", "/api/v1/status", Authorization=head)).status == 403
    renewed = (await knock("/ui/login/renew", logged_in["renewal"])).json()
    assert renewed["key"] != logged_in["key"] and provider.told()["refreshes"] == 1
