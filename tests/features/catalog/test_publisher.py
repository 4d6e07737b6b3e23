from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from tests.features.catalog.registry import Shop, server, shop
from toolyard.core.errors import UnknownNameError
from toolyard.features.catalog.importing import import_published
from toolyard.features.catalog.model import DefinitionError
from toolyard.features.catalog.publisher import Publisher, PublisherError
from toolyard.features.catalog.store import Catalog
from toolyard.wire import download as module


@pytest.mark.parametrize(
    "base",
    [
        "http://example.com",
        "ftp://127.0.0.1",
        "https://",
        "",
        "file:///etc/passwd",
        "https://user:pass@example.com",
        "https://example.com:99999",
        "https://exa mple.com",
        "https://example.com/\r\nHost: evil",
        "http://127.0.0.1.example.com",
    ],
)
def test_only_https_or_this_machine_is_asked(base: str) -> None:
    with pytest.raises(PublisherError):
        Publisher(base)


def test_all_pages_can_be_read_and_the_question_is_passed_on() -> None:
    stock = Shop([server(f"io.example/s{index}") for index in range(5)])
    with shop(stock) as base:
        source = Publisher(base + "/v0.1/")
        first = source.search("io", limit=2, updated_since="2026-01-01T00:00:00Z")
        second = source.search("io", cursor=first.next_cursor, limit=2)
        third = source.search("io", cursor=second.next_cursor, limit=2)

    found = [each["server"]["name"] for page in (first, second, third) for each in page.servers]
    assert found == [f"io.example/s{index}" for index in range(5)]
    assert third.next_cursor == ""
    assert "updated_since=2026-01-01T00%3A00%3A00Z" in stock.asked[0]


def test_a_name_is_one_part_of_the_path() -> None:
    stock = Shop()
    with shop(stock) as base:
        assert Publisher(base).get("io.example/weather")["server"]["version"] == "1.0.0"
        assert len(Publisher(base).versions("io.example/weather").servers) == 1
        with pytest.raises(UnknownNameError):
            Publisher(base).get("../../secret")

    assert stock.asked[0] == "/v0.1/servers/io.example%2Fweather/versions/latest"
    assert stock.asked[2].startswith("/v0.1/servers/..%2F..%2Fsecret/")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((302, b""), "status 302"),
        ((500, b""), "status 500"),
        ((200, b"<html>"), "no JSON"),
        ((200, b"[" * 100_000), "no JSON"),
        ((200, b"[]"), "no object"),
        ((200, b"{}"), "without a list"),
        ((200, b'"' + b"x" * 5_000_000 + b'"'), "more than"),
    ],
)
def test_a_registry_that_misbehaves_is_told_in_a_sentence(
    answer: tuple[int, bytes], sentence: str
) -> None:
    stock = Shop(answer=answer)
    with shop(stock) as base, pytest.raises(PublisherError, match=sentence):
        Publisher(base).search("x")
    assert len(stock.asked) == 1


def test_a_registry_that_does_not_answer_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEP_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        base = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(PublisherError, match="did not answer in time"):
            Publisher(base).search("x")
    with pytest.raises(PublisherError, match="cannot be reached"):
        Publisher(base).search("x")


def test_a_registry_that_drips_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WHOLE_SECONDS", 0.3)
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as slow:

        def drip() -> None:
            peer, _ = slow.accept()
            with peer:
                peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
                while not stop.wait(0.05):
                    try:
                        peer.sendall(b" ")
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        with pytest.raises(PublisherError, match="did not answer in time"):
            Publisher(f"http://127.0.0.1:{slow.getsockname()[1]}").search("x")
        stop.set()
        thread.join()


def test_what_was_deleted_is_not_imported(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    with shop(Shop()) as base, pytest.raises(DefinitionError, match="was deleted"):
        import_published(catalog, Publisher(base), "io.example/gone")
    assert dict(catalog.load().definitions) == {}


def test_an_import_can_be_renewed_and_renamed(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    stock = Shop()
    with shop(stock) as base:
        import_published(catalog, Publisher(base), "io.example/weather")
        stock.servers[0] = server("io.example/weather", "1.1.0")
        import_published(catalog, Publisher(base), "io.example/weather")
        import_published(catalog, Publisher(base), "io.other/weather", alias="sky")
        with pytest.raises(DefinitionError, match="cannot name a server"):
            import_published(catalog, Publisher(base), "io.other/weather", alias="../sky")

    found = catalog.load().definitions
    assert list(found) == ["sky", "weather"]
    assert found["weather"].definition.version == "1.1.0"
    assert found["sky"].definition.full_name == "io.other/weather"
