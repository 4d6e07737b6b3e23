"""The logins of the user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolyard.core.open_pages import OpenPage, PageAnswer, PageRequest
from toolyard.features.auth.client_document import CLIENT_DOCUMENT
from toolyard.features.auth.logins import Logins
from toolyard.features.auth.store import Grants, open_grants
from toolyard.records.places import RecordPlaces
from toolyard.records.secrets.shared import keyring_lookup
from toolyard.settings import Settings
from toolyard.yard import Yard


def parts(yard: Yard) -> Iterable[object]:
    """The grants and the logins; a hub has the grants already, for its links need them."""
    settings, places = yard.part(Settings), yard.part(RecordPlaces)
    grants = yard.part(Grants) if Grants in yard.parts else open_grants(settings, places)
    if Grants not in yard.parts:
        yield grants
    if Logins not in yard.parts:
        yield Logins(yard.board, grants, keyring_lookup(places, settings.key))


def pages(yard: Yard) -> Sequence[OpenPage]:
    """The document that describes the hub to issuers, if they can fetch it."""
    document = yard.part(Logins).describe_client()
    if not document:
        return ()
    kind = {"content-type": "application/json", "x-content-type-options": "nosniff"}
    answer = PageAnswer(200, document, {**kind, "cache-control": "max-age=300"})

    async def serve(request: PageRequest) -> PageAnswer:
        return answer

    return (OpenPage(CLIENT_DOCUMENT, ("GET",), serve),)
