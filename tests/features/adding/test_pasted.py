"""Pasted texts are read as README files have them, and nothing is written by reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doors.doors import NOBODY, open_doors
from toolyard.core.errors import ConfigError
from toolyard.features.adding.pasted import LONGEST, read_pasted

ENTRY = {"command": "npx", "args": ["-y", "@example/files@1.2"]}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (json.dumps({"mcpServers": {"files": ENTRY}}), "files"),
        (json.dumps({"servers": {"files": ENTRY}, "inputs": []}), "files"),
        (json.dumps({"mcp": {"servers": {"files": ENTRY}}}), "files"),
        (json.dumps({"mcp": {"files": ENTRY}}), "files"),
        (json.dumps({"files": ENTRY}), "files"),
        (f'"files": {json.dumps(ENTRY)},', "files"),
        (json.dumps({"name": "my files", **ENTRY}), "my-files"),
        (f"// from the README\n{json.dumps(ENTRY)}", "files"),
    ],
)
def test_json_is_read_in_every_shape_people_paste(text: str, name: str) -> None:
    (proposal,) = read_pasted(text)

    assert (proposal.name, proposal.entry) == (name, ENTRY)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://mcp.example.com/mcp", "example"),
        ("https://api.weather.example/mcp", "weather"),
        ("http://127.0.0.1:8000/mcp", "127.0.0.1"),
    ],
)
def test_a_bare_address_is_that_of_a_server(url: str, name: str) -> None:
    (proposal,) = read_pasted(url)

    assert (proposal.name, proposal.entry) == (name, {"url": url})


def test_keys_that_mean_nothing_here_are_named() -> None:
    (proposal,) = read_pasted(json.dumps({"a": {**ENTRY, "autoApprove": ["x"], "gallery": True}}))

    assert proposal.left_out == ("autoApprove", "gallery")


def test_inputs_become_values_that_are_asked_for() -> None:
    entry = {"command": "run", "env": {"KEY": "${input:api key}", "SITE": "https://${input:site}"}}
    inputs = [
        {"id": "api key", "type": "promptString", "password": True, "description": "Your key"},
        {"id": "site", "type": "promptString", "default": "example.com"},
    ]
    (proposal,) = read_pasted(json.dumps({"servers": {"web": entry}, "inputs": inputs}))

    key, site = proposal.wants
    assert (key.key, key.is_secret, key.secret_name) == ("api key", True, "web-api-key")
    assert (site.is_secret, site.default) == (False, ("example.com",))
    assert proposal.filled({"site": ["b.example.com"]})["env"] == {"SITE": "https://b.example.com"}


def test_two_servers_never_share_a_name() -> None:
    proposals = read_pasted(json.dumps({"a b": ENTRY, "a-b": ENTRY}))

    assert [proposal.name for proposal in proposals] == ["a-b", "a-b-2"]


@pytest.mark.parametrize(
    "text",
    ["", "hello", "[]", "{}", '{"mcpServers": {}}', '{"a": {"command": ""}}', "{" * 1000,
     '{"a": {"command": 3, "url": 4}}', "x" * (LONGEST + 1), "vscode:mcp/install?x"],
)  # fmt: skip
def test_a_text_without_a_usable_server_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        read_pasted(text)


async def test_the_page_can_have_a_text_read(home: Path) -> None:
    text = json.dumps({"web": {"url": "https://w.example.com", "headers": {"K": "${input:k}"}}})
    async with open_doors(home, NOBODY) as doors:
        answer = await doors.ask(
            "POST", "/api/v1/servers/read", json.dumps({"text": text}).encode()
        )
        refused = await doors.ask("POST", "/api/v1/servers/read", b'{"text": "nothing"}')
        listed = await doors.ask("GET", "/api/v1/servers")

    (server,) = answer.json()["servers"]
    assert server["entry"] == {
        "url": "https://w.example.com",
        "headers": {"K": "${keyring:web-k}"},
    }
    (need,) = server["needs"]
    assert (need["name"], need["secret"]) == ("web-k", True)
    assert refused.status == 422
    names: list[Any] = [row["name"] for row in listed.json()["servers"]]
    assert "web" not in names


async def test_the_hub_has_install_links_for_itself(home: Path) -> None:
    async with open_doors(home, NOBODY) as doors:
        links = (await doors.ask("GET", "/api/v1/clients/links")).json()["links"]

    assert [link["client"] for link in links] == ["vscode", "cursor"]
    for link in links:
        (proposal,) = read_pasted(link["link"])
        assert proposal.name == "toolyard" and "mcp" in proposal.entry["args"]
