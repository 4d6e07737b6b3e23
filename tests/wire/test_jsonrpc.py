"""Envelopes are read; bodies stay the bytes they were."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from tests.examples import examples
from toolyard.wire import jsonrpc

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
BODIES = [
    b"{}",
    b"null",
    b'{"z":1,"a":2,"unknown":{"deep":[true]},"_meta":{"x/y":null}}',
    b'{ "spaced" : [ 1 , 2 ] }',
    b'{"n":[1e400,12345678901234567890,-0.0,1.0,1E+2,0.1000]}',
    b'{"$defs":{"a":{"$ref":"#/$defs/b"}},"$schema":"s"}',
    b'{"twice":1,"twice":2}',
    '{"text":"snow \u2603 \\u2603 \\/ \U0001f600"}'.encode(),
    b'"text"',
    b"[1,[2]]",
]


@pytest.mark.parametrize("body", BODIES)
def test_bodies_are_kept_byte_for_byte(body: bytes) -> None:
    asked = jsonrpc.read(b'{"jsonrpc":"2.0","id":7,"method":"m","params":%b}' % body)
    answered = jsonrpc.read(b'{"jsonrpc":"2.0","id":7,"result":%b,"extra":[]}' % body)
    refused = jsonrpc.read(b'{"jsonrpc":"2.0","id":null,"error":%b}' % body)

    assert bytes(asked.params) == bytes(answered.result) == bytes(refused.error) == body


@pytest.mark.parametrize(
    "id_", [b"1", b'"a"', b"-5", b"12345678901234567890", b"1.5", b'"\\u0041"']
)
def test_ids_are_kept_as_they_were_written(id_: bytes) -> None:
    message = jsonrpc.read(b'{"id": %b ,"jsonrpc":"2.0","method":"m"}' % id_)

    assert bytes(message.id) == id_
    assert message.is_request
    assert json.loads(jsonrpc.result(message.id, b"{}"))["id"] == json.loads(id_)
    assert json.loads(jsonrpc.error(message.id, b"{}"))["id"] == json.loads(id_)


def test_the_three_kinds_of_messages_are_told_apart() -> None:
    request = jsonrpc.read(b'{"jsonrpc":"2.0","id":1,"method":"m"}')
    notification = jsonrpc.read(b'{"jsonrpc":"2.0","method":"m"}')
    answer = jsonrpc.read(b'{"jsonrpc":"2.0","id":1,"result":null}')

    assert (request.is_request, request.is_answer) == (True, False)
    assert (notification.is_request, notification.is_answer) == (False, False)
    assert (answer.is_request, answer.is_answer) == (False, True)
    assert bytes(answer.result) == b"null"
    assert not answer.error


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"hello",
        b"[]",
        b"1",
        b'{"method":1}',
        b'{"id":1',
        b'{"id":1}x',
        b'{"id":1,"result":nul}',
        b'{"id":1,"result":"\\x"}',
        b'{"id":1,"result":"\\u12"}',
        b"\xff",
        b"[" * 100_000,
        b'{"params":' + b"[" * 100_000,
    ],
)
def test_what_is_no_message_is_malformed(raw: bytes) -> None:
    with pytest.raises(jsonrpc.MalformedError):
        jsonrpc.read(raw)


@pytest.mark.parametrize(
    ("cut", "mended"),
    [
        (rb"smile \ud83d", "smile \ufffd"),
        (rb"\ude00 smile", "\ufffd smile"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\\ud83d \ud83d", "\\ud83d \ufffd"),
        (rb"\n\u0041\ud83d\n", "\nA\ufffd\n"),
    ],
)
def test_an_emoji_cut_in_half_costs_the_half_and_not_the_answer(cut: bytes, mended: str) -> None:
    message = jsonrpc.read(b'{"jsonrpc":"2.0","id":1,"result":{"text":"%b"}}' % cut)

    assert jsonrpc.to_python(message.result) == {"text": mended}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("id_", [b"1", b"-3", b'"text"', rb'"esc\"aped"'])
def test_a_large_answer_is_read_as_the_decoder_would(id_: bytes, body: bytes) -> None:
    big = b'{"pad":"%b","body":%b}' % (b"x" * 70_000, body)
    for shape in (
        b'{"jsonrpc":"2.0","id":%b,"result":%b}',
        b'{"jsonrpc":"2.0", "id":%b,"result":%b}',
        b'{"jsonrpc": "2.0", "id": %b, "result": %b}',
        b'{ "jsonrpc" :"2.0","id": %b ,"result" :\t%b }',
        b'{"id":%b,"jsonrpc":"2.0","result":%b}',
        b'{"jsonrpc":"2.0","id":%b,"error":%b}',
        b'{"jsonrpc":"2.0","id":%b,"result":%b} ',
    ):
        raw = shape % (id_, big)
        assert jsonrpc.read(raw) == jsonrpc.decode(raw)


@pytest.mark.slow
@examples(200)
@given(JSON, st.binary(max_size=12), st.integers(0, 400))
def test_a_large_answer_is_never_more_than_the_decoder_finds(
    value: Any, noise: bytes, quotes: int
) -> None:
    """A few bytes anywhere beside or in a result: read or refused just as when it is scanned."""
    big = json.dumps({"pad": "x" * 70_000 + '"' * quotes, "value": value}).encode()
    for at in (len(big), len(big) - 1, len(big) - len(json.dumps(value)) - 2, 12):
        raw = b'{"jsonrpc":"2.0","id":1,"result":%b%b%b}' % (big[:at], noise, big[at:])
        try:
            whole = jsonrpc.decode(raw)
        except jsonrpc.MalformedError:
            refused_or_sound(raw)
        else:
            assert jsonrpc.read(raw) == whole


def refused_or_sound(raw: bytes) -> None:
    """What is not JSON is refused, unless it is wrong inside of a string alone."""
    try:
        message = jsonrpc.read(raw)
    except jsonrpc.MalformedError:
        return
    outside = re.sub(rb'"(?:[^"\\]|\\.)*"', b'""', bytes(message.result), flags=re.DOTALL)
    json.loads(outside)


@pytest.mark.parametrize(
    ("raw", "id_"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"n":NaN}}', b"7"),
        (b'{"jsonrpc": "2.0", "id": "a", "error": {', b'"a"'),
        (b'{"jsonrpc":"2.0","id":7,"method":"x', b""),
        (b"Listening on port 80", b""),
    ],
)
def test_the_answer_that_malformed_bytes_begin_is_known_by_its_id(raw: bytes, id_: bytes) -> None:
    assert jsonrpc.claimed_id(raw) == id_


def test_messages_of_our_own_are_json() -> None:
    assert json.loads(jsonrpc.request(3, "tools/list", b'{"a":1}')) == {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/list",
        "params": {"a": 1},
    }
    assert json.loads(jsonrpc.notification("n")) == {"jsonrpc": "2.0", "method": "n"}
    assert json.loads(jsonrpc.notification("n", b"{}"))["params"] == {}
    assert json.loads(jsonrpc.error(b"", jsonrpc.fault(-1, 'a "b"\n'))) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -1, "message": 'a "b"\n'},
    }
    assert json.loads(jsonrpc.fault(-1, "t", {"a": 1}))["data"] == {"a": 1}


def test_absent_params_have_no_fields() -> None:
    assert jsonrpc.fields(b"") == {}
    assert {k: bytes(v) for k, v in jsonrpc.fields(b'{"a":1.0,"b":{}}').items()} == {
        "a": b"1.0",
        "b": b"{}",
    }


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@examples(150)
@given(JSON, st.integers(0, 5), st.booleans())
def test_depth_is_that_of_arrays_and_objects_and_never_of_text(
    value: Any, limit: int, ascii_: bool
) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_).encode("utf-8", "replace")

    assert jsonrpc.is_too_deep(raw, limit) == (depth(value) > limit)


@pytest.mark.parametrize("text", [b"[{", b"\\", b'\\"[', b'\\\\"'])
def test_brackets_in_strings_do_not_nest(text: bytes) -> None:
    raw = json.dumps([text.decode()] * 50).encode()

    assert not jsonrpc.is_too_deep(raw, 1)
    assert jsonrpc.is_too_deep(b"[" + raw + b"]", 1)


def test_a_hostile_text_is_measured_in_linear_time() -> None:
    hostile = b"[]" * 10 + b'"' + b'\\"' * 200_000
    began = time.process_time()

    assert not jsonrpc.is_too_deep(hostile, 5)
    assert time.process_time() - began < 2


def test_one_line_means_the_same_for_every_character() -> None:
    for start in range(0, 0x110000, 0x4000):
        text = "".join(chr(c) for c in range(start, start + 0x4000) if not 0xD800 <= c < 0xE000)
        spread = json.dumps({text: [text]}, ensure_ascii=False, indent=1)
        raw = spread.replace("\n", "\r\n").encode()
        line = jsonrpc.one_line(raw)

        assert json.loads(line) == json.loads(raw)
        assert line.decode().splitlines() == [line.decode()]


def test_one_line_marks_what_is_not_utf_8() -> None:
    cut = '{"a":"zażółć'.encode()[:-1] + b'","b":"\xff\xe2\x80\xa8"}'

    assert json.loads(jsonrpc.one_line(cut)) == {"a": "zażół\ufffd", "b": "\ufffd\u2028"}


def test_one_line_leaves_a_line_alone() -> None:
    raw = b'{"a":"\\n \\u2028 b"}'

    assert jsonrpc.one_line(raw) is raw


@examples(100)
@given(JSON)
def test_one_line_means_the_same_for_any_value(value: Any) -> None:
    raw = json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "surrogatepass")
    line = jsonrpc.one_line(raw)

    assert json.loads(line.decode("utf-8", "surrogatepass")) == value
    assert b"\n" not in line and b"\r" not in line


def test_the_result_of_a_large_answer_begins_with_its_value_however_it_is_spaced() -> None:
    for space in ("", " ", "\t \n"):
        text = "x" * (1 << 17)
        raw = f'{{"jsonrpc": "2.0", "id": 7, "result":{space}{{"text": "{text}"}}}}'.encode()
        result = bytes(jsonrpc.read(raw).result)
        assert result[:1] == b"{" and json.loads(result) == {"text": text}


@pytest.mark.parametrize(
    ("message", "id_", "is_answer"),
    [
        ('{"jsonrpc":"2.0","id":7,"result":{LONG}}', b"7", True),
        ('{ "id" : "a b", "jsonrpc" : "2.0", "error": {LONG} }', b'"a b"', True),
        ('{"result":{LONG},"jsonrpc":"2.0","id":7}', b"7", True),
        ('{"result":{LONG},"id":-7,"jsonrpc":"2.0"} ', b"-7", True),
        ('{"result":{LONG,"id":7}}', b"", True),
        ('{"jsonrpc":"2.0","result":{LONG,"x":{"id":7}}}', b"", True),
        ('{"jsonrpc":"2.0","method":"x","params":{LONG}}', b"", False),
        ('{"params":{LONG},"method":"x","jsonrpc":"2.0","id":7}', b"7", False),
        ('{"about":{LONG},"id":7,"result":{}}', b"", None),
        ("LONG", b"", None),
    ],
)
def test_a_message_too_long_to_be_read_is_known_by_its_ends(
    message: str, id_: bytes, is_answer: bool | None
) -> None:
    raw = message.replace("LONG", '"text":"%s"' % ("id" * 4000)).encode()
    assert jsonrpc.glimpse(raw[:1024], raw[-1024:]) == (id_, is_answer)


@pytest.mark.parametrize(
    "error",
    [b'{"code":-32000,"message":"no"}', b'{"code":1,"message":"m","data":[{"a":[1]}],"more":true}'],
)
def test_an_error_in_the_right_form_stays_the_bytes_it_was(error: bytes) -> None:
    assert bytes(jsonrpc.well_formed(Raw(error))) == error


@pytest.mark.parametrize("error", [b'"text"', b"[1]", b"1", b'{"code":"1","message":"m"}', b"{}"])
def test_an_error_in_another_form_is_quoted(error: bytes) -> None:
    fault = json.loads(bytes(jsonrpc.well_formed(Raw(error))))
    assert fault == {"code": 0, "message": error.decode()}


def test_of_a_long_error_in_another_form_the_beginning_is_quoted() -> None:
    quoted = bytes(jsonrpc.well_formed(Raw(b'"%b"' % ("é" * 100_000).encode())))
    assert len(quoted) < 3000 and json.loads(quoted)["message"].startswith('"éé')


def test_what_is_not_utf_8_is_marked_and_all_else_is_the_very_same() -> None:
    for raw in (b'{"a":1}', '{"a":"é\u2028"}'.encode()):
        assert jsonrpc.in_utf_8(raw) is raw
    assert jsonrpc.in_utf_8(b'{"a":"\xff\xc3"}') == '{"a":"\ufffd\ufffd"}'.encode()
