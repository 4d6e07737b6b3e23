"""The options of a kubernetes executor, and their defaults."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Final, Literal, get_args

from toolyard.core.errors import ConfigError
from toolyard.core.sites import Site

Expose = Literal["", "forward", "service", "ingress"]
Pull = Literal["IfNotPresent", "Always", "Never"]

IMAGE_USER: Final = "image"
"""The value of `user` for the user of the image, which may be root."""
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_USER = re.compile(r"\d{1,10}(:\d{1,10})?")
_USER_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one kubernetes executor."""

    kubeconfig: str = ""
    """The file; empty for `KUBECONFIG`, `~/.kube/config`, or the pod the hub runs in."""
    namespace: str = ""
    """Empty for the namespace of the context."""
    image: str = ""
    """For servers that name none."""
    service_account: str = ""
    pull: Pull = "IfNotPresent"
    pull_secret: str = ""
    ttl: int = 24 * 3600
    """Seconds after which the cluster itself ends the pod of a session; 0 for never."""
    wait: int = 120
    """Seconds a server may take to start: an image may have to be pulled."""
    expose: Expose = ""
    """The way to servers that speak HTTP; empty for `service` in a pod, `forward` elsewhere."""
    ingress: str = ""
    """The address of a server behind the ingress, e.g. `https://{server}.mcp.example.org`."""
    ingress_class: str = ""
    memory: int = 512
    """MiB a server may use."""
    cpus: float = 1.0
    user: str = "65532:65532"
    """The user of servers: a number, two (`user:group`), or `image`."""
    reach: str = ""
    """The address by which pods reach this machine."""


OPTIONS: Final = tuple(option.name for option in fields(Options))


def read(site: Site) -> Options:
    """Read the options of an executor.

    Raises:
        ConfigError: One is unknown, or its value cannot be used.
    """
    types = {option.name: type(option.default) for option in fields(Options)}
    values: dict[str, object] = {}
    for name, text in site.options:
        if name not in types:
            raise ConfigError(
                f'executor "{site.name}" has an unknown option "{name}"',
                f"its options are: {', '.join(OPTIONS)}",
            )
        values[name] = _value(site, name, text, types[name])
    options = Options(**values)  # type: ignore[arg-type]
    _check(site, options)
    return options


def _value(site: Site, name: str, text: str, kind: type) -> object:
    try:
        value = kind(text)
    except ValueError as error:
        raise _wrong(site, name, text, "a number") from error
    if kind is not str and not 0 <= value < _USER_MOST:
        raise _wrong(site, name, text, "a number that is not negative, nor beyond all measure")
    return value


def _check(site: Site, options: Options) -> None:
    if options.pull not in get_args(Pull):
        raise _wrong(site, "pull", options.pull, ", ".join(get_args(Pull)))
    if options.expose not in get_args(Expose):
        raise _wrong(site, "expose", options.expose, "forward, service, ingress")
    if options.namespace and not _LABEL.fullmatch(options.namespace):
        raise _wrong(site, "namespace", options.namespace, "lower-case letters, digits and dashes")
    if options.user != IMAGE_USER and not is_user(options.user):
        raise _wrong(site, "user", options.user, 'a number, two as in "1000:1000", or "image"')
    if options.expose == "ingress" and not _is_ingress(options.ingress):
        example = "https://{server}.mcp.example.org"
        raise _wrong(site, "ingress", options.ingress, f'an address such as "{example}"')
    for name in ("memory", "cpus", "wait"):
        if not getattr(options, name):
            raise _wrong(site, name, "0", "a number above zero")


def is_user(text: str) -> bool:
    """Return True if the text is the number of a user, or of a user and a group."""
    return bool(_USER.fullmatch(text)) and all(int(part) <= _USER_MOST for part in text.split(":"))


def _is_ingress(text: str) -> bool:
    return re.fullmatch(r"https?://[^/]*\{server\}[^/]*/?", text) is not None


def _wrong(site: Site, name: str, value: str, fits: str) -> ConfigError:
    return ConfigError(
        f'executor "{site.name}": option {name} cannot be "{value}"', f"it can be: {fits}"
    )
