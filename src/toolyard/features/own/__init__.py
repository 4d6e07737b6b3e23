"""What is a member's own: their calls, and the news that concern them."""

from __future__ import annotations

from typing import Final

from toolyard.feature import Feature
from toolyard.features import history, members

FEATURE: Final = Feature(__name__, operations="operations", uses=(history.FEATURE, members.FEATURE))
