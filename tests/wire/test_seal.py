"""Sealed texts: what opens, and that nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolyard.wire.seal import LONGEST, ROOM, Seal

OLD, NEW = "fake-key-for-tests-" + "a" * 32, "fake-key-for-tests-" + "b" * 32
SEAL = Seal([OLD])
DATA = st.binary(max_size=ROOM)
WORDS = st.text(max_size=40)
PURPOSES = st.text("abcdefghijklmnopqrstuvwxyz ", max_size=20)


@given(PURPOSES, WORDS, DATA)
def test_what_was_sealed_opens(purpose: str, owner: str, data: bytes) -> None:
    text = SEAL.seal(purpose, owner, data)

    assert SEAL.open(purpose, owner, text) == data
    assert Seal([OLD]).open(purpose, owner, text) == data
    assert len(text) <= LONGEST
    assert text.isascii() and text.replace("-", "").replace("_", "").isalnum()


@given(DATA, st.data())
def test_no_other_character_at_any_place_opens(data: bytes, draw: st.DataObject) -> None:
    text = SEAL.seal("p", "o", data)
    place = draw.draw(st.integers(0, len(text) - 1))
    other = draw.draw(st.characters().filter(lambda char: char != text[place]))

    assert SEAL.open("p", "o", text[:place] + other + text[place + 1 :]) is None


@given(DATA, st.integers(min_value=0))
def test_no_part_of_it_opens(data: bytes, cut: int) -> None:
    text = SEAL.seal("p", "o", data)

    assert SEAL.open("p", "o", text[: cut % len(text)]) is None


@given(DATA, st.sampled_from(["=", "==", "\n", " ", "A", "é", "\0"]))
def test_nothing_with_more_around_it_opens(data: bytes, more: str) -> None:
    text = SEAL.seal("p", "o", data)

    assert SEAL.open("p", "o", text + more) is None
    assert SEAL.open("p", "o", more + text) is None


@given(st.text())
def test_no_text_of_a_stranger_opens(text: str) -> None:
    assert SEAL.open("p", "o", text) is None


@given(PURPOSES, PURPOSES, WORDS, WORDS)
def test_it_opens_for_its_purpose_and_owner_alone(
    purpose: str, other: str, owner: str, somebody: str
) -> None:
    text = SEAL.seal(purpose, owner, b"data")

    is_same = (purpose, owner) == (other, somebody)
    assert (SEAL.open(other, somebody, text) == b"data") is is_same


def test_another_key_opens_nothing() -> None:
    assert Seal([NEW]).open("p", "o", SEAL.seal("p", "o", b"data")) is None


def test_while_a_key_is_replaced_both_open_and_the_first_seals() -> None:
    both = Seal([NEW, OLD])
    before, now = SEAL.seal("p", "o", b"before"), both.seal("p", "o", b"now")

    assert (both.open("p", "o", before), both.open("p", "o", now)) == (b"before", b"now")
    assert (Seal([NEW]).open("p", "o", now), Seal([NEW]).open("p", "o", before)) == (b"now", None)


def test_two_texts_for_the_same_differ() -> None:
    assert SEAL.seal("p", "o", b"data") != SEAL.seal("p", "o", b"data")


def test_more_than_fits_is_refused_and_as_much_as_fits_is_not() -> None:
    assert len(SEAL.seal("p", "o", bytes(ROOM))) == LONGEST
    with pytest.raises(ValueError, match=str(ROOM)):
        SEAL.seal("p", "o", bytes(ROOM + 1))
    assert SEAL.open("p", "o", "A" * (LONGEST + 1)) is None


def test_a_longer_text_carries_more_where_one_is_allowed() -> None:
    data = bytes(ROOM + 1)
    text = SEAL.seal("p", "o", data, 2 * LONGEST)
    assert SEAL.open("p", "o", text, 2 * LONGEST) == data
    assert SEAL.open("p", "o", text) is None


def test_a_text_of_an_older_key_opens_and_is_not_the_latest() -> None:
    old, new = "o" * 32, "n" * 32
    text = Seal([old]).seal("p", "o", b"data")
    both = Seal([new, old])
    assert both.open("p", "o", text) == b"data"
    assert not both.is_latest("p", "o", text)
    assert both.is_latest("p", "o", both.seal("p", "o", b"data"))
