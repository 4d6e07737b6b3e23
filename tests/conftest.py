"""What every test stands on: a home of its own, so that none reads or writes the user's."""

from __future__ import annotations

import gc
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

from scripts.proof_results import keep_results
from tests.fixtures.postgres import open_shared, postgres, shared_yard
from toolyard.records.secrets.mask import MASK, Mask

__all__ = ["open_shared", "postgres", "shared_yard"]

# Its assertions are explained, whoever imports it first.
pytest.register_assert_rewrite("tests.executors.contract")

# The machine may be busy: no property is judged by how long it took.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("patient"), max_examples=30)
settings.load_profile("patient")

_CLIENTS = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "QWEN_HOME")
_STARTING = (
    "tests.e2e.hub",
    "tests.e2e.entries",
    "tests.e2e.talk",
    "tests.doors.doors",
    "tests.fleet.fleet",
)
"""Modules that start hubs."""
_LONGEST = ("control/test_contract.py",)
"""Files that take more than a minute for a few tests."""
_XDG = ("CONFIG", "STATE", "CACHE", "DATA", "RUNTIME")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the file that `scripts/proof.py` wants the results in."""
    parser.addoption("--proof-results", type=Path, help="also write how each test ended to FILE")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the results for `make proof`, and let programs that tests start end by Ctrl-C.

    A shell ignores SIGINT and SIGQUIT in what it runs in the background, and children inherit that.
    """
    keep_results(config)
    for number in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            is_interrupt = number is signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of modules that start hubs and other programs as slow; long files come first.

    A worker is given a whole file: a long one that begins last keeps all others waiting.
    """
    sizes, slow = Counter(item.path for item in items), set()
    for item in items:
        if isinstance(item, pytest.Function) and _starts_hubs(item.module):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow"):
            slow.add(item.path)

    def turn(item: pytest.Item) -> tuple[bool, bool, int]:
        is_longest = any(map(item.path.match, _LONGEST))
        return not is_longest, item.path not in slow, -sizes[item.path]

    items.sort(key=turn)


@cache
def _starts_hubs(module: ModuleType) -> bool:
    return any(getattr(part, "__module__", "") in _STARTING for part in vars(module).values())


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home directory with the XDG directories in it, for this test and its children.

    Its path is short, because the path of a Unix socket may have little more than 100 bytes.
    """
    with tempfile.TemporaryDirectory(prefix="ty-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        monkeypatch.setenv("HOME", name)
        for kind in _XDG:
            place = folder / kind.lower()
            place.mkdir(mode=0o700)
            variable = f"XDG_{kind}_DIR" if kind == "RUNTIME" else f"XDG_{kind}_HOME"
            monkeypatch.setenv(variable, str(place))
        for variable in ("TOOLYARD_TOKEN", *_CLIENTS):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("NO_COLOR", "1")
        yield folder


@pytest.fixture(autouse=True)
def _fresh_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """No secret of another test is hidden in this one; a process has one mask."""
    for name, value in vars(Mask()).items():
        monkeypatch.setattr(MASK, name, value)


@pytest.fixture
def young_heap() -> Iterator[None]:
    """Everything from before is out of the collector's sight: it would search the whole suite."""
    gc.freeze()
    yield
    gc.unfreeze()
