"""The secrets of the user, and of members."""

from __future__ import annotations

from collections.abc import Iterable

from toolyard.features.secrets.store import Secrets, open_secrets
from toolyard.records.places import RecordPlaces
from toolyard.records.secrets.member_secrets import MemberSecrets, open_member_secrets
from toolyard.settings import Settings
from toolyard.yard import Yard


def parts(yard: Yard) -> Iterable[object]:
    """The secrets; a hub has them already, for its links need them."""
    if Secrets not in yard.parts:
        yield open_secrets(yard.part(Settings), yard.part(RecordPlaces))
    if MemberSecrets not in yard.parts:
        settings = yard.part(Settings)
        yield open_member_secrets(yard.part(RecordPlaces), settings.state_dir, settings.key)
