"""The address of the HTTP doors: the one that others reach them by, and what is wrong with it."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.links.addresses import is_loopback_name
from toolyard.settings import DEFAULT_PORTS, Settings

LOOPBACK: Final = "127.0.0.1"
EVERYWHERE: Final = {"0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104 - said by the user
"""The names for every address of this machine, and the one that is always among them."""
_FAR: Final = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses that are nobody's, but lie beyond the next router."""


def local_url(settings: Settings, port: int) -> str:
    """The address of the doors for programs on this machine, which know no certificate of theirs.

    Where the doors are encrypted, they are served on the loopback too, as they are.
    """
    is_encrypted = settings.tls_cert is not None
    host = LOOPBACK if is_encrypted else EVERYWHERE.get(settings.host, settings.host)
    return f"http://{bracketed(host)}:{port}"


def client_url(settings: Settings, port: int) -> str:
    """The address of the doors for clients: the public one, or the one they listen on."""
    host = EVERYWHERE.get(settings.host, settings.host)
    return settings.public or _url_of(settings, host, port)


def open_url(settings: Settings, port: int) -> str:
    """The address of the doors for people, who may sit at another machine."""
    if settings.public or settings.host not in EVERYWHERE:
        return client_url(settings, port)
    outward = outward_address()
    return _url_of(settings, outward, port) if outward else client_url(settings, port)


def _url_of(settings: Settings, host: str, port: int) -> str:
    scheme = "https" if settings.tls_cert is not None else "http"
    return f"{scheme}://{bracketed(host)}:{port}"


def public_hosts(settings: Settings) -> tuple[str, ...]:
    """The values of `Host` with which requests to the public address may come."""
    if not settings.public:
        return ()
    scheme, _, authority = settings.public.partition("://")
    if authority.rpartition(":")[2].isdigit() and not authority.endswith("]"):
        return (authority,)
    return authority, f"{authority}:{DEFAULT_PORTS[scheme]}"


def bracketed(host: str) -> str:
    """A host as it stands before a port."""
    return f"[{host}]" if ":" in host else host


def outward_address() -> str:
    """The address that others most likely reach this machine at; empty without a network."""
    for family, far in _FAR:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((far, 9))  # chooses a route, and sends nothing
            return str(probe.getsockname()[0])
    return ""


def here(transport: asyncio.BaseTransport) -> bytes:
    """The value of `Host` if a client named the very address that its connection arrived at."""
    name = transport.get_extra_info("sockname")
    if not isinstance(name, tuple):
        return b""
    ip = ipaddress.ip_address(str(name[0]).partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ip
    return f"{bracketed(str(ip))}:{name[1]}".encode()


def is_here(host: str) -> bool:
    """Return whether the other end of a connection is this machine, or has no address."""
    return not host or is_loopback_name(host.partition("%")[0])


def problems_of(settings: Settings, port: int) -> Iterator[Problem]:
    """The problems with the address of the doors that a person should know of."""
    url = client_url(settings, port)
    if port != settings.port and not settings.port_fixed:
        yield Problem(
            ProblemCode.PORT_MOVED,
            f"port {settings.port} was in use, so the hub listens on {port}",
            f"clients that were told {settings.port} send their token to whoever listens there: "
            "free that port and run `toolyard restart`, or choose one with --port and connect "
            "them again",
            url,
        )
    if text := _clear_text(settings):
        hint = (
            "give it a certificate with --tls-cert and --tls-key, or put a proxy with TLS in front "
            "and name its address with --public"
        )
        yield Problem(ProblemCode.CLEAR_TEXT, text, hint, url)


def _clear_text(settings: Settings) -> str:
    """Say where tokens travel in clear text; empty if nowhere that others could listen."""
    if settings.public:
        is_plain = settings.public.startswith("http:")
        is_near = is_loopback_name(urlsplit(settings.public).hostname or "")
        text = f"clients use {settings.public}, and tokens and calls travel there unencrypted"
        return text if is_plain and not is_near else ""
    is_far = settings.host in EVERYWHERE or not is_loopback_name(settings.host)
    if settings.tls_cert is not None or not is_far:
        return ""
    where = "all addresses of this machine" if settings.host in EVERYWHERE else settings.host
    return f"the hub listens on {where}, and tokens and calls travel there unencrypted"
