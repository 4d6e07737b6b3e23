"""Passes between replicas: each is good once, for one receiver and one body, for a short time."""

from __future__ import annotations

import pytest

from toolyard.wire.passes import MOST_USED, SECONDS, PeerPasses
from toolyard.wire.seal import Seal

KEY, OTHER = "fake-key-for-tests-" + "a" * 32, "fake-key-for-tests-" + "b" * 32
BODY = b"a message"


class Clock:
    """A clock that is put forward by hand."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def passes(own: str, clock: Clock, *keys: str) -> PeerPasses:
    return PeerPasses(Seal(keys or [KEY]), own, clock)


def test_a_pass_is_good_once(clock: Clock) -> None:
    made, taker = passes("a", clock).make("b", BODY), passes("b", clock)
    assert taker.open(made) is not None
    assert [taker.use(made, BODY) for _ in range(3)] == [True, False, False]
    assert taker.use(passes("a", clock).make("b", BODY), BODY)


def test_a_pass_is_for_its_receiver_and_its_body(clock: Clock) -> None:
    made = passes("a", clock).make("b", BODY)
    assert passes("c", clock).open(made) is None
    assert not passes("c", clock).use(made, BODY)
    assert not passes("b", clock).use(made, BODY + b"!")


def test_a_pass_of_another_key_is_none_and_one_of_the_key_before_is(clock: Clock) -> None:
    made = passes("a", clock, KEY).make("b", BODY)
    assert not passes("b", clock, OTHER).use(made, BODY)
    assert passes("b", clock, OTHER, KEY).use(made, BODY)
    assert passes("b", clock).open("anything") is None


@pytest.mark.parametrize("seconds", [SECONDS + 1, -SECONDS - 1])
def test_a_pass_is_good_for_a_short_time(clock: Clock, seconds: float) -> None:
    made = passes("a", clock).make("b", BODY)
    clock.now += seconds
    assert not passes("b", clock).use(made, BODY)


@pytest.mark.parametrize("seconds", range(0, int(SECONDS) + 1, 5))
@pytest.mark.parametrize("begun", [0.0, 29.0, 31.0, 59.0])
def test_a_pass_that_was_used_stays_so_until_it_is_too_old(
    clock: Clock, begun: float, seconds: int
) -> None:
    clock.now += begun
    made, taker = passes("a", clock).make("b", BODY), passes("b", clock)
    assert taker.use(made, BODY)
    clock.now += seconds
    assert not taker.use(made, BODY)


def test_what_is_remembered_is_bounded(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolyard.wire.passes.MOST_USED", 3)
    maker, taker = passes("a", clock), passes("b", clock)
    assert [taker.use(maker.make("b", BODY), BODY) for _ in range(5)] == [True] * 3 + [False] * 2
    clock.now += 2 * SECONDS
    assert taker.use(maker.make("b", BODY), BODY)
    assert MOST_USED > 3
