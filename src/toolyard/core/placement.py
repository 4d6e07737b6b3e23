"""The order to an executor: one process to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolyard.core.model import Command
from toolyard.core.sites import ANYWHERE, Placement

if TYPE_CHECKING:
    from toolyard.core.leases import Deadline


@dataclass(frozen=True, slots=True)
class Run:
    """One process that an executor is to start: what, within which bounds, for whom."""

    name: str
    """The server's; several runs may share it."""
    command: Command
    placement: Placement = ANYWHERE
    owner: str = ""
    """The session it runs for; empty if it is shared."""
    deadline: Deadline | None = None
    """The time at which it must have ended, whatever becomes of the hub; None if there is none."""
