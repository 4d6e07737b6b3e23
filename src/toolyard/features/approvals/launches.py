"""Launches that wait: the problem that a server has until somebody approves how it is started."""

from __future__ import annotations

from toolyard.core.locks import Locked
from toolyard.core.model import Problem, ServerId
from toolyard.core.problems import ProblemCode


def changed_launch(id_: ServerId) -> Problem:
    """Say that a server is started in another way than was approved."""
    return Problem(
        ProblemCode.PIN_LAUNCH,
        f"the way {id_.name!r} is started was changed outside of toolyard",
        f"look with: toolyard approve {id_.name} --dry-run; then: toolyard approve {id_.name}",
        subject=str(id_),
    )


def unknown_launch(id_: ServerId) -> Problem:
    """Say that it is lost how a server was started when it was approved."""
    return Problem(
        ProblemCode.PIN_LAUNCH,
        f"nothing tells how {id_.name!r} was started when it was approved",
        f"look with: toolyard approve {id_.name} --dry-run; then: toolyard approve {id_.name}",
        subject=str(id_),
    )


def not_locked(id_: ServerId, locked: Locked | None) -> Problem:
    """Say that a server is not started as the lock file has it."""
    what = "is started in another way than the lock file has it"
    return Problem(
        ProblemCode.PIN_LOCK,
        f"{id_.name!r} {what if locked else 'is not in the lock file'}, and the hub is frozen",
        "see: toolyard lock --check",
        subject=str(id_),
    )
