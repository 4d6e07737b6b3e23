"""Install links are read in every form that is in use, and those we write read back."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.core.errors import ConfigError
from toolyard.core.install_links import (
    LinkedServer,
    cursor_link,
    is_link,
    read_link,
    vscode_link,
)

ENTRY = {"command": "npx", "args": ["-y", "files+more", "ü"]}
JSON = quote(json.dumps(ENTRY), safe="")
WHOLE = quote(json.dumps({"name": "files", **ENTRY}), safe="")
CODED = base64.b64encode(json.dumps(ENTRY).encode()).decode()
CURSOR = "cursor://anysphere.cursor-deeplink/mcp/install"


@pytest.mark.parametrize(
    "link",
    [
        f"vscode:mcp/install?{WHOLE}",
        f"vscode-insiders:mcp/install?{WHOLE}",
        f"vscode:mcp/install?name=files&config={JSON}",
        f"https://vscode.dev/redirect/mcp/install?name=files&config={JSON}",
        f"https://insiders.vscode.dev/redirect/mcp/install?name=files&config={JSON}&quality=insiders",
        f"https://insiders.vscode.dev/redirect?url={quote(f'vscode:mcp/install?{WHOLE}', safe='')}",
        f"https://vscode.dev/redirect?url=vscode:mcp/install?{WHOLE}",
        f"{CURSOR}?name=files&config={quote(CODED, safe='')}",
        f"  {CURSOR}?name=files&config={CODED}\n",
        f"{CURSOR}?name=files&config={CODED.rstrip('=')}",
        f"https://cursor.com/en/install-mcp?name=files&config={CODED}",
        f"https://cursor.com/install-mcp?name=files&config={quote(CODED, safe='')}",
    ],
)
def test_every_form_of_a_link_gives_the_same_server(link: str) -> None:
    assert is_link(link)
    assert read_link(link) == LinkedServer("files", ENTRY)


def test_the_inputs_of_a_link_come_along() -> None:
    inputs = [{"type": "promptString", "id": "key", "password": True}]
    link = (
        "https://insiders.vscode.dev/redirect/mcp/install?name=a"
        f"&inputs={quote(json.dumps(inputs))}&config={JSON}"
    )

    assert read_link(link).inputs == (inputs[0],)


@pytest.mark.parametrize(
    ("config", "entry"),
    [
        ({"command": "npx t@1 --x 'a b'"}, {"command": "npx", "args": ["t@1", "--x", "a b"]}),
        ({"a": {"url": "https://a.example.com"}}, {"url": "https://a.example.com"}),
    ],
)  # fmt: skip
def test_cursor_takes_a_whole_command_line_and_a_server_inside_its_name(
    config: dict[str, Any], entry: dict[str, Any]
) -> None:
    coded = base64.b64encode(json.dumps(config).encode()).decode()

    assert read_link(f"{CURSOR}?name=a&config={coded}").entry == entry


@pytest.mark.parametrize(
    "link",
    [
        "https://example.com/mcp",
        "https://vscode.dev.example.com/redirect/mcp/install?name=a&config={}",
        "https://vscode.dev/redirect?url=https://example.com",
        "vscode:extension/some.thing",
        "vscode:mcp/install?nothing",
        "vscode:mcp/install?[1]",
        f"{CURSOR}?name=a&config=%%%",
        f"{CURSOR}?name=a",
        f"{CURSOR}?name=a&config={base64.b64encode(b'[]').decode()}",
        f"{CURSOR}?name=a&config={'A' * 100_000}",
        "cursor://[",
    ],
)
def test_what_is_no_install_link_is_refused_with_a_hint(link: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        read_link(link)
    assert "Cursor" in refusal.value.hint


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(TEXT, st.dictionaries(st.sampled_from(["url", "cwd"]), TEXT, min_size=1), st.booleans())
def test_a_link_that_is_written_reads_back(
    name: str, entry: dict[str, str], is_cursor: bool
) -> None:
    link = cursor_link(name, entry) if is_cursor else vscode_link(name, entry)

    assert link.isascii() and " " not in link
    assert read_link(link) == LinkedServer(name, entry)
