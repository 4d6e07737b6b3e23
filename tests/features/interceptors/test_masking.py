"""Masking: a corpus of our own, with recall and false alarms; and the shape of what is left."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.features.interceptors import held_out_texts
from tests.features.interceptors.mask_corpus import NEGATIVES, own_texts, positives
from toolyard.features.interceptors.masking import DEEPEST, MARKS, Masker
from toolyard.features.interceptors.model import MASK_KINDS

MASKER = Masker(MASK_KINDS)


def test_everything_of_the_corpus_is_masked() -> None:
    corpus = positives()
    missed = [p for p in corpus if p.hidden in MASKER.mask_text(p.text)]
    counts = Counter(p.kind for p in corpus)
    print(f"recall {len(corpus) - len(missed)}/{len(corpus)}: {dict(counts)}")
    assert len(corpus) >= 150 and len(counts) == 7 and min(counts.values()) >= 10
    assert not missed


def test_plain_texts_raise_no_alarm() -> None:
    texts = [*NEGATIVES, *dict.fromkeys(own_texts())]
    alarms = [(text, masked) for text in texts if (masked := MASKER.mask_text(text)) != text]
    print(f"false alarms {len(alarms)}/{len(texts)}")
    assert len(texts) >= 500
    assert not alarms


def test_of_texts_that_the_patterns_were_not_made_for_most_are_masked() -> None:
    for texts, least in ((held_out_texts.PERSONAL, 19), (held_out_texts.SECRETS, 20)):
        masked = [
            text
            for text, value in texts
            if value not in MASKER.mask_text(text.replace("{}", value))
        ]
        print(f"held out: {len(masked)} of {len(texts)} masked")
        assert len(masked) >= least
    assert [MASKER.mask_text(text) for text in held_out_texts.PLAIN] == list(held_out_texts.PLAIN)


@pytest.mark.parametrize("kind", MASK_KINDS)
def test_a_kind_that_is_not_wanted_is_left(kind: str) -> None:
    one = next(p for p in positives() if p.kind == kind)
    others = Masker([other for other in MASK_KINDS if other not in (kind, "secret", "token")])
    assert others.mask_text(one.text) == one.text
    assert MARKS[kind] in Masker([kind]).mask_text(one.text)


def test_values_are_judged_by_their_names_and_keep_their_place() -> None:
    result = {
        "content": [{"type": "text", "text": "mail ann@acme.io"}],
        "structuredContent": {
            "user": {"password": "tulip", "apiKey": "abcd", "phone": "030 1234567", "id": 7},
            "tokens": 12,
            "nextPageToken": "abcdef123456",
            "card": 4111111111111111,
            "ok": True,
        },
    }
    assert MASKER.mask(result) == {
        "content": [{"type": "text", "text": "mail [email]"}],
        "structuredContent": {
            "user": {"password": "[secret]", "apiKey": "[secret]", "phone": "[phone]", "id": 7},
            "tokens": 12,
            "nextPageToken": "abcdef123456",
            "card": "[card]",
            "ok": True,
        },
    }


def test_what_has_nothing_to_mask_is_the_very_same() -> None:
    result = {"content": [{"type": "text", "text": "2 + 2 = 4"}], "n": [1, 2.5, None]}
    assert MASKER.mask(result) is result


def test_pictures_are_not_read_as_texts() -> None:
    picture = {"type": "image", "data": "ghp_" + "a1" * 18, "mimeType": "image/png"}
    blob = {"type": "resource", "resource": {"uri": "file:///x", "blob": "ghp_" + "a1" * 18}}
    assert MASKER.mask([picture, blob]) == [picture, blob]


def test_what_lies_too_deep_is_masked_as_a_whole() -> None:
    deep: object = "ann@acme.io"
    for _ in range(DEEPEST + 5):
        deep = [deep]
    assert "ann@acme.io" not in str(MASKER.mask(deep))


def test_dense_words_are_masked_where_that_is_wanted() -> None:
    text = "id Zm9vYmFyQmF6UXV4MTIzNDU2Nzg5MGFiY2Q"
    assert MASKER.mask_text(text) == text
    assert Masker(["opaque"]).mask_text(text) == "id [opaque]"
