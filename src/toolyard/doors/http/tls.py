"""Encrypts the HTTP doors with a certificate and key in files, and takes new ones as they come."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem, Report
from toolyard.core.problems import ProblemCode
from toolyard.records.files import read_bounded
from toolyard.records.follow import Follower
from toolyard.settings import Settings

SOURCE: Final = "tls"
FITTING: Final = "give two PEM files that belong together, the key without a password"


class TlsFiles:
    """The certificate and key of the doors, as they were when they last belonged together."""

    def __init__(self, cert: Path, key: Path) -> None:
        """Read both files.

        Raises:
            ConfigError: They cannot be used.
        """
        self.paths = (cert, key)
        self._tried: tuple[bytes, ...] = ()
        self.context = self._make(self._read())
        """Encrypts the next connection."""

    def renew(self) -> bool:
        """Take the files if they have changed; False if they are as they were.

        Raises:
            ConfigError: They cannot be used; those before stay in use.
        """
        content = self._read()
        if content == self._tried:
            return False
        self.context = self._make(content)
        return True

    def _read(self) -> tuple[bytes, ...]:
        try:
            return tuple(read_bounded(path) for path in self.paths)
        except (FileNotFoundError, StoreError) as error:
            self._tried = ()  # what comes back is news, even if it is as it was
            if isinstance(error, FileNotFoundError):
                raise ConfigError(f"there is no file '{error.filename}'", FITTING) from None
            raise ConfigError(str(error), FITTING) from None

    def _make(self, content: tuple[bytes, ...]) -> ssl.SSLContext:
        """Make a new context: one that has loaded half a pair has lost the pair before."""
        self._tried = content
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.set_alpn_protocols(["http/1.1"])
        cert, key = self.paths
        try:
            # An empty password: a key that needs one is an error, and no question at the terminal.
            context.load_cert_chain(cert, key, password="")
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or "not a certificate and a key in PEM"
            text = f"the certificate '{cert}' and the key '{key}' cannot be used"
            cause = reason.lower().replace("_", " ")
            raise ConfigError(f"{text}: {cause}", FITTING) from None
        return context


def open_tls(settings: Settings) -> TlsFiles | None:
    """Read the certificate and key; None if there are to be none.

    Raises:
        ConfigError: They cannot be used.
    """
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    return TlsFiles(settings.tls_cert, settings.tls_key)


async def renew_tls(tls: TlsFiles, follower: Follower, post: Callable[[Report], None]) -> None:
    """Take the files anew whenever they change, for connections from then on, until cancelled."""
    changes, count = follower.follow(*tls.paths), 0
    while True:
        count = await changes.wait(count)
        try:
            if await asyncio.to_thread(tls.renew):
                post(Report(SOURCE))
        except ConfigError as error:
            text = f"{error}; the certificate before stays in use"
            problem = Problem(ProblemCode.TLS_FILES, text, error.hint, str(tls.paths[0]))
            post(Report(SOURCE, problems=(problem,)))
