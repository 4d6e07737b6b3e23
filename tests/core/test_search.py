"""Words find offers, the best first."""

from __future__ import annotations

import pytest

from toolyard.core.search import QUERY_WORDS, Index, words

TEXTS = [
    ("list_issues", "List the issues of a repository."),
    ("createIssue", "Create a new issue in a repository."),
    ("get_weather", "The weather at a place, now."),
    ("forecast", "How the weather will be: temperature, rain, wind."),
    ("read_file", "Read a file of the repository."),
]


def found(query: str) -> list[str]:
    return [TEXTS[position][0] for position in Index(TEXTS).search(query)]


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
    assert Index([]).search("weather") == []


def test_equal_matches_keep_their_order() -> None:
    index = Index([("same", "text")] * 4)

    assert index.search("same text") == [0, 1, 2, 3]


def test_texts_in_any_script_are_found() -> None:
    index = Index([("a", "天気 を 調べる"), ("b", "Größe ändern")])

    assert index.search("天気") == [0]
    assert index.search("größe") == [1]


def test_of_very_many_words_the_first_count() -> None:
    asked = " ".join(f"nothing{number}" for number in range(QUERY_WORDS))
    assert found(f"weather {asked}") == found("weather")
    assert found(f"{asked} weather") == []
    assert found("weather " * 1000) == found("weather")


def test_a_word_is_found_by_its_beginning_and_counts_half() -> None:
    assert found("repo") == found("repository")
    assert set(found("iss")) == {"list_issues", "createIssue"}
    assert found("re") == []
