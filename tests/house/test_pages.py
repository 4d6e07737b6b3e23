"""Rules about what people read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.tree import ROOT, pages, shown

LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)")
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(page.name[:4]) for page in DECISIONS]

    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_has_at_most_forty_lines(page: Path) -> None:
    assert len(page.read_text("utf-8").splitlines()) <= 40


def test_the_readme_has_at_most_120_lines() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


def test_the_changelog_has_a_place_for_what_is_not_released() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)

    assert headings
    assert headings[0] == "Unreleased"


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = [
        f"{shown(page)}: {target}"
        for page in pages()
        for target in LINK.findall(page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]

    assert broken == []
