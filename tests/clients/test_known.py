"""The table of clients agrees with the other tables that speak of them."""

from __future__ import annotations

from toolyard.clients.delivery import CLIENT_OF
from toolyard.clients.known import BY_NAME, CLIENTS
from toolyard.core.agents import KNOWN_AGENTS
from toolyard.core.known_clients import passports


def test_every_client_has_a_passport() -> None:
    names = {each.name for each in passports({})}
    assert {client.passport for client in CLIENTS} <= names


def test_every_known_agent_can_be_handed_its_servers() -> None:
    assert set(CLIENT_OF) == set(KNOWN_AGENTS)
    assert set(CLIENT_OF.values()) <= set(BY_NAME)
