"""The issuer that the hub trusts: its metadata and its keys, fetched within bounds.

Loaded only where an issuer is set; so is joserfc, which reads the keys.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Callable
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from toolyard.wire.download import TooLargeError, download_json

DOCUMENT_LIMIT: Final = 256 * 1024
"""Bytes of the metadata, and of the keys."""
KEYS: Final = 100
"""Keys that an issuer may have; a list with more is not looked at."""
RSA_BYTES: Final = (256, 1024)
"""The shortest and the longest modulus: below, it can be broken; above, checking takes long."""
EXPONENT_BYTES: Final = 4
ASK_SECONDS: Final = 30.0
"""The issuer is asked again for an unknown key only after this time, whoever comes."""
RENEW_SECONDS: Final = 600.0
"""And after this time in any case: keys that it gave up must not count for ever."""
Key = RSAKey | ECKey | OKPKey
_KINDS: Final[dict[str, type[Key]]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
Download = Callable[[str, int], tuple[int, bytes]]


class IssuerError(Exception):
    """The issuer does not give what it should; the text says what."""


class Metadata(msgspec.Struct, frozen=True):
    """The part of an issuer's metadata that the hub goes by."""

    issuer: str
    jwks_uri: str


class _Keys(msgspec.Struct, frozen=True):
    keys: list[dict[str, Any]]


class TokenIssuer(Protocol):
    """Whoever makes the tokens that let people in, as far as these are verified."""

    url: str
    metadata: bytes
    """Its metadata; empty while they are not known."""
    trouble: str
    """The reason why it could not be asked last; empty if it could."""

    def find(self, kid: str, alg: str) -> Key | None:
        """Return the key of that id, if it is known."""
        ...

    @property
    def may_ask(self) -> bool:
        """True if asking again could bring a key that is not known."""
        ...

    async def ask(self) -> None:
        """Ask for what may be new; see `trouble` then."""
        ...

    def is_ended(self, grant: str) -> bool:
        """Tell whether the login that a token came of was revoked."""
        ...


class Issuer:
    """An OpenID provider, or an OAuth authorization server that signs its tokens."""

    def __init__(
        self, url: str, clock: Callable[[], float], download: Download = download_json
    ) -> None:
        """Trust the issuer of this address.

        Args:
            clock: Goes on evenly, whatever the time of day.
            download: Returns status and body of an address, which may have so many bytes.
        """
        self.url = url
        self.metadata = b""
        """The issuer's metadata as it gave them; empty until it did."""
        self.trouble = ""
        """The reason why the issuer could not be asked last; empty if it could."""
        self._clock = clock
        self._download = download
        self._keys: dict[str, Key] = {}
        self._asked_at = -ASK_SECONDS
        self._asking = asyncio.Lock()

    def find(self, kid: str, alg: str) -> Key | None:
        """Return the key of that id; without an id, the only one there is."""
        key = self._keys.get(kid)
        if not kid and len(self._keys) == 1:
            key = next(iter(self._keys.values()))
        if key is None or key.get("alg") not in (None, alg):
            return None
        return key

    def is_ended(self, grant: str) -> bool:
        """Tell nothing: another issuer's tokens hold until they expire."""
        return False

    @property
    def may_ask(self) -> bool:
        """True if the issuer was not asked for a while."""
        return self._clock() - self._asked_at >= ASK_SECONDS

    async def ask(self) -> None:
        """Ask for metadata and keys, unless that was done a moment ago; see `trouble` then."""
        async with self._asking:
            if self.may_ask:
                self._asked_at = self._clock()
                await self._ask()

    async def _ask(self) -> None:
        try:
            metadata, keys = await asyncio.to_thread(self._fetch)
        except IssuerError as error:
            self.trouble = str(error)
        else:
            self.metadata, self._keys, self.trouble = metadata, keys, ""

    def _fetch(self) -> tuple[bytes, dict[str, Key]]:
        body = self._get_metadata()
        metadata = _decode(body, Metadata, "metadata")
        if metadata.issuer != self.url:
            raise IssuerError(
                f"its metadata is that of {metadata.issuer[:200]!r}; write TOOLYARD_ISSUER so"
            )
        if not is_trusted_address(metadata.jwks_uri):
            raise IssuerError("the address of its keys is not https")
        status, keys = self._get(metadata.jwks_uri)
        if status != 200:
            raise IssuerError(f"it answered with status {status} when asked for its keys")
        return body, read_keys(keys)

    def _get_metadata(self) -> bytes:
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        origin = f"{parts.scheme}://{parts.netloc}"
        places = (
            f"{self.url.rstrip('/')}/.well-known/openid-configuration",
            f"{origin}/.well-known/oauth-authorization-server{path}",
        )
        for place in places:
            status, body = self._get(place)
            if status == 200:
                return body
        raise IssuerError(f"it answered with status {status} when asked for its metadata")

    def _get(self, url: str) -> tuple[int, bytes]:
        try:
            return self._download(url, DOCUMENT_LIMIT)
        except TooLargeError as error:
            text = f"an answer of it has more than {DOCUMENT_LIMIT // 1024} KiB"
            raise IssuerError(text) from error
        except TimeoutError as error:
            raise IssuerError("it did not answer in time") from error
        except OSError as error:
            raise IssuerError(f"it cannot be reached ({error.strerror or error})") from error


def is_trusted_address(url: str) -> bool:
    """Tell whether an address is https, or http on this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    is_near = parts.scheme == "http" and host in ("127.0.0.1", "localhost", "::1")
    return bool(host) and (parts.scheme == "https" or is_near) and url.isascii()


def read_keys(body: bytes) -> dict[str, Key]:
    """Read a set of keys; those that cannot sign tokens for us are left out.

    Raises:
        IssuerError: It is no set of keys, or has too many.
    """
    entries = _decode(body, _Keys, "keys").keys
    if len(entries) > KEYS:
        raise IssuerError(f"it has more than {KEYS} keys")
    keys = ((str(entry.get("kid", "")), _read_key(entry)) for entry in entries)
    usable = {kid: key for kid, key in keys if key is not None}
    if not usable:
        raise IssuerError("it has no key that could sign a token")
    return usable


def _read_key(entry: dict[str, Any]) -> Key | None:
    """Read one key; None if it is secret, weak, costly, or for something else."""
    kind = _KINDS.get(str(entry.get("kty")))
    if kind is None or entry.get("use", "sig") != "sig":
        return None
    if kind is RSAKey and not _is_fit_rsa(entry):
        return None
    public = {name: value for name, value in entry.items() if name not in ("d", "key_ops")}
    try:
        return kind.import_key(public)
    except (JoseError, ValueError, TypeError, KeyError):
        return None


def _is_fit_rsa(entry: dict[str, Any]) -> bool:
    shortest, longest = RSA_BYTES
    try:
        sizes = [len(base64.urlsafe_b64decode(f"{entry[name]}===")) for name in ("n", "e")]
    except (KeyError, binascii.Error, ValueError):
        return False
    return shortest <= sizes[0] <= longest and sizes[1] <= EXPONENT_BYTES


def _decode(body: bytes, kind: type[Any], about: str) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise IssuerError(f"its {about} cannot be read") from error
