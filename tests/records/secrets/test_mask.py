from __future__ import annotations

import base64
import io
import itertools
import json
import logging
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolyard.core.model import Command, Url
from toolyard.records.secrets import mask
from toolyard.records.secrets.mask import (
    HIDDEN,
    Mask,
    Masked,
    Veil,
    hide_in_addresses,
    hide_in_words,
    learn,
    looks_random,
)

SECRET = 'p@ss/wörd+"x" 1\\2'
FORMS = [
    SECRET,
    quote(SECRET, safe=""),
    json.dumps(SECRET)[1:-1],
    json.dumps(SECRET, ensure_ascii=False)[1:-1],
    repr(SECRET)[1:-1],
    # In small hexadecimal digits; as Node's encodeURIComponent; with slashes as some write them.
    quote(SECRET, safe="").lower(),
    quote(SECRET, safe="!'()*"),
    json.dumps(SECRET)[1:-1].replace("/", "\\/"),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_hidden_in_every_form_it_is_written_in(form: str) -> None:
    mask = Mask()
    mask.add(SECRET)

    assert mask.hide(f"before {form} after") == f"before {HIDDEN} after"
    assert mask.hide_bytes(f"before {form} after".encode()) == f"before {HIDDEN} after".encode()


def test_a_secret_is_hidden_where_go_writes_it_as_json() -> None:
    mask = Mask()
    mask.add("a&b<c>d-secret")

    assert mask.hide(r"a\u0026b\u003cc\u003ed-secret") == HIDDEN


def test_a_secret_is_hidden_that_is_the_encoded_form_of_another() -> None:
    mask, encoded = Mask(), quote("one/and/one", safe="")
    mask.add("one/and/one")
    mask.add(encoded)

    assert mask.hide(base64.b64encode(encoded.encode()).decode().rstrip("=")) == HIDDEN


@given(before=st.binary(max_size=5), after=st.binary(max_size=5))
def test_a_secret_is_hidden_inside_anything_in_base64(before: bytes, after: bytes) -> None:
    mask, secret = Mask(), "t0ken-0123456789"
    mask.add(secret)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        shown = mask.hide(encode(before + secret.encode() + after).decode())
        assert HIDDEN in shown
        # What is left of the letters at its edges tells no byte of it but the first and last.
        assert len(shown) - len(HIDDEN) <= (len(before) + len(after)) * 4 / 3 + 10


@pytest.mark.parametrize("secret", ["secret", "[secret]", "secret]"])
def test_a_secret_that_reads_like_the_mark_is_hidden_once(secret: str) -> None:
    mask = Mask()
    mask.add(secret)
    mask.add("another-0123456789")

    once = mask.hide(f"a {secret} and another-0123456789")

    assert once == f"a {HIDDEN} and {HIDDEN}"
    assert mask.hide(once) == once
    assert mask.hide_bytes(mask.hide_bytes(f"a {secret}".encode())) == f"a {HIDDEN}".encode()


def test_what_is_too_short_to_be_a_secret_is_left_alone() -> None:
    mask = Mask()
    mask.add("true")
    mask.add("")

    assert mask.hide("it is true") == "it is true"
    assert not mask


def test_the_longer_of_two_secrets_is_hidden_whole() -> None:
    mask = Mask()
    mask.add("abcdefgh")
    mask.add("abcdefgh-and-more")

    assert mask.hide("abcdefgh-and-more") == HIDDEN


def test_the_lines_of_a_key_are_hidden_one_by_one() -> None:
    mask = Mask()
    mask.add("-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEA\n-----END-----\n")

    assert mask.hide("line 2 is AQEFAASCBKcwggSjAgEA") == f"line 2 is {HIDDEN}"


def test_the_lines_of_a_key_are_hidden_whichever_way_they_end() -> None:
    mask = Mask()
    mask.add("one\r\ntwo\r\nthree")

    assert mask.hide("one\ntwo\nthree") == HIDDEN
    assert mask.hide("one\r\ntwo\r\nthree") == HIDDEN


def test_no_secret_is_lost_that_several_threads_add_at_once() -> None:
    mask, threads = Mask(), 8
    begin = threading.Barrier(threads)

    def add(number: int) -> list[str]:
        secrets = [f"t0ken-{number}-{count}-end" for count in range(50)]
        begin.wait(60)
        for secret in secrets:
            mask.add(secret)
            mask.hide("whoever writes a log looks at them meanwhile")
        return secrets

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(threads) as pool:
            secrets = [secret for added in pool.map(add, range(threads)) for secret in added]
    finally:
        sys.setswitchinterval(interval)

    assert [secret for secret in secrets if mask.hide(secret) != HIDDEN] == []


def test_a_secret_outlives_however_many_tokens_that_are_renewed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mask, "SECRETS_LIMIT", 3)
    known = Mask()
    known.add("of-a-server-that-runs")
    for number in range(5):
        known.add(f"t0ken-{number}", renewed=True)

    assert known.hide("of-a-server-that-runs t0ken-1 t0ken-4") == f"{HIDDEN} t0ken-1 {HIDDEN}"


def test_a_secret_that_is_used_again_is_not_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mask, "SECRETS_LIMIT", 2)
    known = Mask()
    for secret in ("first-one", "second-one", "first-one", "third-one"):
        known.add(secret)

    assert known.hide("first-one second-one third-one") == f"{HIDDEN} second-one {HIDDEN}"


@given(cut=st.integers(0, 40))
def test_a_secret_that_comes_in_two_pieces_is_hidden(cut: int) -> None:
    mask = Mask()
    mask.add("t0ken-0123456789")
    veil, text = Veil(mask), b"one\nx t0ken-0123456789 y\ntwo"

    shown = veil.add(text[:cut]) + veil.add(text[cut:]) + veil.end()

    assert shown == b"one\nx [secret] y\ntwo"


def test_a_line_that_has_not_ended_is_shown_up_to_what_may_be_a_secret() -> None:
    mask = Mask()
    mask.add("t0ken-0123456789")
    veil = Veil(mask)

    assert veil.add(b"name: ") == b"name: "
    assert veil.add(b"the t0k") == b"the "
    assert veil.add(b"yo") == b"t0kyo"
    assert veil.add(b" t0k") + veil.end() == b" t0k"


def test_most_of_a_secret_is_hidden_when_the_rest_of_it_never_comes() -> None:
    mask = Mask()
    mask.add("t0ken-0123456789")
    veil = Veil(mask)

    assert veil.add(b"login with t0ken-012345678") + veil.end() == b"login with [secret]"


@given(cuts=st.lists(st.integers(0, 90), max_size=6))
@example(cuts=[12])
def test_the_longer_of_two_secrets_is_hidden_whole_wherever_it_is_cut(cuts: list[int]) -> None:
    mask = Mask()
    for secret in ("abcdefgh", "abcdefgh-and-more", "more of them", "-and-m"):
        mask.add(secret)
    text = b"one abcdefgh-and-more of abcdefgh, abcdefgh-and-x, more of abcdefghi\nabcdefgh-an"

    assert in_pieces(mask, text, cuts) == (
        b"one [secret] of [secret], [secret]-and-x, more of [secret]i\n[secret]"
    )


@given(cuts=st.lists(st.integers(0, 60), max_size=6))
def test_a_secret_of_short_lines_is_hidden_wherever_it_is_cut(cuts: list[int]) -> None:
    mask = Mask()
    mask.add("correct\nhorse\nbattery")

    shown = in_pieces(mask, b"a correct\nhorse\nbattery b\ncorrect\nhorses\n", cuts)

    assert shown == b"a [secret] b\ncorrect\nhorses\n"


def test_a_stream_of_what_a_secret_is_made_of_does_not_wait_for_its_end() -> None:
    mask = Mask()
    mask.add("--------")
    veil = Veil(mask)

    shown = [veil.add(b"-" * 1000) for _ in range(50)]

    assert all(shown) and b"-" not in b"".join(shown)


def in_pieces(mask: Mask, text: bytes, cuts: list[int]) -> bytes:
    """The text as shown when it comes in pieces."""
    veil, places = Veil(mask), [0, *sorted(cuts), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(places)]
    return b"".join(map(veil.add, pieces)) + veil.end()


def test_a_record_is_masked_with_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Mask()  # alone: other tests may have taught the process other secrets
    known.add("t0ken-in-a-record")
    monkeypatch.setattr(mask, "MASK", known)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(Masked())
    logger = logging.getLogger("toolyard.tests.mask")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        raise ValueError("bad t0ken-in-a-record")
    except ValueError:
        logger.exception("failed with %s", "t0ken-in-a-record")

    assert "ValueError: bad [secret]" in stream.getvalue()
    assert "failed with [secret]" in stream.getvalue()
    assert "t0ken" not in stream.getvalue()


def test_an_endpoint_teaches_what_stands_under_names_that_secrets_have() -> None:
    mask = Mask()
    url = "https://me:passw0rd-a@h/mcp?api_key=query-key-b&page=long-but-plain"
    learn(Url(url, headers=(("Authorization", "Bearer head-token-c"), ("X", "plain-d"))), mask)
    learn(Command(("run", "--token=flag-token-e", "--api-key", "flag-key-f"), ()), mask)
    learn(Command(("run",), (("DB_PASSWORD", "env-pass-g"), ("LANG", "en_GB.UTF-8"))), mask)

    hidden = (
        "passw0rd-a",
        "query-key-b",
        "head-token-c",
        "flag-token-e",
        "flag-key-f",
        "env-pass-g",
    )
    assert [each for each in hidden if mask.hide(each) != HIDDEN] == []
    shown = ("long-but-plain", "plain-d", "en_GB.UTF-8", "run")
    assert [mask.hide(each) for each in shown] == list(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://u:p@h/", f"http://u:{HIDDEN}@h/"),
        ("see http://u:p@ss@h/ and x@y", f"see http://u:{HIDDEN}@h/ and x@y"),
        ("redis://:pw@h:1", f"redis://:{HIDDEN}@h:1"),
        ("http://u:${PASSWORD}@h/", "http://u:${PASSWORD}@h/"),
        ("http://${env:USER}:${keyring:x}@h/", "http://${env:USER}:${keyring:x}@h/"),
        ("http://${env:USER}:clear@h/", f"http://${{env:USER}}:{HIDDEN}@h/"),
        ("http://h:80/a@b?q=1", "http://h:80/a@b?q=1"),
        ("http://h/?a=1&api_key=k&b=2#x", f"http://h/?a=1&api_key={HIDDEN}&b=2#x"),
        ("http://h/?token=${TOKEN}", "http://h/?token=${TOKEN}"),
        ("http://h/?token=${TOKEN:-clear}", f"http://h/?token={HIDDEN}"),
    ],
)
def test_passwords_in_addresses_are_hidden_however_short(text: str, shown: str) -> None:
    assert hide_in_addresses(text) == shown


def test_no_address_takes_long_to_read() -> None:
    for text in ("://" + "${a}" * 5000, "://" + "${a" * 5000, "://u:" + "${a}@" * 5000 + " "):
        hide_in_addresses(text)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--token", "x", "y"), ("--token", HIDDEN, "y")),
        (("--token", "--all"), ("--token", "--all")),
        (("--token", "${T}"), ("--token", "${T}")),
        (("--token=x", "-e", "API_KEY=x"), (f"--token={HIDDEN}", "-e", f"API_KEY={HIDDEN}")),
        (
            ("--header", "Authorization: Bearer x"),
            ("--header", f"Authorization: {HIDDEN}"),
        ),
        (
            ("--header", "Authorization: Bearer ${T}"),
            ("--header", "Authorization: Bearer ${T}"),
        ),
        (("https://u:p@h/key=1",), (f"https://u:{HIDDEN}@h/key=1",)),
    ],
)
def test_what_follows_the_name_of_a_secret_is_hidden(
    words: tuple[str, ...], shown: tuple[str, ...]
) -> None:
    assert hide_in_words(words) == shown


@pytest.mark.parametrize(
    ("value", "is_random"),
    [
        ("ghp_abcdefghijklmnop0123", True),
        ("0123456789abcdef0123456789abcdef", True),
        ("/usr/share/python3.11/lib", False),
        ("https://example.com/v1/api", False),
        ("production-cluster", False),
        ("short1", False),
        ("some words with a 1 in them", False),
    ],
)
def test_a_key_is_told_from_a_word(value: str, is_random: bool) -> None:
    assert looks_random(value) is is_random
