"""Commands that people read can be typed: each of them exists, with these flags and arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.documented import mentioned, readers_pages, refusal, typed
from tests.house.tree import shown


@pytest.mark.parametrize("page", readers_pages(), ids=shown)
def test_every_command_on_a_page_can_be_read(page: Path) -> None:
    text = page.read_text("utf-8")
    lines = [*typed(text), *mentioned(text)]

    assert [f"{line}: {error}" for line in lines if (error := refusal(line))] == []


@pytest.mark.parametrize("page", readers_pages(), ids=shown)
def test_a_command_in_a_block_has_all_its_arguments(page: Path) -> None:
    lines = typed(page.read_text("utf-8"))

    assert [f"{line}: {error}" for line in lines if (error := refusal(line, whole=True))] == []


def test_commands_are_found_and_wrong_ones_are_refused() -> None:
    texts = [page.read_text("utf-8") for page in readers_pages()]

    assert sum(len([*typed(text)]) for text in texts) > 100
    assert sum(len([*mentioned(text)]) for text in texts) > 100
    assert refusal("toolyard statsu") and refusal("toolyard up --frobnicate")
    assert refusal("toolyard remove", whole=True) and not refusal("toolyard remove")
