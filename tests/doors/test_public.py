"""A hub that serves others: its public address, its certificate, and what it warns of."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from tests.doors.doors import TOKEN, Answer, Doors, Raw, open_doors
from tests.fixtures.certificates import make_certificates
from tests.fixtures.issuer import issuing
from toolyard import app
from toolyard.core.errors import ConfigError
from toolyard.doors.http.accepting import HANDSHAKES
from toolyard.settings import read_settings

HERE = "127.0.0.1"
PUBLIC = "https://hub.example.com"
NAME = "hub.example.com"
EMPTY = {"Content-Length": "0"}
needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl is not installed"
)


def pair(folder: Path) -> dict[str, Any]:
    """The settings of a certificate and its key, made there."""
    folder.mkdir(exist_ok=True)
    make_certificates(folder, HERE)
    return {"tls_cert": folder / "server.pem", "tls_key": folder / "server-key.pem"}


async def encrypted(doors: Doors, authority: Path) -> Raw:
    """An encrypted connection to a hub whose certificate is of this authority."""
    context = ssl.create_default_context(cafile=authority)
    return Raw(*await asyncio.open_connection(HERE, doors.port, ssl=context))


async def ask(doors: Doors, host: str, path: str = "/api/v1/status", **headers: str) -> Answer:
    """The answer to a request that names a host."""
    return await doors.ask("GET", path, headers={"Host": host, **headers})


async def codes(doors: Doors) -> list[str]:
    """The problems of a hub."""
    answer = await ask(doors, doors.host, "/api/v1/problems")
    return [problem["code"] for problem in answer.json()["problems"]]


# The public address.


async def test_requests_to_the_public_address_are_taken_and_others_are_not(home: Path) -> None:
    async with open_doors(home, public=PUBLIC) as doors:
        for host in (NAME, f"{NAME}:443", NAME.upper(), doors.host):
            assert (await ask(doors, host)).status == 200, host
        for foreign in (f"{NAME}:80", f"{NAME}.evil.example", "evil.example", f"{HERE}:1"):
            assert (await ask(doors, foreign)).status == 421, foreign
        assert (await ask(doors, NAME, Origin=PUBLIC)).status == 200
        for foreign in (f"http://{NAME}", f"{PUBLIC}:8443", "https://evil.example"):
            assert (await ask(doors, NAME, Origin=foreign)).status == 403, foreign


async def test_links_and_entries_go_by_the_public_address(home: Path) -> None:
    async with open_doors(home, public=PUBLIC) as doors:
        link = (await doors.ask("POST", "/api/v1/link", headers=EMPTY)).json()["link"]
        assert link.startswith(f"{PUBLIC}/open?code=")
        assert (await doors.get("/api/v1/status"))["url"] == PUBLIC
        links = {row["client"]: row["link"] for row in (await doors.get(LINKS))["links"]}
        assert f"{PUBLIC}/mcp" in unquote(links["vscode"]) and "${input:" in unquote(
            links["vscode"]
        )
        assert TOKEN not in str(links)
        state = json.loads((home / "run" / "hub.json").read_text())
        assert (state["url"], state["public"]) == (f"http://{doors.host}", PUBLIC)


LINKS = "/api/v1/clients/links"


async def test_a_client_connects_by_the_public_address_and_disconnects_again(home: Path) -> None:
    async with open_doors(home, public=PUBLIC) as doors:
        place = "/api/v1/clients/cursor"
        answer = await doors.ask("POST", f"{place}/connect", b'{"http":true}')
        assert answer.status == 200, answer
        entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["toolyard"]
        assert entry["url"] == f"{PUBLIC}/mcp"
        token = entry["headers"]["Authorization"]
        assert (await ask(doors, NAME, "/mcp", Authorization=token)).status != 401
        assert (await doors.ask("POST", f"{place}/disconnect", b"{}")).status == 200
        assert not (home / ".cursor" / "mcp.json").exists()  # it held nothing else
        assert (await ask(doors, NAME, "/mcp", Authorization=token)).status == 401


async def test_a_browser_comes_back_from_a_login_to_the_public_address(home: Path) -> None:
    with issuing() as issuer:
        servers = {"remote": {"url": issuer.mcp}}
        async with open_doors(home, servers, public=PUBLIC) as doors:
            begun = await doors.ask("POST", "/api/v1/auth/remote/login", headers=EMPTY)
            back = await agree(begun.json()["url"])
            assert back.startswith(f"{PUBLIC}/login/callback?")
            path = back.removeprefix(PUBLIC)
            stranger = await come_back(doors, path.replace("state=", "state=x"))
            assert stranger.status == 400 and b"not known" in stranger.body
            assert (await come_back(doors, path)).status == 200
            assert (await come_back(doors, path)).status == 400

            async def is_logged_in() -> bool:
                rows = (await doors.get("/api/v1/auth"))["logins"]
                return bool(rows[0]["state"] == "logged-in")

            await doors.until(is_logged_in)


async def agree(url: str) -> str:
    """Open a login page as a browser does; where it is sent back to."""
    page = urlsplit(url)
    assert page.hostname and page.port
    raw = Raw(*await asyncio.open_connection(page.hostname, page.port))
    target = f"{page.path}?{page.query}"
    await raw.send(f"GET {target} HTTP/1.1\r\nHost: {page.netloc}\r\n\r\n".encode())
    back = (await raw.answer(bodiless=True)).headers["location"]
    await raw.close()
    return back


@pytest.mark.parametrize("takes_documents", [True, False])
async def test_the_hub_serves_its_own_client_document_and_is_known_by_its_address(
    home: Path, takes_documents: bool
) -> None:
    with issuing() as issuer:
        issuer.takes_documents = takes_documents
        async with open_doors(home, {"remote": {"url": issuer.mcp}}, public=PUBLIC) as doors:
            document = (await come_back(doors, "/login/client.json")).json()
            assert document["client_id"] == f"{PUBLIC}/login/client.json"
            # As an issuer does that has fetched it.
            issuer.clients[document["client_id"]] = document
            begun = await doors.ask("POST", "/api/v1/auth/remote/login", headers=EMPTY)
            asked = dict(parse_qsl(urlsplit(begun.json()["url"]).query))
            is_named = asked["client_id"] == document["client_id"]
            assert (is_named, len(issuer.registrations)) == (takes_documents, not takes_documents)

            path = (await agree(begun.json()["url"])).removeprefix(PUBLIC)

            assert (await come_back(doors, path)).status == 200


async def test_a_hub_that_no_issuer_can_reach_has_no_client_document(home: Path) -> None:
    for public in ("", f"http://{NAME}"):
        async with open_doors(home, public=public) as doors:
            assert (await doors.ask("GET", "/login/client.json")).status == 404


async def come_back(doors: Doors, path: str) -> Answer:
    """Open a page as a browser does that has no token."""
    data = doors.request(path=path, headers={"Host": NAME}, leave_out=("Authorization",))
    async with doors.connected() as raw:
        await raw.send(data)
        return await raw.answer()


async def test_without_a_public_address_nobody_comes_back_to_the_hub(home: Path) -> None:
    async with open_doors(home) as doors:
        answer = await doors.ask("GET", "/login/callback?state=x", leave_out=("Authorization",))
        assert answer.status == 404


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"public": PUBLIC}, []),
        ({"public": PUBLIC, "host": "0.0.0.0"}, []),
        ({"public": f"http://{NAME}"}, ["clear-text"]),
        ({"public": "http://localhost:9000"}, []),
    ],
)
async def test_a_token_in_clear_text_is_warned_of(
    home: Path, changes: dict[str, Any], expected: list[str]
) -> None:
    async with open_doors(home, **changes) as doors:
        assert await codes(doors) == expected


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://Hub.Example.com/", PUBLIC),
        ("https://hub.example.com:443", PUBLIC),
        ("https://hub.example.com:8443", f"{PUBLIC}:8443"),
        ("http://[2001:db8::1]:80", "http://[2001:db8::1]"),
    ],
)
def test_a_public_address_is_read_as_browsers_write_it(written: str, read: str) -> None:
    assert read_settings({"public": written}, {}).public == read


@pytest.mark.parametrize(
    "written",
    [
        "hub.example.com",
        "ftp://hub",
        "https://",
        "https://hub/yard",
        "https://me@hub",
        "https://h:x",
    ],
)
def test_what_is_no_public_address_is_refused(written: str) -> None:
    with pytest.raises(ConfigError, match="--public"):
        read_settings({"public": written}, {})


# The certificate.


@needs_openssl
async def test_an_encrypted_hub_is_reached_by_others_and_by_programs_here(home: Path) -> None:
    tls = pair(home / "tls")
    async with open_doors(home, host="0.0.0.0", **tls) as doors:
        raw = await encrypted(doors, home / "tls" / "ca.pem")
        await raw.send(doors.request(path="/api/v1/problems"))
        answer = await raw.answer()
        assert (answer.status, answer.json()["problems"]) == (200, [])
        await raw.send(doors.request("POST", "/api/v1/link", headers=EMPTY))
        assert (await raw.answer()).json()["link"].startswith("https://")
        await raw.close()
        async with doors.connected() as plain:
            await plain.send(doors.request())
            assert b"200" not in await plain.rest()
        state = json.loads((home / "run" / "hub.json").read_text())
        here = urlsplit(state["url"])
        assert (here.scheme, here.hostname) == ("http", HERE) and here.port != doors.port
        assert here.port is not None
        local = Doors(here.port, home)
        assert (await local.get("/api/v1/status"))["url"] == f"https://{HERE}:{doors.port}"


@needs_openssl
async def test_a_new_certificate_is_taken_at_once_and_a_bad_one_is_not(home: Path) -> None:
    tls, other = pair(home / "tls"), pair(home / "other")
    async with open_doors(home, **tls) as doors:
        state = json.loads((home / "run" / "hub.json").read_text())
        local = Doors(urlsplit(state["url"]).port or 0, home)
        halves = {"": "not a certificate", "mismatch": other["tls_cert"].read_text()}
        for reason, text in halves.items():
            tls["tls_cert"].write_text(text)
            await local.until(partial(has_problem, local, reason))
            await (await encrypted(doors, home / "tls" / "ca.pem")).close()
        shutil.copy(other["tls_key"], tls["tls_key"])

        async def is_new() -> bool:
            with suppress(ssl.SSLError):
                await (await encrypted(doors, home / "other" / "ca.pem")).close()
                return True
            return False

        await local.until(is_new)
        await local.until(lambda: is_well(local))


async def has_problem(doors: Doors, reason: str) -> bool:
    """Return whether a hub says that its certificate cannot be used, for this reason."""
    problems = (await doors.get("/api/v1/problems"))["problems"]
    return any(row["code"] == "tls-files" and reason in row["text"] for row in problems)


async def is_well(doors: Doors) -> bool:
    """Return whether a hub has no problem."""
    return not await codes(doors)


@needs_openssl
async def test_those_who_never_finish_a_handshake_lock_nobody_out(home: Path) -> None:
    async with open_doors(home, **pair(home / "tls")) as doors:
        silent = [await asyncio.open_connection(HERE, doors.port) for _ in range(HANDSHAKES + 50)]
        raw = await encrypted(doors, home / "tls" / "ca.pem")
        await raw.send(doors.request())
        assert (await raw.answer()).status == 200
        await raw.close()
        for _, writer in silent:
            writer.close()


async def test_a_certificate_that_cannot_be_used_is_one_sentence(home: Path) -> None:
    (home / "cert.pem").write_text("nonsense")
    for key, sentence in {
        "cert.pem": r"cert\.pem' and the key .* cannot be used",
        "none.pem": r"there is no file .*none\.pem",
    }.items():
        flags = {"tls_cert": str(home / "cert.pem"), "tls_key": str(home / key)}
        settings = read_settings(flags, {"TOOLYARD_HOME": str(home)})
        with pytest.raises(ConfigError, match=sentence):
            await app.run(settings)


@pytest.mark.parametrize("alone", ["tls_cert", "tls_key"])
def test_a_certificate_and_its_key_come_together(alone: str) -> None:
    with pytest.raises(ConfigError, match="of no use without"):
        read_settings({alone: "x.pem"}, {})
