"""Every event makes the next picture, and nothing else does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from toolyard.core.fold import fold
from toolyard.core.model import (
    NO_OFFERS,
    Command,
    Event,
    Observation,
    Offer,
    Offers,
    Peer,
    Problem,
    Remembered,
    Report,
    Server,
    ServerId,
    Snapshot,
    SourceFailed,
    Status,
    Url,
)
from toolyard.core.owners import Owners
from toolyard.core.problems import ProblemCode

ACME = ServerId("acme", "configured")
OFFERS = Offers(tools=(Offer("echo", b'{"name":"echo"}'),))
PEER = Peer("modern", "2026-07-28", name="acme")
TROUBLE = Problem(ProblemCode.SERVER_LINK, "it broke", "mend it", subject=str(ACME))
UNSET = Problem(ProblemCode.CONFIG_UNSET, "TOKEN is not set", "set it")


def server(name: str = "acme", source: str = "configured", **more: object) -> Server:
    return replace(Server(ServerId(name, source), Command(("run", name))), **more)  # type: ignore[arg-type]


def report(*servers: Server, source: str = "configured") -> Report:
    return Report(source, servers)


def picture(*events: Event) -> Snapshot:
    snapshot = Snapshot()
    for event in events:
        snapshot = fold(snapshot, event)
    return snapshot


def seen(status: Status = Status.READY, **more: object) -> Observation:
    return replace(Observation(ACME, status, OFFERS, PEER), **more)  # type: ignore[arg-type]


def test_a_report_brings_its_servers_into_the_picture() -> None:
    after = picture(report(server(), server("bolt")))

    assert [entry.alias for entry in after.entries.values()] == ["acme", "bolt"]
    assert all(entry.status is Status.KNOWN for entry in after.entries.values())
    assert after.revision == 1


def test_a_report_replaces_the_previous_one_of_its_source_and_no_other() -> None:
    after = picture(
        report(server(), server("bolt")),
        report(server("cask", "bundled"), source="bundled"),
        report(server("bolt")),
    )

    assert sorted(map(str, after.entries)) == ["bolt@configured", "cask@bundled"]


@pytest.mark.parametrize(
    "event",
    [
        report(server(), server("bolt")),
        seen(),
        seen(offers=None, peer=None),
        SourceFailed("scan", TROUBLE),
        Observation(ServerId("nobody", "scan"), Status.READY),
    ],
)
def test_an_event_that_changes_nothing_leaves_the_very_same_picture(event: Event) -> None:
    before = picture(report(server(), server("bolt")), seen(), SourceFailed("scan", TROUBLE))

    assert fold(before, event) is before


def test_every_change_raises_the_revision_by_one_and_leaves_the_old_picture_alone() -> None:
    events: list[Event] = [
        report(server()),
        seen(Status.STARTING, offers=None, peer=None),
        seen(),
        SourceFailed("configured", TROUBLE),
        report(),
    ]
    pictures = [picture(*events[:n]) for n in range(len(events) + 1)]
    copies = [replace(snapshot) for snapshot in pictures]
    for before, event in zip(pictures, events, strict=False):
        assert fold(before, event).revision == before.revision + 1

    assert [snapshot.revision for snapshot in pictures] == [0, 1, 2, 3, 4, 5]
    assert pictures == copies


def test_what_was_observed_stays_while_the_endpoint_stays() -> None:
    before = picture(report(server()), seen())
    after = fold(before, report(server(title="Acme", timeout=5.0), server("bolt")))
    entry = after.entries[ACME]

    assert (entry.status, entry.offers, entry.peer) == (Status.READY, OFFERS, PEER)
    assert entry.server.title == "Acme"


@pytest.mark.parametrize(
    "endpoint",
    [
        Command(("run", "acme", "-v")),
        Command(("run", "acme"), (("TOKEN", "${TOKEN}"),)),
        Command(("run", "acme"), cwd="/tmp"),
        Url("http://localhost/mcp"),
    ],
)
def test_another_endpoint_is_another_server_of_which_nothing_is_known(
    endpoint: Command | Url,
) -> None:
    before = picture(report(server()), seen())
    entry = fold(before, report(server(endpoint=endpoint))).entries[ACME]

    assert (entry.status, entry.offers, entry.peer) == (Status.KNOWN, NO_OFFERS, None)


@pytest.mark.parametrize("unusable", [server(enabled=False), server(problem=UNSET)])
def test_a_server_that_may_not_or_cannot_be_used_is_neither_ready_nor_failing(
    unusable: Server,
) -> None:
    for status, problem in ((Status.READY, None), (Status.FAILING, TROUBLE)):
        before = picture(report(server()), seen(status, problem=problem))
        entry = fold(before, report(unusable)).entries[ACME]

        assert (entry.status, entry.problem) == (Status.KNOWN, None)
        assert entry.offers == OFFERS


def test_an_observation_replaces_status_and_problem_and_only_the_parts_it_has() -> None:
    before = picture(report(server()), seen())
    failing = fold(before, Observation(ACME, Status.FAILING, problem=TROUBLE)).entries[ACME]

    assert (failing.status, failing.problem) == (Status.FAILING, TROUBLE)
    assert (failing.offers, failing.peer) == (OFFERS, PEER)

    gone = fold(before, Observation(ACME, Status.FAILING, offers=NO_OFFERS)).entries[ACME]
    assert (gone.offers, gone.problem) == (NO_OFFERS, None)


def test_an_observation_of_a_server_that_left_is_not_believed() -> None:
    before = picture(report(server()), report())

    assert fold(before, seen()) is before


def test_a_source_that_failed_keeps_its_last_report_until_it_reports_again() -> None:
    before = picture(report(server()), seen())
    failed = fold(before, SourceFailed("configured", TROUBLE))

    assert failed.entries == before.entries
    assert failed.sources["configured"].problem == TROUBLE
    assert fold(failed, report(server())).sources["configured"].problem is None


def test_a_source_may_fail_before_its_first_report() -> None:
    after = picture(SourceFailed("scan", TROUBLE))

    assert after.sources["scan"].problem == TROUBLE
    assert after.entries == {}


# Addresses of resources.


PAGE = Offer("show", b'{"name":"show","_meta":{"ui":{"resourceUri":"ui://acme/page"}}}')
READABLE = Offers(
    tools=(PAGE,),
    resources=(Offer("mem://1", b"{}"), Offer("toolyard://status", b"{}")),
    templates=(Offer("mem://all/{id}", b"{}"), Offer("{+any}", b"{}")),
)
CLAIMED = {"mem://1": str(ACME), "ui://acme/page": str(ACME), "{mem://all/": str(ACME)}


def addresses(snapshot: Snapshot) -> dict[str, str]:
    """The claims on addresses of resources; those on names are another matter."""
    claims = snapshot.owners.claims.items()
    return {address: server for address, server in claims if not address.startswith("toolyard:")}


def test_a_server_claims_what_it_lists_and_what_its_tools_refer_to() -> None:
    after = picture(report(server()), seen(offers=READABLE))

    assert addresses(after) == CLAIMED


def test_a_claim_outlives_the_server() -> None:
    after = picture(report(server()), seen(offers=READABLE), report(server("bolt")))

    assert addresses(after) == CLAIMED


def test_what_was_remembered_goes_before_what_is_listed_now() -> None:
    owners = Owners({"mem://1": "bolt@configured"})
    after = picture(Remembered(owners), report(server()), seen(offers=READABLE))

    assert addresses(after) == CLAIMED | {"mem://1": "bolt@configured"}


def test_a_variant_of_an_app_claims_nothing() -> None:
    after = picture(report(server(app="kunobi")), seen(offers=READABLE))

    assert addresses(after) == {}
