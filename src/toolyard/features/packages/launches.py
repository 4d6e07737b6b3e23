"""Commands of servers here that fetch a package, and what there is to say of these packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolyard.core.errors import ToolyardError
from toolyard.core.model import Command, Endpoint, Problem, Server, ServerId
from toolyard.core.packages import Package, installation_name, recognise
from toolyard.core.problems import ProblemCode
from toolyard.features.packages.store import Installation

HERE: Final = ("", "local")
"""The names of this machine where servers say where they run."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that was understood."""

    server: ServerId
    command: Command
    package: Package
    name: str
    """That of the installation it has, or will have."""


def read_launch(server: Server, place: Endpoint) -> Launch | None:
    """Return the package that a command fetches, if it does and is run here."""
    if not isinstance(place, Command) or server.placement.executor not in HERE:
        return None
    package = recognise(place.argv)
    if package is None:
        return None
    return Launch(server.id, place, package, installation_name(package, place.env))


def faulty(installation: Installation) -> Problem:
    """It did not start, where its launcher did."""
    what = f"{installation.package!r} {installation.version} as installed"
    text = f"{what} did not start, so its launcher does it"
    return Problem(
        ProblemCode.PACKAGE_START,
        f"{text}: {installation.fault}",
        f"install it anew: toolyard executor packages update {installation.name}",
        installation.path,
    )


def gone(installation: Installation) -> Problem:
    """Somebody removed it."""
    what = f"{installation.package!r} {installation.version}"
    text = f"{what} was installed at '{installation.path}' and is gone"
    return Problem(
        ProblemCode.PACKAGE_GONE,
        text,
        "it is installed again once it was started",
        installation.path,
    )


def not_installed(launch: Launch, error: Exception) -> Problem:
    """It could not be installed."""
    why = str(error) if isinstance(error, ToolyardError) else repr(error)
    return Problem(
        ProblemCode.PACKAGE_INSTALL,
        f"{launch.package.spec!r} was not installed, so its launcher starts it each time: {why}",
        f"try again: toolyard executor packages update {launch.name}",
        str(launch.server),
    )
