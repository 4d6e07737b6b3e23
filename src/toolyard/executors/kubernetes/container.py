"""One server as a container: its command, its bounds, what it may touch."""

from __future__ import annotations

import re
from typing import Final

from toolyard.core.errors import StartError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.placement import Run
from toolyard.executors.kubernetes.options import IMAGE_USER, Options, is_user

Manifest = JsonObject
"""An object of Kubernetes, as its API takes and gives it."""

NAME: Final = "server"
"""The name of the container in its pod."""
_SCRATCH = "/tmp"  # noqa: S108 - of the container
_CLAIMS: Final = {
    "pvc": ("persistentVolumeClaim", "claimName"),
    "configmap": ("configMap", "name"),
    "secret": ("secret", "secretName"),
}
_NETWORKS = ("", "none", "host")
_REQUEST_SHARE = 4  # servers are mostly idle: they request a quarter of their limit


def container(run: Run, options: Options, secret: str, mounts: list[Manifest]) -> Manifest:
    """Return a server as a container; its environment comes from the secret, if one is named.

    Raises:
        StartError: The run asks for something that a cluster does not have.
    """
    placement = run.placement
    spec: Manifest = {
        "name": NAME,
        "image": _image(run, options),
        "imagePullPolicy": options.pull,
        "resources": _resources(run, options),
        "securityContext": _security(run, options),
        "volumeMounts": [{"name": "scratch", "mountPath": _SCRATCH}, *mounts],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    # A dollar sign begins a reference; two of them are a plain one.
    program, *rest = [_argument(run, part).replace("$", "$$") for part in run.command.argv] or [""]
    if program:
        spec["command"] = [program, *rest]
    elif rest:  # arguments for the program of the image
        spec["args"] = rest
    if run.command.cwd:
        spec["workingDir"] = run.command.cwd
    if not any(key == "HOME" for key, _ in run.command.env):
        spec["env"] = [{"name": "HOME", "value": _SCRATCH}]
    if secret:
        spec["envFrom"] = [{"secretRef": {"name": secret}}]
    return spec | (_port(placement.port) if placement.port else _STDIO)


_STDIO: Final[Manifest] = {"stdin": True, "stdinOnce": True, "tty": False}


def _port(port: int) -> Manifest:
    probe = {"tcpSocket": {"port": "mcp"}, "periodSeconds": 1, "failureThreshold": 3}
    return {"ports": [{"name": "mcp", "containerPort": port}], "readinessProbe": probe}


def _argument(run: Run, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise StartError(
            f'"{run.name}" has an argument that is no text, which a cluster does not take',
            "write it in UTF-8",
        ) from error
    return text


def _image(run: Run, options: Options) -> str:
    image = run.placement.image or options.image
    if not image:
        raise StartError(
            f'"{run.name}" names no image to run in a cluster',
            "name one for the server, or one for all with the executor's option image",
        )
    return image


def _resources(run: Run, options: Options) -> Manifest:
    memory = run.placement.memory or options.memory
    millis = max(1, round((run.placement.cpus or options.cpus) * 1000))
    return {
        "limits": {"memory": f"{memory}Mi", "cpu": f"{millis}m"},
        "requests": {
            "memory": f"{max(1, memory // _REQUEST_SHARE)}Mi",
            "cpu": f"{max(1, millis // _REQUEST_SHARE)}m",
        },
    }


def _security(run: Run, options: Options) -> Manifest:
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": not run.placement.writable,
        "runAsNonRoot": _user(run, options).partition(":")[0] not in {IMAGE_USER, "0"},
    }


def pod_security(run: Run, options: Options) -> Manifest:
    """Return the security context of a pod: its user, and its system calls."""
    security: Manifest = {"seccompProfile": {"type": "RuntimeDefault"}}
    user = _user(run, options)
    if user != IMAGE_USER:
        number, _, group = user.partition(":")
        security["runAsUser"] = int(number)
        # Writable volumes belong to the group of the server.
        security |= {"runAsGroup": int(group), "fsGroup": int(group)} if group else {}
    return security


def _user(run: Run, options: Options) -> str:
    user = run.placement.user or options.user
    if user != IMAGE_USER and not is_user(user):
        raise StartError(
            f'"{run.name}" cannot run as "{user}" in a cluster',
            'name the user by number, as in "1000" or "1000:1000", or say "image"',
        )
    return user


def volumes(run: Run) -> tuple[list[Manifest], list[Manifest]]:
    """Return the mounts of a server, and the volumes they come from.

    Raises:
        StartError: A mount or the network is malformed.
    """
    if run.placement.network not in _NETWORKS:
        raise StartError(
            f'there is no network "{run.placement.network}" in a cluster, for "{run.name}"',
            'say "none", "host", or nothing for that of the cluster',
        )
    mounts: list[Manifest] = []
    sources: list[Manifest] = [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}]
    for number, text in enumerate(run.placement.mounts):
        mount, source = _mount(run, f"mount-{number}", text)
        mounts.append(mount)
        sources.append(source)
    return mounts, sources


def _mount(run: Run, name: str, text: str) -> tuple[Manifest, Manifest]:
    match = re.fullmatch(r"([^:]+):(/[^:]*)(:ro|:rw)?", text)
    if match is None:
        raise StartError(
            f'"{run.name}" has a mount that cannot be understood: "{text}"',
            'write "/there:/inside", "pvc/NAME:/inside", "configmap/NAME:/inside" or '
            '"secret/NAME:/inside", with ":rw" at the end to let it write',
        )
    origin, inside, mode = match.groups()
    mount = {"name": name, "mountPath": inside, "readOnly": mode != ":rw"}
    kind, _, volume = origin.partition("/")
    if kind in _CLAIMS and volume:
        field, key = _CLAIMS[kind]
        return mount, {"name": name, field: {key: volume}}
    return mount, {"name": name, "hostPath": {"path": origin}}
