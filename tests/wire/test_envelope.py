"""A client's message is read once, and only as far as it must be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolyard.wire import era
from toolyard.wire.envelope import (
    DEPTH,
    Envelope,
    EnvelopeError,
    read_envelope,
    unfit_for_modern,
)


def message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def test_a_request_gives_the_members_of_its_params_and_of_their_meta_as_bytes() -> None:
    params = {"name": "echo", "arguments": {"deep": [1, 2]}, "_meta": {"progressToken": 7}}

    read = read_envelope(message(id=1, method="tools/call", params=params))

    assert (read.message.method, read.id) == ("tools/call", b"1")
    assert bytes(read.params["arguments"]) == b'{"deep": [1, 2]}'
    assert {key: bytes(value) for key, value in read.meta.items()} == {"progressToken": b"7"}


def test_a_request_without_params_has_no_members() -> None:
    read = read_envelope(message(id="a", method="ping"))

    assert (read.params, read.meta) == ({}, {})


def test_what_is_no_request_may_have_any_params() -> None:
    notification = read_envelope(message(method="notifications/initialized", params=[]))
    answer = read_envelope(message(id=1, result={}))

    assert (notification.id, notification.params) == (b"", {})
    assert (answer.id, answer.message.is_answer) == (b"", True)


def test_a_meta_that_is_no_object_stays_in_the_params_and_has_no_members() -> None:
    read = read_envelope(message(id=1, method="tools/call", params={"_meta": None}))

    assert (bytes(read.params["_meta"]), read.meta) == (b"null", {})


@pytest.mark.parametrize(
    ("members", "code", "id_"),
    [
        ({"id": None, "method": "ping"}, era.INVALID_REQUEST, b""),
        ({"id": True, "method": "ping"}, era.INVALID_REQUEST, b""),
        ({"id": [], "method": "ping"}, era.INVALID_REQUEST, b""),
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


def test_a_request_gives_the_name_of_what_it_is_about() -> None:
    called = read_envelope(message(id=1, method="tools/call", params={"name": "echo"}))
    nameless = read_envelope(message(id=1, method="tools/call", params={"name": 7}))
    listed = read_envelope(message(id=1, method="tools/list", params={"name": "echo"}))

    assert (called.name, nameless.name, listed.name) == ("echo", "", "")


def test_a_name_that_is_no_text_at_all_is_refused() -> None:
    with pytest.raises(EnvelopeError) as refused:
        read_envelope(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\xff"}}')

    assert (refused.value.code, refused.value.id) == (era.INVALID_PARAMS, b"1")


def modern(**meta: Any) -> Envelope:
    members = {era.PREFIX + key: value for key, value in meta.items()}
    return read_envelope(message(id=1, method="tools/list", params={"_meta": members}))


def test_a_modern_envelope_names_its_version_and_what_the_client_can_do() -> None:
    assert modern(protocolVersion="2026-07-28", clientCapabilities={}).version == "2026-07-28"
    assert modern(protocolVersion="2026-07-28").version == ""
    assert modern(protocolVersion=7, clientCapabilities={}).version == ""


def test_an_envelope_that_says_too_little_is_told_what_it_lacks() -> None:
    lacks_both = unfit_for_modern(modern())
    is_no_text = unfit_for_modern(modern(protocolVersion=7, clientCapabilities={}))

    assert lacks_both.code == is_no_text.code == era.INVALID_PARAMS
    assert str(lacks_both) == f"params._meta lacks {era.META_VERSION} and {era.META_CAPABILITIES}"
    assert str(is_no_text) == f"{era.META_VERSION} must be a string"


def test_a_version_that_is_not_spoken_here_is_answered_with_those_that_are() -> None:
    error = unfit_for_modern(modern(protocolVersion="2031-01-01", clientCapabilities={}))

    assert (error.code, error.id) == (era.UNSUPPORTED_VERSION, b"1")
    assert error.details == {"supported": [era.MODERN], "requested": "2031-01-01"}
