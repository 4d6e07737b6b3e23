"""Servers of the picture in short, and all trouble on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolyard.core.model import Command, Entry, Problem, Snapshot
from toolyard.core.parts import spell
from toolyard.core.problems import ProblemCode
from toolyard.core.roster import asking_of
from toolyard.core.rows import ServerRow, ServerState, held_also, problem_row
from toolyard.features.servers.addresses import address_problems
from toolyard.links.keeper import Keeper

WARNINGS: Final = (ProblemCode.SERVER_LISTS, ProblemCode.NPX_BROKEN)
"""A list that failed, and half a package that is installed again: the server is none the worse."""
NAMED: Final = 10
"""How many tools a sentence names."""


def problems(snapshot: Snapshot) -> Iterator[Problem]:
    """All trouble on the picture: of sources, of declarations, of links, of addresses."""
    for state in snapshot.sources.values():
        if state.problem is not None:
            yield state.problem
        yield from state.report.problems
    for entry in snapshot.entries.values():
        if not entry.server.enabled:
            continue
        own = (_waiting(entry), _restless(entry), _left_out(entry))
        for problem in (entry.server.problem, entry.problem, *own):
            if problem is not None:
                yield problem
    yield from address_problems(snapshot)


def _waiting(entry: Entry) -> Problem | None:
    """What there is to approve, unless it is the server as a whole."""
    if not entry.held.parts or entry.server.problem is not None:
        return None
    what = "tools" if all(kind == "tools" for kind, _ in entry.held.parts) else "parts"
    return Problem(
        ProblemCode.PIN_CHANGED,
        f"{what} of {entry.alias!r} wait for approval: {_named(map(spell, entry.held.parts))}",
        f"look with: toolyard approve {entry.alias} --dry-run; "
        f"then: toolyard approve {entry.alias}",
        subject=str(entry.server.id),
    )


def _restless(entry: Entry) -> Problem | None:
    """What changes so often that approving it once does not help."""
    if not entry.held.restless:
        return None
    names = _named(map(spell, entry.held.restless))
    return Problem(
        ProblemCode.PIN_RESTLESS,
        f"{names} of {entry.alias!r}: the text changes at nearly every start",
        f"if any text will do: toolyard approve {entry.alias} {_first(entry)} --any-text",
        subject=str(entry.server.id),
    )


def _first(entry: Entry) -> str:
    """How the first restless part is named on the command line."""
    kind, key = min(entry.held.restless)
    words = {"tools": "", "instructions": "--instructions"}
    return words[kind] + key if kind in words else f"--{kind.removesuffix('s')} {key}"


def _left_out(entry: Entry) -> Problem | None:
    """The problem of tools that no client could call, if there are some."""
    if not entry.unfit:
        return None
    return Problem(
        ProblemCode.TOOL_SHAPE,
        f"tools of {entry.alias!r} are left out, for their inputSchema is not of type object: "
        + _named(entry.unfit),
        "their author has to correct them; all other tools work",
        subject=str(entry.server.id),
    )


def _named(words: Iterable[str]) -> str:
    names = sorted(words)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def state_of(entry: Entry) -> ServerState:
    """Return the one word for a server: a person's part comes before what its link says."""
    trouble = entry.server.problem or entry.problem
    if not entry.server.enabled:
        return ServerState.DISABLED
    if entry.held.parts or (trouble is not None and _is_for_you(trouble)):
        return ServerState.WAITING
    if trouble is not None and trouble.code not in WARNINGS:
        return ServerState.FAILING
    return ServerState(entry.status.value)


def _is_for_you(problem: Problem) -> bool:
    return problem.code == ProblemCode.AUTH_NEEDED or problem.code.startswith("pin-")


def server_row(snapshot: Snapshot, entry: Entry, keeper: Keeper | None) -> ServerRow:
    """Return a server of the picture in short; `keeper` is that of its link, if it has one."""
    server, peer = entry.server, entry.peer
    asking = asking_of(snapshot.roster, server)
    problem = server.problem or entry.problem or _waiting(entry) or _left_out(entry)
    return ServerRow(
        name=server.id.name,
        source=server.id.source,
        alias=entry.alias,
        title=server.title,
        project=server.project,
        enabled=server.enabled,
        state=state_of(entry),
        status=entry.status.value,
        starting_since=keeper.starting_since if keeper else None,
        transport="stdio" if isinstance(server.endpoint, Command) else server.endpoint.kind,
        tools=len(entry.offers.tools),
        prompts=len(entry.offers.prompts),
        resources=len(entry.offers.resources),
        era=peer.era if peer else None,
        protocol=peer.version if peer else None,
        server_version=peer.release if peer else None,
        restarts=keeper.restarts if keeper else 0,
        pid=keeper.link.pid if keeper and keeper.link else 0,
        problem=problem_row(problem) if problem and server.enabled else None,
        held=sorted(entry.held.tools),
        held_also=held_also(entry.held),
        asks=list(asking.consequences) if asking else [],
    )
