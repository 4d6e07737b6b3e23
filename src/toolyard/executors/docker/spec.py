"""The description of a container for the Engine API, made from a run and the defaults."""

from __future__ import annotations

import re
from typing import Final

from toolyard.core.errors import StartError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.placement import Run
from toolyard.executors.docker.host import Defaults

HUB: Final = "toolyard.hub"
REPLICA: Final = "toolyard.replica"
START: Final = "toolyard.start"
SERVER: Final = "toolyard.server"
OWNER: Final = "toolyard.owner"
_TMP = "rw,nosuid,nodev,mode=1777,size=256m"
_MIB = 1 << 20
_STRANGE = re.compile(r"[^A-Za-z0-9_.-]+")


def container_name(run: Run, token: str) -> str:
    """Return a name that is free, and that people recognise."""
    return f"toolyard-{_STRANGE.sub('-', run.name)[:40]}-{token}"


def container(run: Run, image: str, defaults: Defaults, labels: dict[str, str]) -> JsonObject:
    """Return the container for a run; `publish` adds the port of one that speaks HTTP.

    Raises:
        StartError: A mount is malformed.
    """
    served = bool(run.placement.port)
    spec: JsonObject = {
        "Image": image,
        "Labels": {**labels, SERVER: run.name, OWNER: run.owner},
        "Env": [f"{name}={value}" for name, value in run.command.env],
        "AttachStdout": True,
        "AttachStderr": True,
        "AttachStdin": not served,
        "OpenStdin": not served,
        # So that its stdin closes with our connection, however that ends.
        "StdinOnce": not served,
        "Tty": False,
        "HostConfig": _host(run, defaults),
    }
    program, *arguments = run.command.argv or ("",)
    if program:
        # The image's entrypoint would otherwise be put before it.
        spec["Entrypoint"] = [program]
    if program or arguments:
        spec["Cmd"] = arguments
    if run.command.cwd:
        spec["WorkingDir"] = run.command.cwd
    if run.placement.user:
        spec["User"] = run.placement.user
    return spec


def publish(spec: JsonObject, port: int, address: str) -> None:
    """Publish a port of the container at this address of its host, on any free port."""
    spec["ExposedPorts"] = {f"{port}/tcp": {}}
    spec["HostConfig"]["PortBindings"] = {f"{port}/tcp": [{"HostIp": address, "HostPort": ""}]}


def network_of(run: Run, defaults: Defaults) -> str:
    """Return the network of a run."""
    return run.placement.network or defaults.network


def _host(run: Run, defaults: Defaults) -> JsonObject:
    placement = run.placement
    memory = (placement.memory or defaults.memory) * _MIB
    host: JsonObject = {
        "Init": True,  # the first process of a container ignores TERM, and must reap all others
        "NetworkMode": network_of(run, defaults),
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "ReadonlyRootfs": not placement.writable,
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": int((placement.cpus or defaults.cpus) * 1e9),
        "PidsLimit": placement.processes or defaults.processes,
        "Mounts": [_mount(run, text) for text in placement.mounts],
        # Otherwise everything in its pipes would be written to the daemon's disk.
        "LogConfig": {"Type": "none"},
    }
    if not placement.writable:
        host["Tmpfs"] = {"/tmp": _TMP}  # noqa: S108 - inside the container
    if placement.descriptors:
        most = placement.descriptors
        host["Ulimits"] = [{"Name": "nofile", "Soft": most, "Hard": most}]
    return host


def _mount(run: Run, text: str) -> JsonObject:
    source, _, rest = text.partition(":")
    target, _, mode = rest.partition(":")
    if not source or not target.startswith("/") or mode not in ("", "ro", "rw"):
        raise StartError(
            f'"{run.name}" cannot be started: "{text}" is no mount',
            "write /there:/inside, or /there:/inside:rw if it may write",
        )
    # A bind of type `bind` must exist; the older form would make it, as root.
    kind = "bind" if source.startswith("/") else "volume"
    return {"Type": kind, "Source": source, "Target": target, "ReadOnly": mode != "rw"}
