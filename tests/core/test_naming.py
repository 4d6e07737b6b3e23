"""A server keeps its alias, whoever comes, goes, or reports first after a restart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from toolyard.core.fold import fold
from toolyard.core.model import (
    Command,
    Event,
    Problem,
    Remembered,
    Report,
    Server,
    ServerId,
    Snapshot,
    SourceFailed,
)
from toolyard.core.naming import alias_beside
from toolyard.core.owners import NAMES, NO_OWNERS, Owners
from toolyard.core.problems import ProblemCode

TROUBLE = Problem(ProblemCode.CONFIG_UNREADABLE, "it cannot be read", "mend it")
SOURCES = ("announced", "apps", "catalog", "configured")
NAMED = ("acme", "acme-catalog", "bolt")
REPORTS = st.tuples(st.sampled_from(SOURCES), st.sets(st.sampled_from(NAMED)))


def report(source: str, *names: str, problems: tuple[Problem, ...] = ()) -> Report:
    servers = (Server(ServerId(name, source), Command(("run", name))) for name in names)
    return Report(source, tuple(servers), problems)


def picture(*events: Event, before: Snapshot | None = None) -> Snapshot:
    snapshot = before or Snapshot()
    for event in events:
        snapshot = fold(snapshot, event)
    return snapshot


def aliases(snapshot: Snapshot) -> dict[str, str]:
    return {str(id_): entry.alias for id_, entry in snapshot.entries.items()}


def restarted(snapshot: Snapshot, *events: Event) -> Snapshot:
    """The picture of the next hub, which remembers who owned what."""
    return picture(Remembered(snapshot.owners), *events)


@pytest.mark.parametrize("first", SOURCES)
@pytest.mark.parametrize("second", SOURCES)
def test_a_newcomer_from_another_source_says_where_it_is_from(first: str, second: str) -> None:
    if first == second:
        return
    after = picture(report(first, "acme"), report(second, "acme"))

    assert aliases(after) == {f"acme@{first}": "acme", f"acme@{second}": f"acme-{second}"}


def test_an_alias_taken_by_chance_is_avoided() -> None:
    after = aliases(picture(report("configured", "acme-apps", "acme", ""), report("apps", "acme")))

    assert after["acme-apps@configured"] == "acme-apps"
    assert after["@configured"] == "server"
    assert after["acme@apps"].startswith("acme-apps_")


def test_after_a_restart_it_does_not_matter_who_reports_first() -> None:
    catalog, configured = report("catalog", "acme"), report("configured", "acme")
    before = picture(catalog, configured)

    assert aliases(before)["acme@catalog"] == "acme"
    assert aliases(restarted(before, catalog, configured)) == aliases(before)
    assert aliases(restarted(before, configured, catalog)) == aliases(before)


def test_a_server_that_is_found_again_has_its_name_again() -> None:
    before = picture(report("announced", "acme"), report("announced"), report("apps", "acme"))

    assert aliases(before) == {"acme@apps": "acme-apps"}
    again = picture(report("announced", "acme"), before=before)
    assert aliases(again) == {"acme@announced": "acme", "acme@apps": "acme-apps"}


def test_a_server_that_the_user_adds_may_have_the_name_of_one_that_is_gone() -> None:
    before = picture(report("catalog", "acme"), report("catalog"), report("configured"))
    after = picture(report("configured", "acme"), before=before)

    assert aliases(after) == {"acme@configured": "acme"}
    assert aliases(picture(report("catalog", "acme"), before=after)) == {
        "acme@configured": "acme",
        "acme@catalog": "acme-catalog",
    }


def test_a_server_that_is_removed_and_added_again_is_called_by_its_own_name_if_it_can_be() -> None:
    both = picture(report("configured"), report("catalog", "acme"), report("configured", "acme"))
    assert aliases(both)["acme@configured"] == "acme-configured"

    once = picture(report("configured"), report("configured", "acme"), before=both)
    assert aliases(once)["acme@configured"] == "acme-configured"

    alone = picture(report("configured"), report("catalog"), before=both)
    assert aliases(picture(report("configured", "acme"), before=alone)) == {
        "acme@configured": "acme"
    }


@pytest.mark.parametrize(
    "silent",
    [
        (),
        (SourceFailed("catalog", TROUBLE),),
        (report("catalog", problems=(TROUBLE,)),),
    ],
    ids=["not asked yet", "failed", "unreadable"],
)
def test_what_cannot_be_read_is_not_gone(silent: tuple[Event, ...]) -> None:
    before = picture(report("catalog", "acme"))
    after = restarted(before, *silent, report("configured"), report("configured", "acme"))

    assert aliases(after)["acme@configured"] == "acme-configured"
    assert aliases(picture(report("catalog", "acme"), before=after))["acme@catalog"] == "acme"


def test_the_example_keeps_no_name_from_a_server_of_the_user() -> None:
    after = picture(report("bundled", "example"), report("configured", "example"))

    assert aliases(after)["example@configured"] == "example"
    assert aliases(picture(report("bundled"), before=after)) == {"example@configured": "example"}


def test_what_another_hub_wrote_down_first_counts_at_once() -> None:
    after = picture(report("configured", "acme"), Remembered(Owners(_other_hub())))

    assert aliases(after) == {"acme@configured": "acme-configured"}


def _other_hub() -> dict[str, str]:
    return dict(picture(report("catalog", "acme")).owners.claims)


def test_the_name_a_server_would_get_is_the_name_it_gets() -> None:
    before = picture(report("catalog", "acme"), report("configured"))
    new = ServerId("acme", "configured")

    assert alias_beside(before, new) == "acme-configured"
    after = picture(report("configured", "acme"), before=before)
    assert alias_beside(after, new) == aliases(after)[str(new)] == "acme-configured"


def test_names_of_servers_that_are_gone_are_forgotten_oldest_first() -> None:
    owners = NO_OWNERS
    for batch in range(0, NAMES + 200, 100):
        fresh = {f"s{n}@announced": f"s{n}" for n in range(batch, batch + 100)}
        owners = owners.name(fresh, fresh)

    assert len(owners.claims) <= NAMES + 100
    assert not owners.named("s0")
    assert owners.named(f"s{NAMES}") == f"s{NAMES}@announced"


@examples(200)
@given(st.lists(REPORTS, max_size=8))
def test_no_server_that_stays_is_ever_renamed(reports: list[tuple[str, set[str]]]) -> None:
    snapshot = Snapshot()
    for source, names in reports:
        before = aliases(snapshot)
        snapshot = fold(snapshot, report(source, *sorted(names)))
        after = aliases(snapshot)
        assert len(set(after.values())) == len(after)
        assert {server: after[server] for server in before.keys() & after.keys()} == {
            server: before[server] for server in before.keys() & after.keys()
        }


@examples(200)
@given(st.lists(REPORTS, max_size=8), st.permutations(SOURCES))
def test_a_restart_renames_nobody(reports: list[tuple[str, set[str]]], order: list[str]) -> None:
    before = picture(*(report(source, *sorted(names)) for source, names in reports))
    again = (before.sources[source].report for source in order if source in before.sources)

    assert aliases(restarted(before, *again)) == aliases(before)
