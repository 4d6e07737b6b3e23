"""The command line, run inside the test: what it ended with and what it said."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.cli.stand_in import StandIn, standing_in
from toolyard.command_line import run
from toolyard.console.interrupts import SIGNALS


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Toolyard = Callable[..., Done]


@pytest.fixture
def toolyard(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Toolyard:
    def call(*words: str, stdin: str = "") -> Done:
        if stdin:
            monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capfd.readouterr()
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        code = run(list(words))
        for number, handler in handlers.items():  # a command may ignore them when it is done
            signal.signal(number, handler)
        said = capfd.readouterr()
        return Done(code, said.out, said.err)

    return call


@pytest.fixture
def hub() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in
