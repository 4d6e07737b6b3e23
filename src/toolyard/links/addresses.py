"""Which addresses a server may send us to: it names them, and we would go there with secrets."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from typing import Final
from urllib.parse import urlsplit

from toolyard.core.errors import LinkError

LONGEST: Final = 8192
# What an address may hold: nothing that a shell, a terminal or a browser reads otherwise.
_ADDRESS: Final = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
_HOST: Final = re.compile(r"[a-z0-9][a-z0-9._-]*|[0-9a-f:.]+")
_HOLDING: Final = tuple(
    ipaddress.IPv6Network(network)
    for network in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")
)
"""Networks whose addresses end with one of IPv4: compatible, mapped, translated, NAT64."""
_TRANSLATED: Final = ipaddress.ip_network("64:ff9b:1::/48")

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_link(url: str) -> str:
    """Give an address back if a browser may be sent there.

    Raises:
        LinkError: It is not http or https, holds what an address cannot, or is plain http to
            another machine.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    sound = len(url) <= LONGEST and _ADDRESS.fullmatch(url) and _HOST.fullmatch(host or "")
    if not host or not sound or parts.scheme not in ("http", "https"):
        raise LinkError("the login page has no address that can be opened", "do not log in there")
    if "@" in parts.netloc or (parts.scheme == "http" and not is_loopback_name(host)):
        raise LinkError(f"the login page at {host!r} is not protected", "do not log in there")
    return url


def is_loopback_name(host: str) -> bool:
    """Return whether a host is this machine by its name alone."""
    try:
        return is_loopback(host)
    except ValueError:
        return host == "localhost"


def is_loopback(address: str) -> bool:
    """Return whether an address is this machine, however it is spelled."""
    ip = _parse(address)
    return ip.is_loopback or _inner(ip).is_loopback


def is_public(address: str) -> bool:
    """True if an address is one of the open network, also behind what translates addresses."""
    ip = _inner(_parse(address))
    if isinstance(ip, ipaddress.IPv6Address) and (ip.is_site_local or ip in _TRANSLATED):
        return False
    return ip.is_global and not ip.is_multicast


def _parse(address: str) -> Ip:
    return ipaddress.ip_address(address.partition("%")[0])


def _inner(ip: Ip) -> Ip:
    """The address of IPv4 inside of one of IPv6, or the address itself."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if any(ip in network for network in _HOLDING):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.sixtofour or (ip.teredo[1] if ip.teredo else ip)


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, those of IPv4 first.

    Raises:
        LinkError: It has none.
    """
    loop = asyncio.get_running_loop()
    try:
        infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise LinkError(f"{host!r} is not known", "check the address of the server") from error
    ordered = sorted(infos, key=lambda info: info[0] != socket.AF_INET)
    return list(dict.fromkeys(str(info[4][0]) for info in ordered))


class Reach:
    """The reach of one login: wherever its server is, and else the open network over https."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._origin = (parts.scheme, parts.hostname, parts.port)
        self._local: bool | None = None

    async def addresses(self, scheme: str, host: str, port: int | None) -> list[str]:
        """The addresses to connect to; nothing else may be asked for them again.

        Raises:
            LinkError: The login must not go there.
        """
        if self._local is None:
            own = await resolve(self._origin[1] or "", self._origin[2] or 0)
            self._local = not all(map(is_public, own))
        addresses = await resolve(host, port or (443 if scheme == "https" else 80))
        if not self._local and not all(map(is_public, addresses)):
            raise LinkError(
                f"the login leads to {host!r}, which is not on the open network",
                "do not log in there",
            )
        own_place = (scheme, host, port) == self._origin
        loopback = scheme == "http" and all(map(is_loopback, addresses))
        if scheme != "https" and not own_place and not loopback:
            raise LinkError(f"the login leads to {host!r} without https", "do not log in there")
        return addresses
