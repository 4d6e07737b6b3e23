"""A client's message is read once, and only as far as it must be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from toolyard.wire import era
from toolyard.wire.envelope import DEPTH, EnvelopeError, check_modern, read_envelope

MODERN = {era.META_VERSION: Raw(b'"2026-07-28"'), era.META_CAPABILITIES: Raw(b"{}")}


def message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def test_a_request_gives_the_members_of_its_params_and_of_their_meta_as_bytes() -> None:
    params = {"name": "echo", "arguments": {"deep": [1, 2]}, "_meta": {"progressToken": 7}}

    read = read_envelope(message(id=1, method="tools/call", params=params))

    assert (read.message.method, bytes(read.message.id)) == ("tools/call", b"1")
    assert bytes(read.params["arguments"]) == b'{"deep": [1, 2]}'
    assert {key: bytes(value) for key, value in read.meta.items()} == {"progressToken": b"7"}


def test_a_request_without_params_has_no_members() -> None:
    read = read_envelope(message(id="a", method="ping"))

    assert (read.params, read.meta) == ({}, {})


def test_what_is_no_request_may_have_any_params() -> None:
    assert read_envelope(message(method="notifications/initialized", params=[])).params == {}
    assert read_envelope(message(id=1, result={})).message.is_answer


def test_a_meta_that_is_no_object_stays_in_the_params_and_has_no_members() -> None:
    read = read_envelope(message(id=1, method="tools/call", params={"_meta": None}))

    assert (bytes(read.params["_meta"]), read.meta) == (b"null", {})


@pytest.mark.parametrize(
    ("members", "code", "id_"),
    [
        ({"id": None, "method": "ping"}, era.INVALID_REQUEST, b""),
        ({"id": {}, "method": "ping"}, era.INVALID_REQUEST, b""),
        ({"id": 5, "method": "tools/list", "params": []}, era.INVALID_PARAMS, b"5"),
        ({"id": 5, "method": "tools/list", "params": "x"}, era.INVALID_PARAMS, b"5"),
    ],
)
def test_a_request_that_nobody_can_serve_is_refused(
    members: dict[str, Any], code: int, id_: bytes
) -> None:
    with pytest.raises(EnvelopeError) as refused:
        read_envelope(message(**members))

    assert (refused.value.code, refused.value.id) == (code, id_)


def test_a_message_may_nest_only_so_deep() -> None:
    fits: Any = "x"
    for _ in range(DEPTH - 1):
        fits = [fits]
    read_envelope(message(id=1, method="x", params={"a": fits[0]}))

    with pytest.raises(EnvelopeError, match=f"deeper than {DEPTH} levels"):
        read_envelope(message(id=1, method="x", params={"a": [[fits]]}))


def test_a_modern_envelope_names_its_version_and_what_the_client_can_do() -> None:
    assert check_modern(MODERN) is None
    assert (check_modern({}) or ())[:2] == (
        era.INVALID_PARAMS,
        f"params._meta lacks {era.META_VERSION} and {era.META_CAPABILITIES}",
    )
    assert (check_modern({**MODERN, era.META_VERSION: Raw(b"7")}) or (0,))[0] == era.INVALID_PARAMS


def test_a_version_that_is_not_spoken_here_is_answered_with_those_that_are() -> None:
    code, _, details = check_modern({**MODERN, era.META_VERSION: Raw(b'"2031-01-01"')}) or (0, 0, 0)

    assert code == era.UNSUPPORTED_VERSION
    assert details == {"supported": [era.MODERN], "requested": "2031-01-01"}
