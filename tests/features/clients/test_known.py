"""The table of clients agrees with the other tables that speak of them."""

from __future__ import annotations

from toolyard.core.agents import KNOWN_AGENTS
from toolyard.core.known_clients import KNOWN_CLIENTS
from toolyard.features.clients.known import BY_NAME, CLIENTS


def test_every_client_has_the_id_under_which_its_quirks_are_known() -> None:
    assert {client.name for client in CLIENTS} <= {known.name for known in KNOWN_CLIENTS}


def test_every_known_agent_is_a_client_of_that_id_and_title() -> None:
    assert {id_: BY_NAME[id_].title for id_ in KNOWN_AGENTS} == {
        id_: agent.title for id_, agent in KNOWN_AGENTS.items()
    }
