"""Decides who may speak at an HTTP door, before anything of the body is read.

Loopback is no boundary: any page in a browser can send requests to it. So Host
and Origin must be ours, and whoever acts must know the token.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Any, Final

Headers = Iterable[tuple[bytes, bytes]]
Refusal = tuple[int, str]

NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
OPEN_PATHS: Final = frozenset({"/health/live"})
"""What answers without a token, and says nothing but that it lives."""


class Gate:
    """The checks every request passes."""

    def __init__(
        self, port: int, token: str, hosts: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> None:
        self._bearer = f"Bearer {token}".encode()
        own = [f"{name}:{port}" for name in NAMES]
        self._hosts = frozenset(host.lower().encode() for host in (*own, *hosts))
        self._origins = frozenset(
            o.encode() for o in (*(f"http://{host}" for host in own), *origins)
        )

    def check(self, scope: dict[str, Any]) -> Refusal | None:
        """Why this request is refused: status and sentence; None if it may pass."""
        host = origin = bearer = b""
        hosts = 0
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.strip().lower()
                hosts += 1
            elif name == b"authorization":
                bearer = value.strip()
            elif name == b"origin":
                origin = value.strip()
        if hosts != 1 or host not in self._hosts:
            return (
                421,
                "this address is not one of the hub's; use the one that toolyard status shows",
            )
        if origin and origin not in self._origins:
            return 403, "requests from this origin are not allowed"
        if not hmac.compare_digest(bearer, self._bearer) and scope["path"] not in OPEN_PATHS:
            return 401, "a valid token is needed: Authorization: Bearer <token>"
        return None
