"""Decides who may speak at an HTTP door, before anything of the body is read.

Loopback is no boundary: any page in a browser can send requests to it. So Host
and Origin must be ours, and whoever acts must know the token.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from typing import Final

Pairs = list[tuple[bytes, bytes]]
Refusal = tuple[int, str]

NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
OPEN_PATHS: Final = frozenset({"/health/live", "/open", "/style.css"})
"""What answers without a token: says that it lives, takes a code, gives a style sheet."""
PAGE_PATHS: Final = frozenset({"/"})
"""What a browser may see with its cookie; the cookie opens nothing else."""


class Gate:
    """The checks every request passes."""

    def __init__(
        self,
        port: int,
        token: str,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        has_cookie: Callable[[Pairs], bool] = lambda _headers: False,
    ) -> None:
        self._bearer = f"Bearer {token}".encode()
        self._has_cookie = has_cookie
        own = [f"{name}:{port}" for name in NAMES]
        self._hosts = frozenset(host.lower().encode() for host in (*own, *hosts))
        self._origins = frozenset(
            o.encode() for o in (*(f"http://{host}" for host in own), *origins)
        )

    def refusal(self, method: str, path: str, headers: Pairs) -> Refusal | None:
        """Why a request is refused: status and sentence; None if it may pass."""
        host = bearer = b""
        hosts = 0
        foreign = False
        for name, value in headers:
            if name == b"host":
                host = value.lower()
                hosts += 1
            elif name == b"authorization":
                bearer = value
            elif name == b"origin":
                foreign = foreign or value not in self._origins
        if hosts != 1 or host not in self._hosts:
            return (
                421,
                "this address is not one of the hub's; use the one that toolyard status shows",
            )
        if foreign:
            return 403, "requests from this origin are not allowed"
        if hmac.compare_digest(bearer, self._bearer) or path in OPEN_PATHS:
            return None
        if path in PAGE_PATHS and method == "GET" and self._has_cookie(headers):
            return None
        return 401, "a valid token is needed: Authorization: Bearer <token>"
