"""What a client sees goes with its words to another replica: all of it, or nothing."""

from __future__ import annotations

import msgspec
import pytest

from toolyard.relay.passed import read_view, tell_view
from toolyard.relay.view_key import ViewKey


@pytest.mark.parametrize(
    "view_key",
    [
        None,
        ViewKey(),
        ViewKey(only=frozenset({"one", "two"}), page=7, folders=("/a", "/b")),
        ViewKey(admitted=(), tier="read"),
        ViewKey(admitted=("echoes",), profile_tiers=(("echoes", "write"),), agent="codex"),
    ],
)
def test_a_view_is_the_same_at_the_other_replica(view_key: ViewKey | None) -> None:
    assert read_view(tell_view(view_key)) == view_key


def test_a_limit_that_is_not_known_here_is_refused_rather_than_dropped() -> None:
    told = msgspec.msgpack.decode(tell_view(ViewKey(tier="read")))
    assert told == {"tier": "read"}, "what is as usual would be refused by an older replica"
    later = msgspec.msgpack.encode({**told, "hours": "day"})
    with pytest.raises(msgspec.DecodeError, match="of another version tells of 'hours'"):
        read_view(later)
