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


def use(taker: PeerPasses, made: str, body: bytes = BODY) -> bool:
    """Show a pass, as a door has it read and used."""
    opened = taker.open(made)
    return opened is not None and taker.use(opened, body)


def test_a_pass_is_good_once(clock: Clock) -> None:
    made, taker = passes("a", clock).make("b", BODY), passes("b", clock)
    assert taker.open(made) is not None
    assert [use(taker, made) for _ in range(3)] == [True, False, False]
    assert use(taker, passes("a", clock).make("b", BODY))


def test_a_pass_is_for_its_receiver_and_its_body(clock: Clock) -> None:
    made = passes("a", clock).make("b", BODY)
    assert passes("c", clock).open(made) is None
    assert not use(passes("c", clock), made)
    assert not use(passes("b", clock), made, BODY + b"!")


def test_a_pass_of_another_key_is_none_and_one_of_the_key_before_is(clock: Clock) -> None:
    made = passes("a", clock, KEY).make("b", BODY)
    assert not use(passes("b", clock, OTHER), made)
    assert use(passes("b", clock, OTHER, KEY), made)
    assert passes("b", clock).open("anything") is None


@pytest.mark.parametrize("seconds", [SECONDS + 1, -SECONDS - 1])
def test_a_pass_is_good_for_a_short_time(clock: Clock, seconds: float) -> None:
    made = passes("a", clock).make("b", BODY)
    clock.now += seconds
    assert not use(passes("b", clock), made)


def test_a_pass_that_grows_old_while_its_body_comes_is_refused(clock: Clock) -> None:
    """Otherwise it could be used again once it is forgotten that it was."""
    taker = passes("b", clock)
    opened = taker.open(passes("a", clock).make("b", BODY))
    assert opened is not None
    clock.now += SECONDS + 1
    assert not taker.use(opened, BODY)


@pytest.mark.parametrize("seconds", range(0, int(SECONDS) + 1, 5))
@pytest.mark.parametrize("begun", [0.0, 29.0, 31.0, 59.0])
def test_a_pass_that_was_used_stays_so_until_it_is_too_old(
    clock: Clock, begun: float, seconds: int
) -> None:
    clock.now += begun
    made, taker = passes("a", clock).make("b", BODY), passes("b", clock)
    assert use(taker, made)
    clock.now += seconds
    assert not use(taker, made)


def test_what_is_remembered_is_bounded(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolyard.wire.passes.MOST_USED", 3)
    maker, taker = passes("a", clock), passes("b", clock)
    assert [use(taker, maker.make("b", BODY)) for _ in range(5)] == [True] * 3 + [False] * 2
    clock.now += 2 * SECONDS
    assert use(taker, maker.make("b", BODY))
    assert MOST_USED > 3
