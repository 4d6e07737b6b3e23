from __future__ import annotations

from toolyard.core.counting import counted


def test_noun_and_verb_agree_with_the_number() -> None:
    assert counted(1, "tool") == "1 tool"
    assert counted(0, "tool") == "0 tools"
    assert counted(1, "server", "run") == "1 server runs"
    assert counted(2, "server", "run") == "2 servers run"
