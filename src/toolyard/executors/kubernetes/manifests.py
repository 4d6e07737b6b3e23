"""The objects of a run in a cluster, as values: pods, deployments, services and others."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from toolyard.core.errors import StartError
from toolyard.core.placement import Run
from toolyard.executors.kubernetes.container import Manifest, container, pod_security, volumes
from toolyard.executors.kubernetes.options import Options

PREFIX: Final = "toolyard.io"
HUB: Final = f"{PREFIX}/hub"
REPLICA: Final = f"{PREFIX}/replica"
START: Final = f"{PREFIX}/start"
RUN: Final = f"{PREFIX}/run"
SERVER: Final = f"{PREFIX}/server"
OWNER: Final = f"{PREFIX}/owner"
GRACE: Final = 3
"""Seconds between TERM and KILL."""

_SLUG_CHARS = 30
_LABEL_CHARS = 63
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


@dataclass(frozen=True, slots=True)
class Ownership:
    """The owner of objects in a cluster: a hub, its replica, one start of that, the namespace."""

    hub: str
    replica: str
    start: str
    namespace: str
    uid: str = ""
    """The uid of the anchor of this start, which owns all other objects."""

    @property
    def anchor(self) -> str:
        """The name of the anchor."""
        return f"toolyard-{label(self.start).lower()}"[:_LABEL_CHARS].rstrip("-._")


def label(text: str) -> str:
    """Return a text as the value of a label; one that cannot be a value gets a digest."""
    if not text or _LABEL.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    plain = re.sub(r"[^A-Za-z0-9]+", "-", text)[:40].strip("-")
    return f"{plain}-{digest}" if plain else digest


def slug(text: str) -> str:
    """Return a readable part for the name of an object."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:_SLUG_CHARS].strip("-") or "server"


def anchor(ownership: Ownership) -> Manifest:
    """The object that owns all others of a start: the cluster deletes them with it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": ownership.anchor,
            "namespace": ownership.namespace,
            "labels": _without_empty(_names(ownership)),
        },
    }


def pod(run: Run, options: Options, ownership: Ownership, name: str) -> Manifest:
    """One server of one session, or one that speaks on its stdin and stdout."""
    spec = _pod_spec(run, options, name) | {"restartPolicy": "Never"}
    if run.owner and options.ttl:
        spec["activeDeadlineSeconds"] = options.ttl
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(run, ownership, name, _anchored(ownership)),
        "spec": spec,
    }


def deployment(run: Run, options: Options, ownership: Ownership, name: str) -> Manifest:
    """One shared server that speaks HTTP: the cluster keeps it running."""
    template = _metadata(run, ownership, name, [])
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(run, ownership, name, _anchored(ownership)),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 0,
            "selector": {"matchLabels": {RUN: name}},
            "strategy": {"type": "Recreate"},
            "template": {
                "metadata": {key: template[key] for key in ("labels", "annotations")},
                "spec": _pod_spec(run, options, name),
            },
        },
    }


def service(run: Run, ownership: Ownership, name: str, uid: str) -> Manifest:
    """A stable address inside the cluster, owned by the deployment with that uid, if any."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(run, ownership, name, _deployed(name, uid)),
        "spec": {
            "selector": {RUN: name},
            "ports": [{"name": "mcp", "port": run.placement.port, "targetPort": "mcp"}],
        },
    }


def ingress(run: Run, options: Options, ownership: Ownership, name: str, uid: str) -> Manifest:
    """The address from outside, by a host name of its own."""
    backend = {"service": {"name": name, "port": {"number": run.placement.port}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    host = re.sub(r"^https?://", "", ingress_address(run, options)).rstrip("/").split(":")[0]
    spec: Manifest = {"rules": [{"host": host, "http": {"paths": paths}}]}
    if options.ingress_class:
        spec["ingressClassName"] = options.ingress_class
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": _metadata(run, ownership, name, _deployed(name, uid)),
        "spec": spec,
    }


def ingress_address(run: Run, options: Options) -> str:
    """Return the address of a server behind the ingress, without a path."""
    return options.ingress.replace("{server}", slug(run.name)).rstrip("/")


def secret(run: Run, ownership: Ownership, name: str) -> Manifest:
    """The environment of a server, separate from its pod because many may read pods.

    Raises:
        StartError: A variable has a name that is not allowed in a container.
    """
    for key, value in run.command.env:
        if not _VARIABLE.fullmatch(key) or "\0" in value:
            raise StartError(
                f'"{run.name}" cannot have the variable "{key}" in a pod',
                "its name may have letters, digits, dots, dashes and underscores; "
                "its value no zero byte",
            )
    pairs = {key: _encoded(value) for key, value in run.command.env}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _metadata(run, ownership, name, _anchored(ownership)),
        "type": "Opaque",
        "data": pairs,
    }


def isolation(run: Run, ownership: Ownership, name: str) -> Manifest:
    """A policy without any traffic, for clusters whose network enforces policies."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(run, ownership, name, _anchored(ownership)),
        "spec": {
            "podSelector": {"matchLabels": {RUN: name}},
            "policyTypes": ["Ingress", "Egress"],
        },
    }


def rights(namespace: str = "") -> str:
    """Return the least rights the executor needs, as YAML for a namespace."""
    text = (files("toolyard.executors.kubernetes") / "rbac.yaml").read_text(encoding="utf-8")
    return text.replace("namespace: toolyard", f"namespace: {namespace}") if namespace else text


def _pod_spec(run: Run, options: Options, name: str) -> Manifest:
    secret_name = name if run.command.env else ""
    mounts, sources = volumes(run)
    spec: Manifest = {
        "automountServiceAccountToken": False,
        "containers": [container(run, options, secret_name, mounts)],
        "enableServiceLinks": False,
        "securityContext": pod_security(run, options),
        # With another first process than the server, signals have their usual effect on it,
        # and its orphans are reaped.
        "shareProcessNamespace": True,
        "terminationGracePeriodSeconds": GRACE,
        "volumes": sources,
    }
    if run.placement.network == "host":
        spec["hostNetwork"] = True
    if options.service_account:
        spec["serviceAccountName"] = options.service_account
    if options.pull_secret:
        spec["imagePullSecrets"] = [{"name": options.pull_secret}]
    return spec


def _metadata(run: Run, ownership: Ownership, name: str, owners: list[Manifest]) -> Manifest:
    labels = {
        "app.kubernetes.io/managed-by": "toolyard",
        **_names(ownership),
        RUN: name,
        SERVER: label(run.name),
        OWNER: label(run.owner),
    }
    metadata: Manifest = {
        "name": name,
        **_without_empty({"namespace": ownership.namespace}),
        "labels": _without_empty(labels),
        "annotations": _without_empty({SERVER: _printable(run.name), OWNER: _printable(run.owner)}),
    }
    return metadata | ({"ownerReferences": owners} if owners else {})


def _names(ownership: Ownership) -> dict[str, str]:
    names = {HUB: ownership.hub, REPLICA: ownership.replica, START: ownership.start}
    return {key: label(name) for key, name in names.items()}


def _anchored(ownership: Ownership) -> list[Manifest]:
    return [_reference("v1", "ConfigMap", ownership.anchor, ownership.uid)] if ownership.uid else []


def _deployed(name: str, uid: str) -> list[Manifest]:
    return [_reference("apps/v1", "Deployment", name, uid)] if uid else []


def _reference(version: str, kind: str, name: str, uid: str) -> Manifest:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid}


def _without_empty(pairs: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in pairs.items() if value}


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _encoded(value: str) -> str:
    return base64.b64encode(value.encode("utf-8", "surrogateescape")).decode()
