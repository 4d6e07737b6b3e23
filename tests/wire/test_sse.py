"""Events arrive as the standard has them, however the stream was cut."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from toolyard.wire.sse import HEARTBEAT, Events, ServerEvent, TooLongError, event

LINES = st.sampled_from(
    [
        b"data: one",
        b"data:two",
        b"data:  three",
        b"data",
        b"event: ping",
        b"id: 7",
        b"id",
        b"id: a\0b",
        b": a comment",
        b"retry: 10",
        b"nonsense",
        b"",
        b"",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


def read(*chunks: bytes, limit: int = 10_000) -> list[ServerEvent]:
    events = Events(limit)
    return [found for chunk in chunks for found in events.feed(chunk)]


def by_the_standard(lines: list[bytes]) -> list[ServerEvent]:
    """The standard's algorithm, line by line."""
    out: list[ServerEvent] = []
    kind = last = b""
    data: list[bytes] = []
    for line in lines:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if data:
                out.append(ServerEvent(kind or b"message", b"\n".join(data), last))
            kind, data = b"", []
        elif name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value
        elif name == b"id" and b"\0" not in value:
            last = value
    return out


@examples(300)
@given(st.lists(st.tuples(LINES, ENDS)), st.lists(st.integers(0, 120)))
def test_any_cutting_and_any_line_end_give_the_same_events(
    lines: list[tuple[bytes, bytes]], cuts: list[int]
) -> None:
    stream, ends = b"", b""
    for line, end in lines:
        if ends == b"\r" and not line and end[:1] == b"\n":
            end = b"\r"  # CR and LF side by side would be one line end
        stream += line + end
        ends = end
    expected = by_the_standard([line for line, _ in lines])
    places = [0, *sorted(min(place, len(stream)) for place in cuts), len(stream)]
    chunks = [stream[a:b] for a, b in itertools.pairwise(places)]

    assert read(*chunks) == expected
    assert read(*(bytes([byte]) for byte in stream)) == expected


def test_a_pair_of_cr_and_lf_cut_in_two_is_one_line_end() -> None:
    assert read(b"data: a\r", b"", b"\ndata: b\r", b"\n\r", b"\n") == [
        ServerEvent(b"message", b"a\nb", b"")
    ]


def test_a_mark_of_byte_order_at_the_start_is_passed_over() -> None:
    assert read(b"\xef\xbb", b"\xbfdata: a\n\n") == [ServerEvent(b"message", b"a", b"")]


def test_an_event_without_its_blank_line_is_none_yet() -> None:
    assert read(b"data: a\n") == []


def test_an_event_that_grows_past_the_limit_is_refused() -> None:
    with pytest.raises(TooLongError):
        read(*[b"data: xxxx\n"] * 20, limit=100)
    with pytest.raises(TooLongError):
        Events(100).feed(b"x" * 101)


def test_heartbeats_and_small_events_never_add_up_to_the_limit() -> None:
    events = Events(100)
    for _ in range(100):
        assert events.feed(HEARTBEAT) == []
        assert events.feed(b"id: 1\n\n") == []
    for _ in range(100):
        assert len(events.feed(b"data: 1\n\n: next\n")) == 1


@given(st.text(), st.sampled_from(["", "\n\n", "\r\r", "\r\n\r\n"]))
def test_no_text_can_forge_an_event(text: str, gap: str) -> None:
    inside = f"{text}{gap}event: endpoint\ndata: forged{gap}id: 9{gap}"
    message = json.dumps({"text": inside}, ensure_ascii=False, indent=1).encode("utf-8", "replace")
    wire = event(message)
    (found,) = read(wire)

    assert (found.type, found.id) == (b"message", b"")
    assert json.loads(found.data) == json.loads(message)
    assert len(wire.decode().splitlines()) == 3


@pytest.mark.parametrize("gap", [b"\n\n", b"\r\r", b"\r\n\r\n"])
def test_not_even_bytes_that_are_no_json_can_forge_an_event(gap: bytes) -> None:
    assert len(read(event(b'{"a":1}' + gap + b"data: forged" + gap + b"id: 9\n\n"))) == 1
