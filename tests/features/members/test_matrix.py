"""Every role at every operation and every door: let in or turned away as declared, none left out.

A request that announces a body that is too large is refused with 413 once the gate has let its
caller in, and is carried out by nobody. So each operation is tried with each role, orders to stop
the hub among them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tests.control.company import make_token
from tests.doors.doors import TOKEN, Doors
from tests.features.members.team import Person, change_member
from tests.features.members.test_doors import ORDER, OWN, members_kept
from tests.fixtures.signing_issuer import SigningIssuer
from toolyard.core.caller import Role
from toolyard.features import FEATURES

LET_IN: Final = 413
NOT_HERE: Final = 403
UNKNOWN: Final = 401
OPEN: Final = {"/health/live"}
"""The operations that anybody may use."""
DISCOVERY: Final = {"/api/v1/announced"}
"""The operations that a token for discovery is for."""
MCP: Final = ("/mcp", "/mcp/p/echoes", "/mcp/s/one")
OTHERS: Final = ("/mcp/p/two", "/mcp/a/codex", "/mcp/a/codex/e/local", "/mcp/a/codex/s/one")


@dataclass(frozen=True)
class Rights:
    """What a role may do: order, use MCP, use the parts of it that others are admitted to, and
    see to their own things."""

    orders: int
    uses: int
    uses_others: int
    owns: int
    discovers: int | None = None


RIGHTS: Final = {
    "owner": Rights(LET_IN, LET_IN, LET_IN, LET_IN),
    "page": Rights(LET_IN, UNKNOWN, UNKNOWN, LET_IN),
    "keeper": Rights(LET_IN, LET_IN, NOT_HERE, LET_IN),
    "keeper without the scope": Rights(NOT_HERE, LET_IN, NOT_HERE, NOT_HERE),
    "member": Rights(NOT_HERE, LET_IN, NOT_HERE, NOT_HERE),
    "member with the scope of keepers": Rights(NOT_HERE, LET_IN, NOT_HERE, LET_IN),
    "member with the scope of members": Rights(NOT_HERE, LET_IN, NOT_HERE, LET_IN),
    "somebody who is not admitted": Rights(NOT_HERE, NOT_HERE, NOT_HERE, NOT_HERE),
    "agent": Rights(NOT_HERE, LET_IN, LET_IN, NOT_HERE),
    "token for discovery": Rights(NOT_HERE, NOT_HERE, NOT_HERE, NOT_HERE, discovers=LET_IN),
    "stranger": Rights(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
}


def operations() -> list[tuple[str, str, Role]]:
    """Method, path and least role of every operation there is."""
    return [
        (operation.method, re.sub("{[^}]*}", "x", operation.path), operation.role)
        for feature in FEATURES
        for operation in feature.load_operations()
    ]


async def page_key(doors: Doors) -> str:
    """The key of a page, got by its link."""
    link = (await doors.ask("POST", "/api/v1/link")).json()["link"]
    answer = await doors.ask("POST", f"/open?code={link.partition('code=')[2]}")
    key: str = answer.json()["key"]
    return key


async def everybody(doors: Doors, issuer: SigningIssuer) -> dict[str, str]:
    """A token of each role."""
    await Person(doors, issuer, "kim").tools()
    await members_kept(doors)
    await change_member(doors, "kim", role="keeper")
    return {
        "owner": TOKEN,
        "page": await page_key(doors),
        "keeper": Person(doors, issuer, "kim", scope=ORDER).token,
        "keeper without the scope": Person(doors, issuer, "kim").token,
        "member": Person(doors, issuer).token,
        "member with the scope of keepers": Person(doors, issuer, scope=ORDER).token,
        "member with the scope of members": Person(doors, issuer, scope=OWN).token,
        "somebody who is not admitted": Person(doors, issuer, "eve", groups=[], scope=OWN).token,
        "agent": await make_token(doors, "ci"),
        "token for discovery": await make_token(doors, "scout", discovers=True),
        "stranger": "nobody",
    }


async def judged(doors: Doors, method: str, path: str, token: str) -> int:
    """The status by which the gate lets a request in, or does not."""
    head = {"Authorization": f"Bearer {token}", "Content-Length": "999999999"}
    async with doors.connected() as raw:
        await raw.send(doors.request(method, path, headers=head))
        return (await raw.answer(bodiless=method == "HEAD")).status


def declared(role: str, path: str, least: Role) -> int:
    """The status that a role is to have at an operation."""
    rights = RIGHTS[role]
    if path in OPEN:
        return LET_IN
    if path in DISCOVERY and rights.discovers is not None:
        return rights.discovers
    if role == "page" and not path.startswith("/api/v1/"):
        return UNKNOWN
    return rights.owns if least is Role.MEMBER else rights.orders


async def test_every_role_at_every_operation(team: Doors, issuer: SigningIssuer) -> None:
    tokens = await everybody(team, issuer)
    assert tokens.keys() == RIGHTS.keys()
    table = operations()
    assert len(table) > 90 and any(least is Role.MEMBER for _, _, least in table)
    wrong = [
        (role, method, path, status)
        for role, token in tokens.items()
        for method, path, least in table
        if (status := await judged(team, method, path, token)) != declared(role, path, least)
    ]
    assert wrong == []


async def test_every_role_at_the_mcp_door(team: Doors, issuer: SigningIssuer) -> None:
    tokens = await everybody(team, issuer)
    expected = {
        (role, path): rights.uses if path in MCP else rights.uses_others
        for role, rights in RIGHTS.items()
        for path in (*MCP, *OTHERS)
    }
    statuses = {
        (role, path): await judged(team, method, path, tokens[role])
        for role, path in expected
        for method in ("GET", "DELETE", "POST")
    }
    assert statuses == expected


async def test_the_hubs_own_tools_tell_a_member_nothing_of_what_they_do_not_see(
    team: Doors, issuer: SigningIssuer
) -> None:
    own = [tool.key for feature in FEATURES for tool in feature.load_tools()]
    assert "toolyard_status" in own
    rob = Person(team, issuer, "rob", groups=["reviewers"])
    listed = [tool["name"] for tool in (await rob.ask("tools/list"))["result"]["tools"]]
    for name in {*own, *(tool for tool in listed if tool.startswith("toolyard_"))}:
        arguments = {"server": "one", "tool": "echo", "query": "echo"}
        said = await rob.ask("tools/call", {"name": name, "arguments": arguments})
        assert "one__" not in str(said) and "name': 'one'" not in str(said), name
