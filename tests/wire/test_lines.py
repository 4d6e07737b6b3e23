"""A stream of bytes becomes lines, however it was cut."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from toolyard.wire.lines import Lines

STREAMS = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\r\n", b" ", b"\xe2\x80\xa8"]))


def cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({min(place, len(stream)) for place in cuts} | {0, len(stream)})
    return [stream[a:b] for a, b in itertools.pairwise(places)]


def read(chunks: list[bytes], limit: int) -> tuple[list[bytes], int]:
    found: list[bytes] = []
    overflows: list[None] = []
    lines = Lines(limit, found.append, lambda: overflows.append(None))
    for chunk in chunks:
        lines.feed(chunk)
    return found, len(overflows)


def expected(stream: bytes, limit: int) -> tuple[list[bytes], int]:
    *whole, rest = stream.split(b"\n")
    found: list[bytes] = []
    for line in whole:
        if len(line) > limit:
            return found, 1
        if line.strip():
            found.append(line)
    return found, int(len(rest) > limit)


@settings(max_examples=300)
@given(STREAMS.map(b"".join), st.lists(st.integers(0, 40)), st.integers(1, 12))
def test_any_cutting_gives_the_same_lines(stream: bytes, cuts: list[int], limit: int) -> None:
    assert read(cut(stream, cuts), limit) == expected(stream, limit)
    assert read([bytes([byte]) for byte in stream], limit) == expected(stream, limit)


def test_only_lf_ends_a_line() -> None:
    stream = b'{"a":"\r\x0b\x0c\x1c\x85\xe2\x80\xa8"}\n{}\r\n'

    assert read([stream], 100) == ([b'{"a":"\r\x0b\x0c\x1c\x85\xe2\x80\xa8"}', b"{}\r"], 0)


def test_a_line_too_long_is_reported_once_and_ends_the_stream() -> None:
    found, overflows = read([b"ok\n", b"x" * 11, b"y" * 50, b"\nlate\n"], 10)

    assert (found, overflows) == ([b"ok"], 1)


def test_a_line_as_long_as_the_limit_is_a_line() -> None:
    assert read([b"x" * 10, b"\n"], 10) == ([b"x" * 10], 0)


def test_who_closes_while_reading_gets_nothing_more() -> None:
    found: list[bytes] = []

    def take(line: bytes) -> None:
        found.append(line)
        lines.close()

    lines = Lines(100, take, lambda: None)
    lines.feed(b"one\ntwo\nthree")
    lines.feed(b"\nfour\n")

    assert found == [b"one"]
