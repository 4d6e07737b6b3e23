"""Reads the state of a pod: running, ready, ended and why, or never going to start."""

from __future__ import annotations

import re
import signal

from toolyard.core.errors import StartError
from toolyard.executors.kubernetes.container import NAME, Manifest

_HINTS = {
    "ErrImageNeverPull": "bring the image {image} to the nodes, or set the option pull",
    "ImagePullBackOff": "see that the image {image} exists and that the nodes may pull it",
    "InvalidImageName": "write the image as registry/name:tag; it is {image}",
    "CreateContainerConfigError": "see the user, the secrets and the mounts of the server",
    "CreateContainerError": "see the command and the mounts of the server",
    "RunContainerError": "see that the image {image} has the executable",
    "CrashLoopBackOff": "see its last words; it ends as soon as it is started",
}
"""Reasons of containers that will never run, and what to do about them."""


def is_over(pod: Manifest) -> bool:
    """Return True if its server has ended and will not be started again."""
    return pod["status"].get("phase") in {"Succeeded", "Failed"} or _ended(pod) is not None


def is_stale(pod: Manifest) -> bool:
    """Return True if nothing of it runs, and nothing will."""
    return is_over(pod) or ("deletionTimestamp" in pod["metadata"] and not is_running(pod))


def is_running(pod: Manifest) -> bool:
    """Return True if its server runs now."""
    return "running" in _now(pod)


def is_ready(pod: Manifest) -> bool:
    """Return True if its server accepts connections."""
    conditions = pod["status"].get("conditions") or ()
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def why_over(pod: Manifest) -> str:
    """Return the way its server ended, e.g. `exited with code 1`."""
    status, ended = pod["status"], _ended(pod) or {}
    if ended.get("reason") == "OOMKilled":
        limit = pod["spec"]["containers"][0]["resources"]["limits"]["memory"]
        return f"was killed: it used more memory than its limit of {limit}"
    if status.get("reason"):
        return f"was ended by the cluster: {status.get('message') or status['reason']}"
    if "deletionTimestamp" in pod["metadata"]:
        return f"was ended: its pod was deleted{_with_code(ended)}"
    return _exit(ended.get("exitCode", 0)) if ended else "ended"


def trouble(pod: Manifest, server: str) -> StartError | None:
    """Return the error of a server that will never start; None if it may, or has."""
    image = pod["spec"]["containers"][0]["image"]
    waiting = _now(pod).get("waiting") or {}
    reason = waiting.get("reason", "")
    if reason in _HINTS:
        detail = last_words(pod) or _short(waiting.get("message", ""))
        return StartError(
            f'"{server}" cannot start in pod {pod["metadata"]["name"]}: {reason}'
            + (f": {detail}" if detail else ""),
            _HINTS[reason].format(image=image),
        )
    ended = _ended(pod) or {}
    if ended.get("reason") in {"ContainerCannotRun", "StartError"}:
        return StartError(
            f'"{server}" cannot start in pod {pod["metadata"]["name"]}: '
            + _short(ended.get("message", "the container cannot run")),
            f"see that the image {image} has the executable",
        )
    return None


def pending(pods: list[Manifest]) -> str:
    """Describe what a server that has not started yet waits for."""
    for pod in pods:
        waiting = _now(pod).get("waiting") or {}
        unmet = [
            item.get("message") or item.get("reason")
            for item in pod["status"].get("conditions") or ()
            if item["status"] == "False" and item["type"] == "PodScheduled"
        ]
        for reason in (*unmet, waiting.get("message"), waiting.get("reason")):
            if reason:
                return str(reason)
        if is_running(pod):
            return "it runs, but does not take connections on its port"
    return "the cluster has not begun to start it"


def last_words(pod: Manifest) -> str:
    """Return the last output of a server that failed."""
    ended = _ended(pod) or (_container(pod).get("lastState") or {}).get("terminated") or {}
    return _short(ended.get("message", ""))


def refusal(deployment: Manifest) -> str:
    """Return the reason the cluster creates no pod for it; empty if it does."""
    conditions = deployment["status"].get("conditions") or ()
    failed = (item for item in conditions if item["type"] == "ReplicaFailure")
    return next((str(item.get("message", "")) for item in failed if item["status"] == "True"), "")


def _now(pod: Manifest) -> Manifest:
    state: Manifest = _container(pod).get("state") or {}
    return state


def _ended(pod: Manifest) -> Manifest | None:
    ended: Manifest | None = _now(pod).get("terminated")
    return ended


def _container(pod: Manifest) -> Manifest:
    statuses = pod["status"].get("containerStatuses") or ()
    return next((status for status in statuses if status["name"] == NAME), {})


def _exit(code: int) -> str:
    if code > 128:
        try:
            return f"was killed by signal {signal.Signals(code - 128).name}"
        except ValueError:
            pass
    return f"exited with code {code}"


def _with_code(ended: Manifest) -> str:
    return f", and it {_exit(ended['exitCode'])}" if "exitCode" in ended else ""


def _short(text: str) -> str:
    # Runtimes wrap the error in a chain of components.
    match = re.search(r'exec: \\?"(.+?)\\?": (.*?)(: unknown)?$', text)
    plain = f'"{match[1]}": {match[2]}' if match else text
    return " ".join(plain.split())[:400]
