"""The environment of a server: its own variables, and a short allow-list of ours."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from toolyard.core.model import Pairs

_ALLOWED = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TERM "
    "HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS".split()
)
_FAMILIES = ("LC_", "XDG_")


def environment(
    declared: Pairs, marks: Pairs = (), ours: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment of a server: allowed variables of ours, its own, then our marks."""
    env = dict(_allowed((os.environ if ours is None else ours).items()))
    env.setdefault("PATH", os.defpath)
    env.update(declared)
    env.update(marks)
    return env


def _allowed(ours: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    # A value that looks like a shell function can run code in a shell the server starts.
    return ((name, value) for name, value in ours if _passes(name) and not value.startswith("()"))


def _passes(name: str) -> bool:
    return name in _ALLOWED or name.startswith(_FAMILIES)
