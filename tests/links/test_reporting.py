"""The board is told what became of a server, and what is wrong with it."""

from __future__ import annotations

from tests.links.company import declared, until
from toolyard.core.errors import LinkError
from toolyard.core.model import NO_OFFERS, Observation, Offer, Offers, Peer, Status
from toolyard.links.offered import OfferedLists
from toolyard.links.reporting import StatusReporter

TOOLS = Offers(tools=(Offer("a", b"{}"),))
PEER = Peer("legacy", "v")
ACME = declared()


def reporter(grace: float = 600.0) -> tuple[StatusReporter, list[Observation]]:
    posted: list[Observation] = []
    return StatusReporter(posted.append, OfferedLists(TOOLS, 1.0), grace), posted


async def test_trouble_is_shown_until_the_server_is_ready_and_remembered_after_it() -> None:
    reports, posted = reporter()
    reports.failing(ACME, LinkError("gone"))
    reports.starting(ACME)
    reports.ready(ACME, PEER)

    texts = [observation.problem and observation.problem.text for observation in posted]
    assert texts == ["gone", "gone", None]
    assert [observation.offers for observation in posted] == [None, None, TOOLS]
    assert reports.failing_since is None
    assert reports.last_error is not None and reports.last_error.text == "gone"


async def test_after_the_grace_nothing_is_offered_and_the_trouble_is_still_told() -> None:
    reports, posted = reporter(grace=0.01)
    reports.failing(ACME, LinkError("gone"))
    reports.starting(ACME)
    await until(lambda: len(posted) == 3)

    last = posted[-1]
    assert (last.status, last.offers) == (Status.FAILING, NO_OFFERS)
    assert last.problem is not None and last.problem.text == "gone"


async def test_rights_that_are_lacking_are_news_once() -> None:
    reports, posted = reporter()
    assert reports.lack(ACME, LinkError("more rights"))
    assert not reports.lack(ACME, LinkError("more rights"))
    reports.ready(ACME, PEER)
    assert reports.lack(ACME, None)
    reports.ready(ACME, PEER)

    texts = [observation.problem and observation.problem.text for observation in posted]
    assert texts == ["more rights", None]
