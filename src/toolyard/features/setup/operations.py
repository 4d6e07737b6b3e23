"""Questions and orders about a setup.

The files of clients are where the environment of their user says, so the command line carries
these out in its own process, also beside a running hub; the hub carries them out for its page.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from toolyard.core.errors import ConflictError
from toolyard.features.setup.model import SetupDone, SetupPlan, SetupUndone
from toolyard.operation import Needs, operation
from toolyard.yard import Yard

if TYPE_CHECKING:
    from toolyard.features.clients.connecting import Connecting
    from toolyard.features.setup.planning import Planned

TOP = "/api/v1/setup"
MOST = 1000
"""Names in a list; nobody's files have as many servers."""
Names = Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=MOST)]


class SetupQuestion(Struct, frozen=True):
    """The files to look into: those of the user, and of a project if one is named."""

    project: Annotated[str, Meta(max_length=4096)] = ""
    """The project's folder, as an absolute path."""


class SetupChoice(SetupQuestion, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The files to look into, and what of them is left as it is."""

    leave_servers: Names = []
    """Servers that stay in the clients' files, by the names of the plan."""
    leave_clients: Names = []
    """Clients whose files are not changed."""


class SetupOrder(SetupChoice, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan to carry out; the rest of the order is what the plan was made with."""

    plan: str
    """The id of the plan; nothing is done if the plan would be another by now."""


class SetupId(Struct, frozen=True):
    """The setup that is meant."""

    id: str


@operation("GET", TOP, needs=Needs.FILES)
async def get_setup_plan(yard: Yard, order: SetupQuestion) -> SetupPlan:
    """All that a setup would do."""
    connecting = _open_connecting(yard)
    return await asyncio.to_thread(_plan, yard, connecting, SetupChoice(project=order.project))


@operation("POST", f"{TOP}/preview", needs=Needs.FILES)
async def preview_setup(yard: Yard, order: SetupChoice) -> SetupPlan:
    """All that a setup of some of the servers and clients would do."""
    connecting = _open_connecting(yard)
    return await asyncio.to_thread(_plan, yard, connecting, order)


@operation("POST", TOP, needs=Needs.FILES, errors=(404, 409, 412, 422))
async def carry_out_setup(yard: Yard, order: SetupOrder) -> SetupDone:
    """Move the servers of all clients into the hub, and connect the clients."""
    connecting = _open_connecting(yard)
    return await asyncio.to_thread(_carry_out, yard, connecting, order)


@operation("POST", f"{TOP}/{{id}}/undo", needs=Needs.FILES, errors=(404, 422))
async def undo_setup(yard: Yard, order: SetupId) -> SetupUndone:
    """Restore the clients' files, and remove what the setup added to the hub."""
    connecting = _open_connecting(yard)
    return await asyncio.to_thread(_undo, yard, connecting, order.id)


# Loaded when they are needed: most hubs never set anything up.


def _open_connecting(yard: Yard) -> Connecting:
    from toolyard.features.clients.opening import open_connecting

    return open_connecting(yard)


def _make_plan(yard: Yard, connecting: Connecting, order: SetupChoice) -> Planned:
    from toolyard.features.clients.places import project_folder
    from toolyard.features.setup.planning import LeftOut, plan_setup

    left = LeftOut(order.leave_servers, order.leave_clients)
    return plan_setup(yard, connecting, project_folder(order.project), left)


def _plan(yard: Yard, connecting: Connecting, order: SetupChoice) -> SetupPlan:
    from toolyard.features.setup.answers import describe_plan

    return describe_plan(_make_plan(yard, connecting, order))


def _carry_out(yard: Yard, connecting: Connecting, order: SetupOrder) -> SetupDone:
    from toolyard.features.setup.answers import describe_plan
    from toolyard.features.setup.work import SetupWork

    planned = _make_plan(yard, connecting, order)
    if describe_plan(planned).id != order.plan:
        raise ConflictError(
            "a file was changed meanwhile, and nothing was done", "look at the plan again"
        )
    return SetupWork(yard, connecting).carry_out(planned)


def _undo(yard: Yard, connecting: Connecting, id_: str) -> SetupUndone:
    from toolyard.features.setup.work import SetupWork

    return SetupWork(yard, connecting).undo(id_)
