"""The parts that a hub has and that are opened here where none runs: agents and approvals."""

from __future__ import annotations

from collections.abc import Iterable

from toolyard.features.agents.resolutions import ARRIVED, Reach, Resolutions
from toolyard.features.agents.store import open_agents
from toolyard.features.approvals.judging import Approvals, Rules
from toolyard.features.approvals.store import open_approvals
from toolyard.features.sharing.store import open_sharing
from toolyard.records.places import RecordPlaces
from toolyard.records.state import open_state
from toolyard.settings import Settings
from toolyard.yard import Yard


def parts(yard: Yard) -> Iterable[object]:
    """The records of agents, their plans, and the approvals; a hub has them already."""
    if yard.is_live:
        return
    settings, places = yard.part(Settings), yard.part(RecordPlaces)
    state = open_state(settings.state_dir)
    yield state
    yield open_agents(places, state.database, open_sharing(places, state.database))
    yield Resolutions(yard.board, ReachedEverywhere())
    found = settings.pins_found == "on"
    trusts_first = state.is_whole or places.shared is not None
    rules = Rules(settings.pins_new, found, settings.pins_launch, trusts_first)
    yield Approvals(open_approvals(places, state.database), rules)


class ReachedEverywhere:
    """The way back to a hub that does not run yet: it will be reached."""

    async def prepare(self, name: str) -> None:
        """Find nothing out."""

    def reach_of(self, name: str) -> Reach:
        """Return the address that stands for any."""
        return ARRIVED
