"""Windows of one agent, all at once: every call answered once, nothing crossed.

`make stress` has the same with a thousand windows.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.hub import running_hub
from tests.instances.windows import servers, storm


@pytest.mark.timeout(240)
async def test_windows_that_nothing_tells_apart_get_their_own_answers_and_questions_alone(
    record_property: Callable[[str, object], None],
) -> None:
    with running_hub(servers()) as hub:
        tally = await storm(hub, windows=40, calls=50, seconds=180)
    assert (tally.crossed, tally.failed, tally.twice) == ([], [], [])
    assert (tally.answers, tally.questions) == (2000, 400)
    record_property("figure", "2,000 answers and 400 questions of 40 windows, 0 crossed")
