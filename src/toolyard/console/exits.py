"""The numbers that commands end with, and their meanings."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit code of a command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NO_HUB = 3
    NOT_FOUND = 4
    REFUSED = 5
    CONFIG = 6
    TIMEOUT = 7
    RUNNING = 8
    PORT_IN_USE = 9
    INTERRUPTED = 130

    @property
    def code(self) -> str:
        """The word for it in JSON."""
        return self.name.lower().replace("_", "-")


MEANINGS: dict[Exit, tuple[str, str]] = {
    Exit.OK: ("It was done.", ""),
    Exit.FAILED: (
        "It was tried and failed.",
        "`doctor` found a problem; `add` of one that fails",
    ),
    Exit.USAGE: ("The command line cannot be understood.", "an unknown flag; a missing argument"),
    Exit.NO_HUB: ("No hub is running.", "`status` or `down` with nothing there"),
    Exit.NOT_FOUND: ("There is no such server or tool.", "`call files lst`; the closest are named"),
    Exit.REFUSED: ("It was refused.", "the tool answered with an error; `add` of a name in use"),
    Exit.CONFIG: (
        "What you wrote or configured cannot be used.",
        "`--config` names a file that is no JSON; `profile set ../x`",
    ),
    Exit.TIMEOUT: ("It did not answer in time.", "a call longer than its timeout"),
    Exit.RUNNING: ("A hub is already running.", "a second `up`"),
    Exit.PORT_IN_USE: ("The port is in use.", "`--port` names one that another program has"),
    Exit.INTERRUPTED: ("You interrupted it.", "Ctrl-C"),
}
"""The meaning of each, and an example."""
