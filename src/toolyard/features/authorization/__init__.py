"""Authorization: people log in with the hub itself, and let clients act for them."""

from __future__ import annotations

from typing import Final

from toolyard.feature import Feature
from toolyard.features import members

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    sources="source:sources",
    operations="operations",
    pages="source:pages",
    uses=(members.FEATURE,),
)
