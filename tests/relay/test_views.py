"""Views are made when somebody looks, kept while the picture is the same, and bounded."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from toolyard.board import Board
from toolyard.core.errors import UnknownNameError
from toolyard.core.model import Command, Offer, Offers, Report, Server, ServerId
from toolyard.core.plans import Resolution
from toolyard.relay.offers import OwnOffers
from toolyard.relay.view_key import ViewKey
from toolyard.relay.views import Views

USUAL = ViewKey()


def nothing(agent: str, executor: str) -> Resolution:
    return Resolution(agent, executor, "", True)


def of_app(app: str) -> OwnOffers:
    return {"tools": (Offer(f"{app}_status", b"{}"),)}


def make(board: Board, used: set[ViewKey | None] | None = None) -> Views:
    own = {"tools": (Offer("toolyard_status", b"{}"),)}
    return Views(board, USUAL, nothing, own, of_app, lambda: used or set())


def declare(board: Board, *names: str) -> None:
    offers = Offers(tools=(Offer("echo", b'{"name":"echo"}'),))
    ids = [ServerId(name, "configured") for name in names]
    servers = tuple(Server(id_, Command(("x",)), offers=offers) for id_ in ids)
    board.post(Report("configured", servers))


async def test_one_picture_is_looked_at_through_one_view() -> None:
    board = Board()
    views = make(board)
    declare(board, "one")

    assert views.look() is views.look() is views.look(USUAL)
    assert list(views.look().tools) == ["toolyard_status", "one__echo"]


async def test_a_new_picture_is_seen_at_once() -> None:
    board = Board()
    views = make(board)
    before = views.look()
    declare(board, "one")

    assert "one__echo" not in before.tools
    assert "one__echo" in views.look().tools


async def test_a_view_of_one_app_has_the_tools_of_its_own_hub() -> None:
    views = make(Board())

    assert list(views.look(replace(USUAL, app="yardstick")).tools) == ["yardstick_status"]


async def test_a_profile_that_does_not_exist_has_no_view() -> None:
    with pytest.raises(UnknownNameError):
        make(Board()).look(replace(USUAL, profile="nobody"))


async def test_the_clients_of_a_view_share_the_servers_that_it_shows() -> None:
    board = Board()
    views = make(board)
    declare(board, "one", "two")
    alone = replace(USUAL, server="one", separator="")

    assert views.shares(None, ServerId("two", "configured"))
    assert views.shares(alone, ServerId("one", "configured"))
    assert not views.shares(alone, ServerId("two", "configured"))
