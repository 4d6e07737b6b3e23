"""Questions about servers that somebody is about to add."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from toolyard.features.adding.model import Proposal
from toolyard.features.adding.pasted import LONGEST, read_pasted
from toolyard.operation import Needs, OpenObject, operation
from toolyard.yard import Yard


class PastedText(Struct, frozen=True, forbid_unknown_fields=True):
    """A text that describes servers: JSON, an address, or an install link of VS Code or Cursor."""

    text: Annotated[str, Meta(min_length=1, max_length=LONGEST)]


class NeededValue(Struct, frozen=True):
    """A value that the entry refers to as `${keyring:NAME}`; set that secret, or put it in."""

    name: str
    title: str
    secret: bool
    """False if it may stand in the entry in place of its reference."""
    default: str = ""


class ProposedServer(Struct, frozen=True):
    """A server as it would be added; nothing has been written."""

    name: str
    entry: OpenObject
    needs: list[NeededValue]
    left_out: list[str]
    """Keys of the text that mean nothing here."""


class ProposedServers(Struct, frozen=True):
    """All servers of a text."""

    servers: list[ProposedServer]


@operation("POST", "/api/v1/servers/read", needs=Needs.FILES, tag="servers")
async def read_servers_text(yard: Yard, order: PastedText) -> ProposedServers:
    """Read servers from JSON, an address or an install link."""
    return ProposedServers([_row(proposal) for proposal in read_pasted(order.text)])


def _row(proposal: Proposal) -> ProposedServer:
    references = {wanted.key: (f"${{keyring:{wanted.secret_name}}}",) for wanted in proposal.wants}
    needs = [
        NeededValue(wanted.secret_name, wanted.title, wanted.is_secret, ",".join(wanted.default))
        for wanted in proposal.wants
    ]
    return ProposedServer(
        proposal.name, proposal.filled(references), needs, list(proposal.left_out)
    )
