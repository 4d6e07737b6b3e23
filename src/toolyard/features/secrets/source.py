"""The secrets of the user."""

from __future__ import annotations

from collections.abc import Iterable

from toolyard.features.secrets.store import Secrets, open_secrets
from toolyard.records.places import RecordPlaces
from toolyard.settings import Settings
from toolyard.yard import Yard


def parts(yard: Yard) -> Iterable[object]:
    """The secrets; a hub has them already, for its links need them."""
    if Secrets not in yard.parts:
        yield open_secrets(yard.part(Settings), yard.part(RecordPlaces))
