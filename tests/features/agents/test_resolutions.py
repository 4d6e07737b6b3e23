"""The plans of agents come from one place, and differ only in how the hub is reached."""

from __future__ import annotations

from dataclasses import replace

from toolyard.board import Board
from toolyard.core.agents import AgentConfig, AgentServer, Policy, Roster
from toolyard.core.model import Command, Report, Server, ServerId
from toolyard.core.sites import Site
from toolyard.features.agents.resolutions import Reach, Resolutions

FILES = Server(ServerId("files", "configured"), Command(("files",)))
LISTED = AgentServer("files", server="files", mode="shared")
ROSTER = Roster(
    configs={"codex": AgentConfig("codex", enabled=True, servers=(LISTED,))},
    sites={"box": Site("box", "ssh")},
    policies={"box": Policy(stdio_proxy=True)},
)


class Desk:
    """A board with one agent's list, and how the hub is reached from everywhere."""

    def __init__(self) -> None:
        self.board = Board()
        self.board.post(Report("configured", (FILES,)))
        self.board.post(Report("agents", roster=ROSTER))
        self.reach: Reach = ("", "")
        self.resolutions = Resolutions(self.board, self)

    async def prepare(self, name: str) -> None:
        """The way is known as it is."""

    def reach_of(self, name: str) -> Reach:
        return self.reach


def test_who_has_come_in_is_given_what_cannot_be_promised_yet() -> None:
    desk = Desk()
    planned, given = (
        desk.resolutions.planned("codex", "box"),
        desk.resolutions.given("codex", "box"),
    )
    assert [refusal.code for refusal in planned.refusals] == ["shared-stdio"]
    assert [plan.name for plan in given.plans] == ["files"]
    assert planned.names == given.names == {"files"}


def test_once_the_hub_is_reached_both_are_alike_but_for_the_address() -> None:
    desk = Desk()
    desk.reach = ("http://10.0.0.1:7000", "")
    (planned,) = desk.resolutions.planned("codex", "box").plans
    (given,) = desk.resolutions.given("codex", "box").plans
    assert planned.endpoint != given.endpoint
    assert replace(planned, endpoint=given.endpoint) == given


def test_it_is_made_once_for_a_picture_and_a_reach_and_anew_for_the_next() -> None:
    desk = Desk()
    first = desk.resolutions.planned("codex", "box")
    assert desk.resolutions.planned("CODEX", "box") is first
    desk.reach = ("http://10.0.0.1:7000", "")
    assert desk.resolutions.planned("codex", "box").plans
    desk.reach = ("", "")
    assert desk.resolutions.planned("codex", "box") is first
    desk.board.post(Report("configured"))
    assert desk.resolutions.planned("codex", "box").refusals[0].code == "unknown-server"
