from __future__ import annotations

from pathlib import Path

import pytest

from toolyard.executors import tail
from toolyard.executors.tail import LogFile, Tail, neutral


def test_the_last_lines_are_kept_and_blank_ones_left_out() -> None:
    kept = Tail()
    for chunk in (b"one\ntw", b"o\n\n", b"three"):
        kept.add(chunk)

    assert kept.lines == ("one", "two", "three")


@pytest.mark.parametrize("size", [1, 100, 64 * 1024, 1024 * 1024])
def test_memory_is_bounded_whatever_the_chunks(size: int) -> None:
    kept = Tail()
    for _ in range(max(4, 600_000 // size)):
        kept.add(b"x" * size)
    kept.add(b"\nend\n")

    assert kept.lines[-1] == "end"
    assert sum(map(len, kept.lines)) <= tail.RING_BYTES
    assert len(kept._text) < 2 * tail.RING_BYTES


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[1;31mred\x1b[0m", b"red"),
        (b"\x1b]0;title\x07text", b"text"),
        (b"\x1b]8;;http://x\x1b\\link", b"link"),
        (b"a\x1bcb\x00\x7f\x08", b"a?cb???"),
        (b"50%\r100%\r\ndone\n", b"50%\n100%\ndone\n"),
        (b"tab\tkept", b"tab\tkept"),
        ("é \u009b31m".encode(), "é ?31m".encode()),
    ],
)
def test_nothing_shown_can_steer_a_terminal(raw: bytes, shown: bytes) -> None:
    assert neutral(raw) == shown


def test_broken_text_is_shown_all_the_same() -> None:
    kept = Tail()
    kept.add(b"caf\xe9 \xe2\x80\xa8 x\n")

    assert kept.lines == ("caf\ufffd ? x",)


def test_a_full_log_is_rotated_and_one_old_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "LOG_BYTES", 10)
    log = LogFile(tmp_path, "server")
    for chunk in (b"first 1234\n", b"second 123\n", b"third"):
        log.add(chunk)

    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        "server.log": b"third",
        "server.log.1": b"second 123\n",
    }


def test_a_log_that_cannot_be_written_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    log = LogFile(tmp_path / "file", "server")
    log.add(b"one")
    log.add(b"two")

    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.parametrize("name", ["../../etc/x", "a/b", "..", ""])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    LogFile(tmp_path, name).add(b"text")

    assert len(list(tmp_path.iterdir())) == 1
