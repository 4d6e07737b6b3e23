"""The logins of the user."""

from __future__ import annotations

from collections.abc import Iterable

from toolyard.features.auth.logins import Logins
from toolyard.features.auth.store import Grants
from toolyard.settings import Settings
from toolyard.yard import Yard


def parts(yard: Yard) -> Iterable[object]:
    """The grants and the logins; a hub has the grants already, for its links need them."""
    grants = yard.part(Grants) if Grants in yard.parts else Grants(yard.part(Settings).state_dir)
    if Grants not in yard.parts:
        yield grants
    if Logins not in yard.parts:
        yield Logins(yard.board, grants)
