"""Links open to servers of both eras over every transport, and every wait has an end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fixtures.stub_run import recorded, running_http_stub, wait_recorded
from tests.links.company import OLD_TIMER, call, linked, python, record, said, stub, talking, url
from toolyard.core.errors import LinkError, StartError, ToolyardError
from toolyard.core.model import NO_OFFERS, Command, Endpoint
from toolyard.links.connecting import ProbeFatalError
from toolyard.links.http import SessionLostError
from toolyard.links.link import RequestRefusedError
from toolyard.links.listing import list_offers
from toolyard.links.patience import Patience
from toolyard.links.refusals import HttpStatusError
from toolyard.wire.era import Era

HASTY = Patience(probe=0.15, open=1.0, list=1.0, call=5.0)
PATIENT = Patience(probe=60.0, open=60.0)
"""Waits for a program that a busy machine starts, and sees of what it dies."""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def endpoint(stack: ExitStack, transport: str, *flags: str) -> Endpoint:
    if transport == "stdio":
        return stub(*flags)
    if transport == "http+sse":
        address = stack.enter_context(running_http_stub("--http-sse", *flags))
        return url(address, kind="sse")
    return url(stack.enter_context(running_http_stub(*flags)))


@pytest.mark.parametrize(
    ("transport", "flags", "era", "version"),
    [
        ("stdio", (), "modern", "2026-07-28"),
        ("stdio", ("--era", "modern"), "modern", "2026-07-28"),
        ("stdio", ("--era", "legacy"), "legacy", "2025-11-25"),
        ("stdio", ("--era", "legacy", "--protocol", "2024-11-05"), "legacy", "2024-11-05"),
        ("stdio", ("--banner",), "modern", "2026-07-28"),
        ("stdio", ("--twice", "--era", "legacy"), "legacy", "2025-11-25"),
        ("http", (), "modern", "2026-07-28"),
        ("http", ("--era", "modern", "--sse"), "modern", "2026-07-28"),
        ("http", ("--era", "legacy"), "legacy", "2025-11-25"),
        ("http", ("--era", "legacy", "--sse-lines"), "legacy", "2025-11-25"),
        ("http", ("--era", "legacy", "--no-get"), "legacy", "2025-11-25"),
        ("http+sse", ("--era", "legacy"), "legacy", "2025-11-25"),
    ],
)
async def test_a_link_opens_lists_and_calls(
    stack: ExitStack, transport: str, flags: tuple[str, ...], era: str, version: str
) -> None:
    target = endpoint(stack, transport, "--name", "yard", "--tools", "5", "--page", "2", *flags)
    async with linked(target) as link:
        offers = await list_offers(link, 5, NO_OFFERS)
        text = await said(call(link, "echo", {"text": "hello"}))

        assert (link.peer.era, link.peer.version) == (era, version)
        assert (link.peer.name, link.peer.release) == ("yard", "1.0")
        assert link.peer.instructions == "This is the stub yard."
        assert b'"kept":true' in link.peer.capabilities
        assert [offer.key for offer in offers.tools[-5:]] == [f"tool_{n}" for n in range(5)]
        assert [offer.key for offer in offers.prompts] == ["greet", "plain"]
        assert len(offers.resources) == 3
        assert offers.templates
        assert text == "hello"
    assert link.closed.done()


async def test_an_address_with_only_the_old_transport_is_found_out() -> None:
    with running_http_stub("--http-sse", "--era", "legacy") as address:
        async with linked(url(address)) as link:
            assert await said(call(link, "echo", {"text": "old"})) == "old"


@pytest.mark.parametrize("manner", ["silent", "-32601", "-32602", "-32022", "-32000"])
async def test_a_server_that_does_not_know_the_probe_is_greeted_the_old_way(manner: str) -> None:
    patience = Patience(probe=0.15 if manner == "silent" else 30.0, open=60.0)
    async with linked(python(OLD_TIMER, manner), patience=patience) as link:
        assert (link.peer.era, link.peer.name) == ("legacy", "old")


async def test_a_server_that_dies_of_the_probe_is_told_apart_and_lives_with_the_hint() -> None:
    target = python(OLD_TIMER, "die")
    with pytest.raises(ProbeFatalError) as caught:
        async with linked(target, patience=PATIENT):
            pass
    assert "farewell" in str(caught.value)

    async with linked(target, hint="legacy") as link:
        assert link.peer.name == "old"


@pytest.mark.parametrize("era", ["legacy", "modern", "dual"])
async def test_a_slow_start_does_not_hide_the_era(era: str) -> None:
    patience = Patience(probe=0.1, open=60.0)
    async with linked(stub("--delay-init", "400", "--era", era), patience=patience) as link:
        assert link.peer.era == ("legacy" if era == "legacy" else "modern")
        assert await said(call(link, "echo", {"text": "late"})) == "late"


async def test_a_remembered_era_saves_the_probe(tmp_path: Path) -> None:
    file, flags = record(tmp_path)
    async with linked(stub("--record-all", *flags), hint="legacy") as link:
        assert link.peer.era == "legacy"
    methods = [line["message"].get("method") for line in recorded(file, "message")]

    assert methods == ["initialize", "notifications/initialized"]


async def refusal(target: Endpoint, patience: Patience = HASTY) -> ToolyardError:
    """Why a server cannot be linked to, which must be known in time."""
    with pytest.raises((LinkError, StartError)) as caught:
        async with asyncio.timeout(60), linked(target, patience=patience):
            pass
    return caught.value


async def test_a_server_that_never_answers_is_given_up_with_its_last_words() -> None:
    # A shell has said so long before the second is over, also on a busy machine.
    mute = Command(("sh", "-c", "echo still loading >&2; cat >/dev/null"))
    error = await refusal(mute)

    assert "did not answer within 1 s" in str(error)
    assert str(error).endswith("of its start: still loading")


@pytest.mark.slow
async def test_an_address_that_never_answers_is_given_up() -> None:
    with running_http_stub("--hang", "all") as address:
        assert "did not answer within 1 s" in str(await refusal(url(address)))
    with running_http_stub("--http-sse", "--hang", "all") as address:
        assert "did not answer within 1 s" in str(await refusal(url(address, kind="sse")))


async def test_a_server_that_ends_at_once_is_given_up_with_its_last_words() -> None:
    error = await refusal(stub("--exit-at-once", "3"), PATIENT)

    assert isinstance(error, ProbeFatalError)
    assert "told to exit at once" in str(error)


async def test_the_error_line_is_said_with_what_to_do_and_not_what_stands_around_it() -> None:
    written = Path(__file__).parents[1] / "core" / "stderr" / "node-system.txt"
    code = "import sys; sys.stderr.write(open(sys.argv[1]).read()); sys.exit(1)"
    error = await refusal(python(code, str(written)), PATIENT)

    line = "Error: ENOENT: no such file or directory, open '/srv/memory.json'"
    assert str(error) == f"'acme' exited with code 1: {line}"
    assert error.hint == "create /srv/memory.json, or correct the path in its entry"
    assert error.trace[-1] == "Node.js v20.20.2"


async def test_a_program_that_is_not_there_is_a_start_error() -> None:
    assert isinstance(await refusal(Command(("no-such-program",))), StartError)


async def test_a_line_without_end_is_given_up() -> None:
    error = await refusal(stub("--huge-line", "3", "--huge-at", "init"), Patience())

    assert "more than 1048576 bytes" in str(error)


async def test_answers_with_foreign_ids_are_no_answers() -> None:
    assert "did not answer" in str(await refusal(stub("--wrong-ids")))


@pytest.mark.parametrize(
    ("flags", "status", "text"),
    [
        (("--token", "secret"), 401, "wants authorization"),
        (("--status", "403"), 403, "wants authorization"),
        (("--status", "500"), 500, "HTTP 500"),
        (("--status", "404"), 404, "HTTP 404"),
        (("--status", "308"), 308, "has moved"),
    ],
)
async def test_a_refusal_over_http_is_said_with_its_status(
    flags: tuple[str, ...], status: int, text: str
) -> None:
    with running_http_stub(*flags) as address:
        error = await refusal(url(address), Patience())

    assert isinstance(error, HttpStatusError)
    assert error.status == status
    assert text in str(error)


async def test_headers_of_the_entry_are_sent_and_none_can_add_lines() -> None:
    with running_http_stub("--token", "t") as address:
        headers = (("Authorization", "Bearer t"), ("X-Evil", "a\r\nX-Added: b"), ("Host", "evil"))
        async with linked(url(address, headers=headers)) as link:
            seen = await said(call(link, "headers"))

    assert '"authorization": "Bearer t"' in seen
    assert "x-added" not in seen
    assert '"host": "127.0.0.1' in seen


async def test_nobody_at_the_address_is_known_at_once() -> None:
    with running_http_stub() as address:
        pass
    for kind in ("http", "sse"):
        assert "cannot connect" in str(await refusal(url(address, kind=kind), Patience()))


@pytest.mark.parametrize("kind", ["http", "sse"])
@pytest.mark.parametrize("address", ["ftp://h/", "http://h/a b", "http://bücher.example/ü"])
async def test_what_is_no_address_is_a_start_error(kind: str, address: str) -> None:
    assert isinstance(await refusal(url(address, kind=kind)), StartError)


@pytest.mark.parametrize(
    "answer",
    [
        '"error": {"code": "many", "message": ["odd"]}',
        '"error": 7',
        '"result": 7',
        '"result": {"protocolVersion": 1e400}',
        '"result": {"protocolVersion": 20250618}',
        '"result": {"supportedVersions": 1e999, "protocolVersion": 1e999}',
    ],
)
async def test_an_odd_answer_to_the_greeting_is_a_link_error(answer: str) -> None:
    code = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    id_ = json.loads(line).get('id')\n"
        '    print(\'{"jsonrpc": "2.0", "id": %s, \' % id_ + sys.argv[1] + \'}\', flush=True)'
    )
    error = await refusal(python(code, answer), PATIENT)

    assert "'acme'" in str(error)


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_server_that_was_legacy_and_is_modern_now_is_found_out(
    stack: ExitStack, transport: str
) -> None:
    async with linked(endpoint(stack, transport, "--era", "modern"), hint="legacy") as link:
        assert link.peer.era == "modern"
        assert await said(call(link, "echo", {"text": "new"})) == "new"


async def test_a_refusal_of_both_greetings_is_told_in_the_words_of_the_server() -> None:
    code = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    fault = {'code': -32601, 'message': 'not here'}\n"
        "    answer = {'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'error': fault}\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    hints: tuple[Era | None, ...] = ("legacy", None)
    for hint in hints:
        with pytest.raises(RequestRefusedError, match="refused initialize: not here"):
            async with linked(python(code), hint=hint):
                pass


async def test_a_forgotten_session_fails_the_call_as_one_that_may_be_sent_again() -> None:
    with running_http_stub("--era", "legacy", "--lose-session-after", "2") as address:
        async with linked(url(address)) as link:
            assert await said(call(link, "echo", {"text": "a"})) == "a"
            with pytest.raises(SessionLostError):
                await call(link, "echo", {"text": "b"}).answer
            async with asyncio.timeout(60):
                assert "session" in await link.closed


async def test_a_session_is_ended_politely(tmp_path: Path) -> None:
    file, flags = record(tmp_path)
    with running_http_stub("--era", "legacy", *flags) as address:
        async with linked(url(address)):
            pass
        await wait_recorded(file, "session deleted")


async def test_an_endpoint_elsewhere_is_not_followed() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        writer.write(head + b"event: endpoint\ndata: http://elsewhere.example/messages\n\n")
        await reader.read()

    async with talking(talk) as address:
        error = await refusal(url(f"{address}/sse", kind="sse"))

    assert "elsewhere.example" in str(error)
