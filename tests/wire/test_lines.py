"""A stream of bytes becomes lines, however it was cut."""

from __future__ import annotations

import itertools
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from toolyard.wire.lines import ENDLESS, Lines

PIECES = st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\r\n", b" ", b"\xe2\x80\xa8"])
SEEN = 4
STREAMS = st.lists(PIECES, max_size=40)


def cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({min(place, len(stream)) for place in cuts} | {0, len(stream)})
    return [stream[a:b] for a, b in itertools.pairwise(places)]


def read(chunks: list[bytes], limit: int) -> tuple[list[bytes], list[tuple[bytes, bytes]], int]:
    found: list[bytes] = []
    skipped: list[tuple[bytes, bytes]] = []
    endless: list[None] = []

    def skip(head: bytes, tail: bytes | None) -> bool:
        if tail is not None:
            skipped.append((head[:SEEN], tail[-SEEN:]))
        return False

    lines = Lines(limit, found.append, skip, lambda: endless.append(None))
    for chunk in chunks:
        lines.feed(chunk)
    return found, skipped, len(endless)


def expected(stream: bytes, limit: int) -> tuple[list[bytes], list[tuple[bytes, bytes]], int]:
    *whole, _rest = stream.split(b"\n")
    found = [line for line in whole if len(line) <= limit and line.strip()]
    skipped = [(line[:SEEN], line[-SEEN:]) for line in whole if len(line) > limit]
    return found, skipped, 0


@examples(300)
@given(STREAMS.map(b"".join), st.lists(st.integers(0, 40)), st.integers(8, 20))
def test_any_cutting_gives_the_same_lines(stream: bytes, cuts: list[int], limit: int) -> None:
    assert read(cut(stream, cuts), limit) == expected(stream, limit)
    assert read([bytes([byte]) for byte in stream], limit) == expected(stream, limit)


def test_only_lf_ends_a_line() -> None:
    stream = b'{"a":"\r\x0b\x0c\x1c\x85\xe2\x80\xa8"}\n{}\r\n'

    assert read([stream], 100)[0] == [b'{"a":"\r\x0b\x0c\x1c\x85\xe2\x80\xa8"}', b"{}\r"]


def test_a_line_too_long_is_skipped_and_told_by_its_ends() -> None:
    long = b"{head" + b"x" * 5000 + b"tail}"
    for chunks in (
        [b"ok\n" + long + b"\nlate\n"],
        [b"ok\n", *cut(long, [2000, 4000]), b"\nlate\n"],
    ):
        found, skipped, endless = read(chunks, 1000)
        assert (found, endless) == ([b"ok", b"late"], 0)
        assert skipped == [(b"{hea", b"ail}")]


def test_a_line_that_told_enough_by_how_it_began_is_not_told_of_again() -> None:
    told: list[tuple[bytes, bytes | None]] = []

    def skip(head: bytes, tail: bytes | None) -> bool:
        told.append((head, tail))
        return True

    lines = Lines(10, lambda _: None, skip, lambda: None)
    for chunk in (b"x" * 8, b"y" * 8, b"z" * 8, b"\n"):
        lines.feed(chunk)

    assert told == [(b"x" * 8 + b"y" * 8, None)]


def test_a_line_without_end_is_reported_once_and_ends_the_stream() -> None:
    chunks = [b"ok\n", *[b"x" * 10] * (ENDLESS + 5), b"\nlate\n"]

    assert read(chunks, 10) == ([b"ok"], [], 1)


def test_a_line_that_is_skipped_costs_no_more_than_the_limit() -> None:
    lines = Lines(1 << 20, lambda _: None, lambda *_: False, lambda: None)
    tracemalloc.start()
    try:
        for _ in range(64):
            lines.feed(b"x" * (1 << 17))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20


def test_a_line_as_long_as_the_limit_is_a_line() -> None:
    assert read([b"x" * 10, b"\n"], 10) == ([b"x" * 10], [], 0)


def test_who_closes_while_reading_gets_nothing_more() -> None:
    found: list[bytes] = []

    def take(line: bytes) -> None:
        found.append(line)
        lines.close()

    lines = Lines(100, take, lambda *_: False, lambda: None)
    lines.feed(b"one\ntwo\nthree")
    lines.feed(b"\nfour\n")

    assert found == [b"one"]
