"""Makes the executors that people name."""

from __future__ import annotations

from pathlib import Path

from toolyard.core.errors import ConfigError, StartError
from toolyard.core.ports import Executor
from toolyard.core.replicas import Replica
from toolyard.core.sites import Site


def make_executor(site: Site, replica: Replica, logs: Path) -> Executor:
    """An executor of a site's type; its library is imported here and not before.

    Raises:
        StartError: It cannot be used as configured.
    """
    try:
        if site.type == "docker":
            from toolyard.executors.docker import Docker

            return Docker(site, replica, logs=logs)
        if site.type == "ssh":
            from toolyard.executors.ssh import Ssh

            return Ssh(site, replica, logs=logs)
        if site.type == "kubernetes":
            from toolyard.executors.kubernetes import Kubernetes

            return Kubernetes(site, replica, logs=logs)
    except ConfigError as error:
        raise StartError(f"executor {site.name!r}: {error}", error.hint) from error
    raise StartError(f"executor {site.name!r} is of no type that runs servers", "add it anew")
