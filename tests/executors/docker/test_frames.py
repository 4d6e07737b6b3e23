from __future__ import annotations

import pytest

from toolyard.executors.docker.frames import Frames


def frame(pipe: int, piece: bytes) -> bytes:
    return bytes([pipe, 0, 0, 0]) + len(piece).to_bytes(4) + piece


STREAM = frame(1, b'{"a":') + frame(2, b"oh\n") + frame(1, b"") + frame(1, b"1}\n") + frame(2, b"!")


def told(chunks: list[bytes]) -> dict[int, bytes]:
    frames, heard = Frames(), {1: b"", 2: b""}
    for chunk in chunks:
        for pipe, piece in frames.feed(chunk):
            heard[pipe] += piece
    return heard


@pytest.mark.parametrize("size", range(1, len(STREAM) + 1))
def test_the_pipes_come_apart_whatever_the_chunks(size: int) -> None:
    chunks = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]

    assert told(chunks) == {1: b'{"a":1}\n', 2: b"oh\n!"}


def test_a_piece_does_not_wait_for_the_rest_of_its_frame() -> None:
    frames = Frames()

    assert list(frames.feed(frame(1, b"x" * 1000)[:108])) == [(1, b"x" * 100)]


@pytest.mark.parametrize("chunk", [b'{"json":1}', b"\x03\0\0\0\0\0\0\1x", b"\1\0\1\0\0\0\0\1x"])
def test_what_is_no_such_stream_is_refused(chunk: bytes) -> None:
    with pytest.raises(ValueError, match="no header"):
        list(Frames().feed(chunk))
