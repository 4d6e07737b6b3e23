"""The filters of clients are the same in the words of a profile."""

from __future__ import annotations

import pytest

from toolyard.core.profiles import Profile
from toolyard.features.clients.filters import (
    NOTHING,
    ToolFilter,
    all_but,
    combined,
    hidden_patterns,
    only,
)

TOOLS = ("read", "write", "rm", "a*b")


def shown(tools: ToolFilter | None) -> list[str]:
    """The tools that a profile with this filter shows of a server."""
    hide = tuple(hidden_patterns("s", tools)) if tools else ()
    profile = Profile("p", hide=hide)
    names = ("s", "s@configured")
    is_reached = profile.reaches(names, "__")
    assert profile.admits(("other",), "read", "other__read")
    return [t for t in TOOLS if is_reached and profile.admits(names, t, f"s__{t}")]


def test_what_a_client_allows_is_what_its_profile_shows() -> None:
    assert shown(only(["read", "rm"])) == ["read", "rm"]
    assert shown(only(["write(x, y)"])) == ["write"]
    assert shown(only(["a*b"])) == ["a*b"]
    assert shown(only(["*"])) == list(TOOLS)
    assert shown(only([])) == []


def test_what_a_client_hides_is_what_its_profile_hides() -> None:
    assert shown(all_but(["rm", "a*b"])) == ["read", "write"]
    assert shown(NOTHING) == []


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_filters_each_hides_what_it_hides(turned: bool) -> None:
    filters = [only(["read", "rm"]), all_but(["rm"]), ToolFilter(("w*",), ("write",))]
    parts = [tools for tools in filters if tools]

    assert shown(combined(parts[::-1] if turned else parts)) == ["read"]
