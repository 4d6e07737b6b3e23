"""Words find offers, the best first."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.linear_search import LinearIndex
from tests.examples import examples
from toolyard.core.search import QUERY_WORDS, Index, TextGroup, search_texts, words

Text = tuple[str, str]

TEXTS = [
    ("list_issues", "List the issues of a repository."),
    ("createIssue", "Create a new issue in a repository."),
    ("get_weather", "The weather at a place, now."),
    ("forecast", "How the weather will be: temperature, rain, wind."),
    ("read_file", "Read a file of the repository."),
]


def found(query: str) -> list[str]:
    return [TEXTS[position][0] for position in search_texts(TEXTS, query)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("listIssues", ["list", "issues"]),
        ("list_issues-now", ["list", "issues", "now"]),
        ("getHTTPServer2", ["get", "http", "server2"]),
        ("Größe ändern", ["größe", "ändern"]),
        ("天気 予報", ["天気", "予報"]),
        ("?!", []),
    ],
)
def test_a_text_is_cut_into_words_however_it_is_written(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_match_in_the_name_counts_more_than_one_in_the_description() -> None:
    assert found("weather") == ["get_weather", "forecast"]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    assert found("repository file")[0] == "read_file"


def test_more_matching_words_win() -> None:
    assert found("create issue")[0] == "createIssue"


def test_the_beginning_of_a_word_finds_it_but_the_word_itself_is_better() -> None:
    assert found("issue") == ["createIssue", "list_issues"]
    assert found("temp") == ["forecast"]
    assert found("te") == []


def test_what_nothing_matches_finds_nothing() -> None:
    assert found("submarine") == found("") == found("...") == []
    assert search_texts([], "weather") == []


def test_equal_matches_keep_their_order() -> None:
    assert search_texts([("same", "text")] * 4, "same text") == [0, 1, 2, 3]
    assert search_texts([("same", "text")] * 1000, "same text") == list(range(1000))


def test_texts_in_any_script_are_found() -> None:
    texts = [("a", "天気 を 調べる"), ("b", "Größe ändern")]

    assert search_texts(texts, "天気") == [0]
    assert search_texts(texts, "größe") == [1]


def test_of_very_many_words_the_first_count() -> None:
    asked = " ".join(f"nothing{number}" for number in range(QUERY_WORDS))
    assert found(f"weather {asked}") == found("weather")
    assert found(f"{asked} weather") == []
    assert found("weather " * 1000) == found("weather")


def test_a_word_is_found_by_its_beginning_and_counts_half() -> None:
    assert found("repo") == found("repository")
    assert set(found("iss")) == {"list_issues", "createIssue"}
    assert found("re") == []


# The index against the search that scores every match.

WORDS = ["file", "files", "filed", "fil", "read", "reader", "a", "of", "issue", "issues", "issuer"]
WORDS += ["list", "listing", "create", "repository", "repo", "name", "named", "7", "größe"]
sentences = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
some_texts = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=12)
queries = st.lists(st.sampled_from([*WORDS, "nothing", "re", "rea", "iss"]), max_size=9).map(
    " ".join
)


def follow(index: Index[str], groups: dict[str, list[Text]]) -> None:
    wanted = [
        TextGroup(key, tuple(name for name, _ in texts), tuple(text for _, text in texts))
        for key, texts in groups.items()
    ]
    for _ in index.follow(wanted):
        pass


def check(index: Index[str], groups: dict[str, list[Text]], query: str, most: int | None) -> None:
    """Compare the answers of the index with those of the linear search, order and ties included."""
    every = [text for texts in groups.values() for text in texts]
    expected = LinearIndex(every).search(query)
    assert index.search(query, most) == (expected[:most], len(expected))
    keys = [key for key, texts in groups.items() for _ in texts]
    for key in groups:
        theirs = [place for place in expected if keys[place] == key]
        assert index.search(query, most, key) == (theirs[:most], len(theirs))


def spread(kinds: list[Text], number: int, seed: int) -> dict[str, list[Text]]:
    """Many texts of few kinds, so that there are ties among them and single ones, too."""
    random = Random(seed)
    texts = [random.choice(kinds) for _ in range(number)]
    texts = [
        (name, f"{text} {' '.join(random.choices(WORDS, k=random.randint(0, 3)))}")
        if random.random() < 0.3
        else (name, text)
        for name, text in texts
    ]
    return {f"group{start}": texts[start : start + 40] for start in range(0, number, 40)}


@examples(200)
@given(st.lists(some_texts, max_size=6), queries, st.sampled_from([None, 1, 3, 20]))
def test_the_index_answers_as_the_linear_search_does(
    parts: list[list[Text]], query: str, most: int | None
) -> None:
    groups = {f"group{number}": texts for number, texts in enumerate(parts)}
    index = Index[str](str)
    follow(index, groups)

    check(index, groups, query, most)


@examples(60)
@given(some_texts, st.integers(257, 900), st.integers(0), queries, st.sampled_from([1, 5, 20, 300]))
def test_of_very_many_texts_the_same_are_best(
    kinds: list[Text], number: int, seed: int, query: str, most: int
) -> None:
    groups = spread(kinds, number, seed)
    index = Index[str](str)
    follow(index, groups)

    check(index, groups, query, most)


@examples(100)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from("abcdef"), some_texts, max_size=5),
            queries,
            st.booleans(),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_an_index_that_followed_changes_answers_as_a_new_one(
    pictures: list[tuple[dict[str, list[Text]], str, bool]],
) -> None:
    index = Index[str](str)
    for groups, query, is_dropped in pictures:
        if is_dropped:  # somebody left before the index was there
            one = next(iter(groups.items()), None)
            if one is not None:
                key, texts = one
                names, sources = tuple(n for n, _ in texts), tuple(t for _, t in texts)
                next(index.follow([TextGroup(key, names, sources)]), None)
        follow(index, groups)
        check(index, groups, query, 3)


def test_texts_that_are_equally_good_for_other_words_keep_their_order() -> None:
    groups = {"a": [("name", "alpha"), ("name", "beta")] * 300}
    index = Index[str](str)
    follow(index, groups)

    assert index.search("alpha beta", 10) == (list(range(10)), 600)
    check(index, groups, "alpha beta", 9)


def test_only_texts_that_changed_are_read_again() -> None:
    read: list[str] = []

    def reading(text: str) -> str:
        read.append(text)
        return text

    index = Index[str](reading)
    groups = {key: [("name", f"{key} {number}") for number in range(3)] for key in "abc"}
    follow(index, groups)
    assert len(read) == 9

    read.clear()
    groups = {"0": [("new", "first of all")], **groups, "b": [("name", "b other")]}
    follow(index, groups)

    assert read == ["first of all", "b other"]
    check(index, groups, "b first name", 10)


def test_slots_that_were_left_are_given_up_in_the_end() -> None:
    index = Index[str](str)
    for number in range(1, 70):  # no two groups are of one size, so that no slots fit again
        groups = {"a": [("name", "text of a")] * number, "b": [("b", f"text {number}")]}
        follow(index, groups)
        check(index, groups, f"text {number}", 3)
