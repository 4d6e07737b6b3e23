"""Who gave out an address is remembered for one client, within bounds."""

from __future__ import annotations

from toolyard.core.model import ServerId
from toolyard.core.owners import URI_CHARS
from toolyard.relay.given import IN_ALL, PER_CLIENT, Given

ONE, TWO = ServerId("one", "x"), ServerId("two", "x")


def test_the_first_who_gave_an_address_is_remembered_for_that_client_alone() -> None:
    given = Given()
    assert given.note("ann", "mem://1", ONE)
    assert given.note("ann", "mem://1", ONE)
    assert not given.note("ann", "mem://1", TWO)
    assert given.note("bob", "mem://1", TWO)
    assert (given.server("ann", "mem://1"), given.server("bob", "mem://1")) == (ONE, TWO)
    given.leave("ann")
    assert (given.server("ann", "mem://1"), given.server("bob", "mem://1")) == (None, TWO)


def test_of_too_many_addresses_the_oldest_of_this_client_are_forgotten() -> None:
    given = Given()
    given.note("bob", "mem://0", ONE)
    for number in range(PER_CLIENT):
        given.note("ann", f"mem://{number}", ONE)
    given.note("ann", "mem://0", ONE)
    given.note("ann", "mem://more", ONE)
    assert given.server("ann", "mem://1") is None
    assert given.server("ann", "mem://0") == given.server("ann", "mem://more") == ONE
    assert given.server("bob", "mem://0") == ONE


def test_of_too_many_clients_the_one_that_was_silent_for_longest_is_forgotten() -> None:
    given = Given()
    given.note("ann", "mem://0", ONE)
    given.note("bob", "mem://0", ONE)
    for client in range(IN_ALL // PER_CLIENT):
        given.note("ann", "mem://0", ONE)
        for number in range(PER_CLIENT):
            given.note(str(client), f"mem://{number}", ONE)
    assert given.server("bob", "mem://0") is None
    assert given.server("ann", "mem://0") == ONE


def test_an_address_beyond_measure_is_not_remembered() -> None:
    given = Given()
    assert given.note("ann", "x" * (URI_CHARS + 1), ONE)
    assert given.server("ann", "x" * (URI_CHARS + 1)) is None
