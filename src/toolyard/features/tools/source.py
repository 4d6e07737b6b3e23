"""The parts that calls need: saved inputs, and the calls that are watched."""

from __future__ import annotations

from collections.abc import Iterable

from toolyard.features.tools.store import InputsFile
from toolyard.features.tools.watching import WatchedCalls
from toolyard.settings import Settings
from toolyard.yard import Yard


def parts(yard: Yard) -> Iterable[object]:
    """The file of saved inputs, and the watched calls of this hub."""
    yield InputsFile(yard.part(Settings).state_dir / "inputs.json")
    yield WatchedCalls()
