"""Words between two replicas about a link that one has and the other uses.

A loan is a stream that begins with `Loan` and ends when either side gives the link up. Messages of
the borrower are sent one by one, as JSON-RPC, under the numbers of its own link.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

from toolyard.core.errors import BusyError, LinkError, ToolyardError
from toolyard.core.model import Peer, ServerId
from toolyard.wire import jsonrpc
from toolyard.wire.era import Era

LEND: Final = "/lend"
LENT: Final = "/lent"
GRANTED: Final = "toolyard/granted"
RETURNED: Final = "toolyard/returned"
FAILED: Final = "toolyard/failed"
_OWN: Final = b'{"jsonrpc":"2.0","method":"toolyard/'


class LoanOrder(msgspec.Struct, array_like=True, frozen=True):
    """The link that a replica wants to use."""

    name: str
    source: str
    launch: str
    """Stands for how it believes the server to be started."""
    apart: str = ""
    """The way in which it runs otherwise than the server of the picture, if it does."""
    owner: str = ""
    """The session that it is for alone, if it is."""
    is_first: bool = False
    """True if nobody runs it, and the replica that wants to use it must not."""

    @property
    def server(self) -> ServerId:
        """The server that it is about."""
        return ServerId(self.name, self.source)


class LentMessage(msgspec.Struct, array_like=True, frozen=True):
    """A message for a server, from the replica that borrowed its link."""

    loan: int
    message: bytes
    client: int | None = None
    """Tells clients of that replica apart, as `Requester.client` does; None for the hub itself."""
    turn: int | None = None
    lane: int | None = None


class Loan(msgspec.Struct, frozen=True):
    """A link that may be used, and the server behind it as it greeted."""

    number: int
    era: Era
    version: str
    name: str
    release: str
    capabilities: Raw
    instructions: str
    where: str

    @property
    def peer(self) -> Peer:
        """The server."""
        return Peer(
            self.era,
            self.version,
            self.name,
            self.release,
            bytes(self.capabilities),
            self.instructions,
        )


class LoanEnd(msgspec.Struct, frozen=True):
    """The end of a loan."""

    why: str
    is_lost: bool = False
    """True if the server ended unasked."""


class LentFailure(msgspec.Struct, frozen=True):
    """A call that failed at the lender, in place of an answer."""

    text: str
    hint: str
    retry_after: int = 0

    @property
    def error(self) -> LinkError:
        """The same as an error."""
        if self.retry_after:
            return BusyError(self.text, self.hint, self.retry_after)
        return LinkError(self.text, self.hint)


read_order: Final = msgspec.msgpack.Decoder(LoanOrder).decode
read_lent: Final = msgspec.msgpack.Decoder(LentMessage).decode
read_loan: Final = msgspec.json.Decoder(Loan).decode
read_end: Final = msgspec.json.Decoder(LoanEnd).decode
read_failure: Final = msgspec.json.Decoder(LentFailure).decode


def is_own(message: bytes) -> bool:
    """Tell whether a message is one of these words, and none of a server."""
    return message.startswith(_OWN)


def grant(loan: Loan) -> bytes:
    """The first message of a loan."""
    return jsonrpc.notification(GRANTED, jsonrpc.encode(loan))


def give_back(why: str, *, is_lost: bool) -> bytes:
    """Say that a loan ends."""
    return jsonrpc.notification(RETURNED, jsonrpc.encode(LoanEnd(why, is_lost)))


def fail(error: BaseException) -> bytes:
    """Say that a call failed here."""
    hint = error.hint if isinstance(error, ToolyardError) else ""
    wait = error.retry_after if isinstance(error, BusyError) else 0
    return jsonrpc.notification(FAILED, jsonrpc.encode(LentFailure(str(error), hint, wait)))
