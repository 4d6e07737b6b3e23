"""Manifests of an agent's servers, for those who run agents in pods."""

from __future__ import annotations

from toolyard.core.errors import ConfigError
from toolyard.core.model import Command, Snapshot
from toolyard.core.placement import Run
from toolyard.core.plans import Resolution
from toolyard.core.sites import Site


def render_manifests(snapshot: Snapshot, resolution: Resolution, site: Site, native: bool) -> str:
    """Return the manifests of a run's servers for a cluster.

    Args:
        native: Write sidecars as clusters since 1.29 have them.

    Raises:
        ConfigError: The place is no cluster, or its options cannot be used.
        StartError: A server asks for what a cluster does not have.
    """
    if site.type != "kubernetes":
        raise ConfigError(f"{site.name!r} is no cluster", "name one of type kubernetes")
    from toolyard.executors.kubernetes.sidecars import render

    runs = []
    for plan in resolution.plans:
        entry = snapshot.entries.get(plan.server) if plan.server else None
        if isinstance(plan.process, Command) and entry is not None:
            owner = "session" if plan.mode == "per_session" else ""
            runs.append(Run(plan.name, plan.process, entry.server.placement, owner))
    return render(resolution.agent, runs, site, native=native)
