"""The patience of links: how long to wait for what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds to wait, by what is waited for."""

    probe: float = 2.0
    open: float = 60.0
    """Enough for a package runner that downloads first."""
    list: float = 15.0
    call: float = 120.0
    line: float = 30.0
    """Of that time, while the server has as many calls under way as it may."""
    idle: float = 600.0
    """After so long without a call a process is ended; 0 means never."""
    first_pause: float = 1.0
    """Between a failed start and the next; each pause is twice the one before."""
    longest_pause: float = 60.0
    grace: float = 10.0
    """How long the offers of a server that was lost stay listed."""
    slot: float = 5.0
    """A start that takes longer waits for something else than the processor."""
    let_in: float = 0.1
    """Starting processes takes the processor; the first client at an open door comes first."""
