"""Operations: an order travels as a request and comes back as it was."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct
from starlette.types import Message

from toolyard.board import Board
from toolyard.core.caller import CALLER_KEY, Caller, Role
from toolyard.doors.rest.app import make_app
from toolyard.features import FEATURES
from toolyard.operation import (
    Done,
    NoInput,
    Operation,
    Streamed,
    Versioned,
    WrittenOrder,
    operation,
    path_fields,
    read_order,
    write_order,
)
from toolyard.yard import Parts, Yard

Text = st.text(st.characters(codec="utf-8"), min_size=1)


class Book(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A book to lend."""

    shelf: str
    number: int
    days: Annotated[int, Meta(ge=1)] = 14
    renews: bool = False
    notes: list[str] = []


class News(Struct, frozen=True, forbid_unknown_fields=True):
    """The news to hear."""

    shelf: str
    last_event_id: int = -1


@operation("GET", "/shelves/{shelf}/news", headers=("last_event_id",))
async def hear(yard: Yard, order: News) -> Streamed[str]:
    """Hear what happens."""

    async def tell() -> AsyncIterator[bytes]:
        yield b"nothing"

    return Streamed(tell())


class Page(Struct, frozen=True):
    """A page to keep, to the letter."""

    shelf: str
    body: bytes


@operation("PUT", "/shelves/{shelf}/page", shape=Book, raw=True)
async def keep(yard: Yard, order: Page) -> Done:
    """Keep a page."""
    return Done()


@operation("POST", "/shelves/{shelf}/books/{number}", query=("renews",))
async def lend(yard: Yard, order: Book) -> Versioned[Done]:
    """Lend a book.

    Whoever comes first has it.
    """
    return Versioned(Done(), "1")


@operation("GET", "/shelves/{shelf}/books/{number}")
async def look(yard: Yard, order: Book) -> Done:
    """Look for a book."""
    return Done()


def parts(target: str, method: Operation[Any, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The fields of the path and of the query of a request, as a door reads them."""
    url = urlsplit(target)
    words = [unquote(word) for word in url.path.split("/")]
    names = method.path.split("/")
    fields = {n[1:-1]: w for n, w in zip(names, words, strict=True) if n.startswith("{")}
    return fields, dict(parse_qsl(url.query, keep_blank_values=True))


@given(Text, st.integers(0, 2**40), st.integers(1, 90), st.booleans(), st.lists(Text))
def test_an_order_is_read_as_it_was_written(
    shelf: str, number: int, days: int, renews: bool, notes: list[str]
) -> None:
    order = Book(shelf=shelf, number=number, days=days, renews=renews, notes=notes)

    written = write_order(lend, order)

    assert written.body is not None
    target = parts(written.target, lend)
    assert read_order(lend, *target, written.headers, written.body) == order


def test_a_question_has_no_body() -> None:
    order = Book(shelf="a/b", number=7, days=3)

    written = write_order(look, order)

    assert written == WrittenOrder("/shelves/a%2Fb/books/7?days=3", {}, None)
    assert read_order(look, *parts(written.target, look), {}, b"") == order


def test_a_field_may_travel_as_a_header() -> None:
    order = News(shelf="a", last_event_id=7)

    written = write_order(hear, order)

    assert written == WrittenOrder("/shelves/a/news", {"last-event-id": "7"}, None)
    others = {"accept": "*/*", "host": "here"}
    assert read_order(hear, *parts(written.target, hear), others | written.headers, b"") == order
    assert read_order(hear, {"shelf": "a"}, {}, others, b"") == News(shelf="a")


def test_a_body_may_be_taken_as_it_came() -> None:
    order = Page(shelf="a", body=b'{"pages": 1.0}')

    written = write_order(keep, order)

    assert written.body == order.body
    assert read_order(keep, {"shelf": "a"}, {}, {}, written.body) == order


@pytest.mark.parametrize(
    ("query", "body"),
    [({}, b'{"days": 0}'), ({}, b'{"shelf": "b"}'), ({"renews": "perhaps"}, b"{}"), ({}, b'"x"')],
)
def test_what_is_no_order_is_refused(query: dict[str, str], body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        read_order(lend, {"shelf": "a", "number": "1"}, query, {}, body)


def test_an_operation_is_described_by_its_function() -> None:
    assert (lend.summary, lend.answer, lend.order) == ("Lend a book", Done, Book)
    assert lend.split.body is not None
    assert lend.split.body.__struct_fields__ == ("days", "notes")


def test_every_operation_says_what_it_does_and_where() -> None:
    operations = [o for feature in FEATURES for o in feature.load_operations()]
    places = [(o.method, o.path) for o in operations]

    assert operations
    assert len(set(places)) == len(places)
    for each in operations:
        assert each.summary, each.path
        fields = each.order.__struct_fields__
        assert set(path_fields(each.path)) <= set(fields), each.path
        assert each.order is NoInput or fields, each.path


@pytest.mark.parametrize(
    ("path", "role"), [("/api/v1/books", Role.MEMBER), ("/api/v1/my/books", Role.KEEPER)]
)
def test_what_members_run_is_told_by_its_path(path: str, role: Role) -> None:
    with pytest.raises(ValueError, match="members run what is below /api/v1/my/"):
        operation("GET", path, role=role)


@pytest.mark.parametrize(("role", "status"), [(Role.KEEPER, 200), (Role.MEMBER, 403)])
async def test_the_rest_door_lets_no_member_order_whatever_the_gate_let_through(
    role: Role, status: int
) -> None:
    @operation("DELETE", "/api/v1/books")
    async def burn_books(yard: Yard, order: NoInput) -> Done:
        """Burn all books."""
        return Done()

    statuses = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    caller = Caller("ann", member="https://issuer#ann", role=role)
    scope = {"type": "http", "method": "DELETE", "path": "/api/v1/books", "headers": []}
    app = make_app([burn_books], Yard(Board(), Parts()))
    await app({**scope, "query_string": b"", CALLER_KEY: caller}, receive, send)
    assert statuses == [status]
