"""Servers that other hubs run in containers, as a command that anybody can run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def container_command(
    image: str,
    arguments: Sequence[str],
    variables: Iterable[str],
    *,
    mounts: Sequence[str] = (),
    user: str = "",
    has_network: bool = True,
) -> list[str]:
    """Return the words that run a server of an image on stdin and stdout.

    Variables are passed on by their names, so that no value is seen in the list of processes.
    """
    words = ["docker", "run", "--rm", "-i", "--init", "--security-opt", "no-new-privileges"]
    if not has_network:
        words += ["--network", "none"]
    for variable in variables:
        words += ["-e", variable]
    for mount in mounts:
        words += ["-v", mount]
    if user:
        words += ["-u", user]
    return [*words, image, *arguments]
