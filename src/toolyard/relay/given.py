"""Which server gave out which address: servers refer to resources that they never list.

Kept for each client apart, in bounded number. It gives nobody access: it only says which of the
servers that a client sees anyway is asked.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from toolyard.core.model import ServerId
from toolyard.core.owners import URI_CHARS

PER_CLIENT: Final = 1000
IN_ALL: Final = 20_000


class Given:
    """Addresses by client; what was used least recently is forgotten first."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, OrderedDict[str, ServerId]] = OrderedDict()
        self._count = 0

    def note(self, client: str, uri: str, server: ServerId) -> bool:
        """Remember that a server gave a client an address; false if another did so before."""
        if len(uri) > URI_CHARS:
            return True
        links = self._clients.setdefault(client, OrderedDict())
        self._clients.move_to_end(client)
        before = len(links)
        first = links.setdefault(uri, server)
        links.move_to_end(uri)
        if len(links) > PER_CLIENT:
            links.popitem(last=False)
        self._count += len(links) - before
        while self._count > IN_ALL:
            _, oldest = self._clients.popitem(last=False)
            self._count -= len(oldest)
        return first == server

    def server(self, client: str, uri: str) -> ServerId | None:
        """The server that gave a client this address, if any did."""
        return self._clients.get(client, OrderedDict()).get(uri)

    def leave(self, client: str) -> None:
        """A client is gone."""
        self._count -= len(self._clients.pop(client, ()))
