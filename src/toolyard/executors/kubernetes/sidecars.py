"""Writes manifests for servers that run beside an agent in its own pod, as YAML for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolyard.core.errors import ConfigError
from toolyard.core.placement import Run
from toolyard.core.sites import Site
from toolyard.executors.kubernetes import manifests
from toolyard.executors.kubernetes.container import Manifest, container, pod_security, volumes
from toolyard.executors.kubernetes.manifests import Ownership, slug
from toolyard.executors.kubernetes.options import Options, read


def render(agent: str, runs: Sequence[Run], site: Site, *, native: bool = False) -> str:
    """Write manifests: a patch for the agent's pod, and what it shares with others.

    Servers of a session become containers of that pod (`native`: sidecars of clusters since 1.29,
    which start before the agent and end after it); a shared one becomes a deployment with a
    service. Values of the environment are never written, only the secret they come from.

    Raises:
        ConfigError: An option cannot be used, or two servers have the same port.
        StartError: A run asks for something that a cluster does not have.
    """
    options = read(site)
    served = [run for run in runs if run.placement.port]
    notes = [f"# left out: {run.name}, which has no port" for run in runs if run not in served]
    notes += [_secret_note(run, options) for run in served if run.command.env]
    beside = [run for run in served if run.owner]
    _check_ports(beside)
    documents = [_patch(agent, beside, options, native)] if beside else []
    for run in served:
        if not run.owner:
            documents += _shared(run, options)
    return "\n".join([f"# servers of {agent}", *notes, _yaml(documents)])


def _patch(agent: str, runs: Sequence[Run], options: Options, native: bool) -> Manifest:
    sidecars, sources = [], []
    for run in runs:
        sidecar, needed = _sidecar(run, options)
        sidecars.append(sidecar | ({"restartPolicy": "Always"} if native else {}))
        sources += needed
    metadata: Manifest = {"name": slug(agent)}
    if options.namespace:
        metadata["namespace"] = options.namespace
    where = "initContainers" if native else "containers"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {where: sidecars, "volumes": sources},
    }


def _sidecar(run: Run, options: Options) -> tuple[Manifest, list[Manifest]]:
    mounts, sources = volumes(run)
    sidecar = container(run, options, _secret(run), mounts)
    security = pod_security(run, options)
    security.pop("fsGroup", None)  # a setting of the whole pod, which is the agent's
    sidecar["name"] = slug(run.name)
    sidecar["securityContext"] |= security
    # Names of ports and volumes must be unique in the pod.
    sidecar["ports"] = [{"containerPort": run.placement.port}]
    sidecar["readinessProbe"]["tcpSocket"]["port"] = run.placement.port
    for volume in (*sources, *sidecar["volumeMounts"]):
        volume["name"] = f"{slug(run.name)}-{volume['name']}"
    return sidecar, sources


def _shared(run: Run, options: Options) -> list[Manifest]:
    ownership, name = Ownership("", "", "", options.namespace), _name(run)
    return [
        manifests.deployment(run, options, ownership, name),
        manifests.service(run, ownership, name, ""),
    ]


def _name(run: Run) -> str:
    return f"toolyard-{slug(run.name)}"


def _secret(run: Run) -> str:
    return _name(run) if run.command.env else ""


def _secret_note(run: Run, options: Options) -> str:
    space = f" -n {options.namespace}" if options.namespace else ""
    pairs = " ".join(f"--from-literal={key}=..." for key, _ in run.command.env)
    return f"# first: kubectl create secret generic {_name(run)}{space} {pairs}"


def _check_ports(runs: Sequence[Run]) -> None:
    taken: dict[int, str] = {}
    for run in runs:
        port = run.placement.port
        if port in taken:
            raise ConfigError(
                f'"{taken[port]}" and "{run.name}" both want port {port} of one pod',
                "give one of them another port, or share it",
            )
        taken[port] = run.name


def _yaml(documents: list[Manifest]) -> str:
    import yaml  # type: ignore[import-untyped]

    dump: Any = yaml.safe_dump_all
    return str(dump(documents, sort_keys=False, explicit_start=True, allow_unicode=True))
