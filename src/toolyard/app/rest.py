"""Builds the control API and the page; loaded when somebody first comes to one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolyard.app.house import House
from toolyard.doors.page.browser_ties import BrowserTies
from toolyard.doors.page.page_sessions import PageSessions
from toolyard.doors.page.web import Pages
from toolyard.doors.rest.app import make_app
from toolyard.doors.rest.open_routes import open_routes
from toolyard.doors.rest.well_known import well_known_routes
from toolyard.features.auth.link_pages import MemberLinkPages
from toolyard.features.members.source import find_identity

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from toolyard.features.members.page_login import PageLogins


def make_rest(house: House, sessions: PageSessions, logins: PageLogins | None) -> ASGIApp:
    """The application of all doors but MCP's."""
    has_callbacks = house.callbacks is not None or logins is not None
    bring = house.member_callbacks.bring if has_callbacks else None
    identity = find_identity(house.yard)
    login = [] if identity is None else well_known_routes(identity)
    links = None
    if logins is not None:
        links = MemberLinkPages(house.member_links, house.logins, house.member_secrets, logins)
    page = Pages(sessions, bring, links, logins, BrowserTies(house.public))
    operations = [op for feature in house.features for op in feature.load_operations()]
    pages = [*login, *open_routes(house.pages), *page.routes()]
    return make_app(operations, house.yard, pages)
