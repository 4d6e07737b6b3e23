"""The names that files, clients and people give to the three ways of speaking to a server.

    stdio, local                                                         stdio
    http, streamable-http, streamable_http, streamableHttp, remote       http
    sse                                                                  sse

Case, `-` and `_` do not matter. `ws` is understood and refused: nothing here speaks it.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from toolyard.core.errors import ConfigError

Kind = Literal["stdio", "http", "sse"]
TRANSPORTS: Final[tuple[Kind, ...]] = get_args(Kind)
TRANSPORT_KEYS: Final = ("type", "transport")
"""The keys it stands under; the first that says something counts."""
_STREAMABLE: Final = "streamablehttp"
_KINDS: Final[dict[str, Kind]] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    _STREAMABLE: "http",
    "remote": "http",
    "sse": "sse",
}
_WEBSOCKETS: Final = ("ws", "wss", "websocket")


def read_transport(spelled: str) -> Kind:
    """Return the transport that a name stands for, in any spelling.

    Raises:
        ConfigError: There is none of that name, or it is not spoken here.
    """
    name = _plain(spelled)
    if name in _WEBSOCKETS:
        text = f"transport {spelled[:40]!r} is a WebSocket, which is not supported"
        raise ConfigError(text, "use 'http' or 'sse', if the server speaks one of them")
    if name not in _KINDS:
        hint = "use 'stdio', 'http', 'streamable-http' or 'sse'"
        raise ConfigError(f"transport {spelled[:40]!r} is unknown", hint)
    return _KINDS[name]


def is_streamable(spelled: str) -> bool:
    """Return whether a name says streamable HTTP in full, as some agents want to hear it."""
    return _plain(spelled) == _STREAMABLE


def _plain(spelled: str) -> str:
    return spelled.strip().lower().replace("-", "").replace("_", "")
