"""Lists are taken whole, page by page, and within bounds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.links.company import Indoors, indoors, tools
from toolyard.core.errors import LinkError
from toolyard.core.model import NO_OFFERS, Offer, Offers
from toolyard.links import listing
from toolyard.links.listing import OverLimitError, list_offers


def server(answers: Any, *capabilities: str) -> Indoors:
    found = indoors(answers if isinstance(answers, dict) else {"tools/list": answers})
    found.link.capabilities = {name: {} for name in capabilities or ("tools",)}
    return found


async def keys(answers: Any, *capabilities: str) -> list[str]:
    offers = await list_offers(server(answers, *capabilities).link, 2, NO_OFFERS)
    return [offer.key for offer in offers.tools]


async def test_pages_are_followed_to_the_last() -> None:
    def page(params: dict) -> dict:
        start = int(params.get("cursor", "0"))
        more = {"nextCursor": str(start + 2)} if start < 8 else {}
        return {**tools(f"t{start}", f"t{start + 1}"), **more}

    assert await keys(page) == [f"t{n}" for n in range(10)]


@pytest.mark.parametrize("cursors", [["a"], ["a", "b"], ["a", "b", "b"]])
async def test_cursors_that_go_round_in_circles_end(cursors: list[str]) -> None:
    asked: list[Any] = []

    def page(params: dict) -> dict:
        asked.append(params.get("cursor"))
        return {**tools(f"t{len(asked)}"), "nextCursor": cursors[len(asked) % len(cursors)]}

    assert len(await keys(page)) == len(asked) <= 5


async def test_cursors_that_never_end_are_followed_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGES", 7)
    asked: list[Any] = []

    def page(params: dict) -> dict:
        asked.append(params)
        return {**tools(f"t{len(asked)}"), "nextCursor": str(len(asked))}

    assert len(await keys(page)) == 7


async def test_an_empty_cursor_is_a_cursor_and_other_things_are_none() -> None:
    def page(params: dict) -> dict:
        return tools("b") if "cursor" in params else {**tools("a"), "nextCursor": ""}

    assert await keys(page) == ["a", "b"]
    odd: Any
    for odd in (None, 5, [], {"a": 1}):
        assert await keys({"tools/list": {**tools("a"), "nextCursor": odd}}) == ["a"]


async def test_more_offers_than_can_be_taken_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "OFFERS", 3)
    with pytest.raises(OverLimitError):
        await keys({"tools/list": tools("a", "b", "c", "d")})


async def test_what_is_no_offer_is_left_out_and_the_rest_kept() -> None:
    odd: list[Any] = [
        {"name": "a"},
        {"name": "a", "second": 1},
        {},
        {"name": 7},
        {"name": ""},
        5,
        "x",
        None,
    ]
    found = server({"tools/list": {"tools": [*odd, {"name": "b"}]}})
    offers = await list_offers(found.link, 2, NO_OFFERS)

    assert [offer.key for offer in offers.tools] == ["a", "b"]
    assert offers.tools[0].raw == b'{"name": "a"}'


async def test_a_description_beyond_bounds_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "OFFER_BYTES", 100)
    big = {"name": "big", "description": "x" * 200}

    assert await keys({"tools/list": {"tools": [big, {"name": "small"}]}}) == ["small"]


@pytest.mark.parametrize("odd", [5, [], "x", {"tools": 5}, {"tools": {"a": 1}}, {"tools": "x"}])
async def test_what_is_no_list_is_a_link_error(odd: Any) -> None:
    with pytest.raises(LinkError):
        await keys({"tools/list": odd})


class Verbatim(Indoors):
    """Answers everything with these bytes."""

    def __init__(self, answer: bytes) -> None:
        super().__init__(server({}).link)
        self.answer = answer

    def send(self, message: bytes, pending: Any, head: bytes) -> None:
        self.link.receive(b'{"jsonrpc":"2.0","id":%d,%b}' % (pending.number, self.answer))


@pytest.mark.parametrize("page", [b'{"nextCursor":1e400,"tools":[]}', b'{"nextCursor":"\xff"}'])
async def test_a_cursor_that_cannot_be_read_ends_the_list(page: bytes) -> None:
    link = Verbatim(b'"result":' + page).link

    assert (await list_offers(link, 2, NO_OFFERS)).tools == ()


async def test_only_what_a_server_declares_is_asked_for() -> None:
    found = server({"prompts/list": {"prompts": [{"name": "p"}]}}, "prompts")
    offers = await list_offers(found.link, 2, NO_OFFERS)

    assert [offer.key for offer in offers.prompts] == ["p"]
    assert [heard["method"] for heard in found.heard] == ["prompts/list"]


async def test_a_declared_list_that_is_unknown_is_empty_and_one_refused_is_an_error() -> None:
    answers = {"resources/list": {"resources": [{"uri": "a:b"}]}}
    offers = await list_offers(server(answers, "resources").link, 2, NO_OFFERS)
    assert [offer.key for offer in offers.resources] == ["a:b"]
    assert offers.templates == ()

    broken = b'"error":{"code":-32603,"message":"broken"}'
    with pytest.raises(LinkError, match="broken"):
        await list_offers(Verbatim(broken).link, 2, NO_OFFERS)


async def test_kinds_that_were_not_asked_for_stay_as_they_were() -> None:
    before = Offers(prompts=(Offer("old", b"{}"),), tools=(Offer("gone", b"{}"),))
    found = server({"tools/list": tools("new")}, "tools", "prompts")
    after = await list_offers(found.link, 2, before, ("tools",))

    assert after.prompts == before.prompts
    assert [offer.key for offer in after.tools] == ["new"]
