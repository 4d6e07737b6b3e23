"""Connections to the API of a cluster that hold little: each server has one, and most are quiet."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any, Final

import aiohttp

from toolyard.executors.tls import Secured

_GREET_SECONDS: Final = 10.0


class Connector(aiohttp.TCPConnector):
    """Opens connections as its parent does, and secures those of web sockets itself.

    The place where the library opens one is not public. Should it move, connections are those of
    the library, which work as well and hold more.
    """

    async def _wrap_create_connection(self, *args: Any, **kwargs: Any) -> Any:
        context = kwargs.get("ssl")
        # A connection to a proxy becomes another one, which only those of the loop can.
        is_ours = "Upgrade" in getattr(kwargs.get("req"), "headers", ())
        if not is_ours or len(args) != 1 or not isinstance(context, ssl.SSLContext):
            return await super()._wrap_create_connection(*args, **kwargs)
        plain = {key: kwargs[key] for key in kwargs if key not in ("ssl", "server_hostname")}
        inner = args[0]()
        secured = _Secured(inner, context, kwargs["server_hostname"])
        try:
            await super()._wrap_create_connection(lambda: secured, **plain)
            async with asyncio.timeout(_GREET_SECONDS):
                await secured.ready
        except BaseException:
            secured.drop()
            raise
        return secured, inner


class _Secured(Secured):
    """As the library wants its transports."""

    def drop(self) -> None:
        """Give up, however far it has come."""
        self.ready.cancel()
        if self._transport is not None:
            self._transport.abort()

    def writelines(self, pieces: Iterable[bytes]) -> None:
        """Queue several pieces."""
        self.write(b"".join(pieces))

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What is known of the plain connection."""
        return self._plain.get_extra_info(name, default)

    def pause_writing(self) -> None:
        """Hand on that the network takes no more for now."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Hand on that it does again."""
        self._inner.resume_writing()
