"""The command line, run inside the test: what it ended with and what it said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cli.stand_in import StandIn, standing_in
from toolyard.command_line import run


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Toolyard = Callable[..., Done]


@pytest.fixture
def toolyard(capfd: pytest.CaptureFixture[str]) -> Toolyard:
    def call(*words: str) -> Done:
        capfd.readouterr()
        code = run(list(words))
        said = capfd.readouterr()
        return Done(code, said.out, said.err)

    return call


@pytest.fixture
def hub() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in
