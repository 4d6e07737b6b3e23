"""The addresses of resources: what stands for one that cannot be used as it is."""

from __future__ import annotations

from typing import Final

AT: Final = "toolyard://at/"


def wrap(alias: str, uri: str) -> str:
    """The address that leads to a server's resource, whoever else has the same."""
    return f"{AT}{alias}/{uri}"


def unwrap(uri: str) -> tuple[str, str] | None:
    """The server and its own address behind a wrapped one; None if it is none.

    What was wrapped stands there as it was, so that a client can fill in a template.
    """
    alias, slash, inner = uri.removeprefix(AT).partition("/")
    return (alias, inner) if uri.startswith(AT) and slash else None
