"""The texts an app's tools and prompts say, made from what is known of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from toolyard.core.apps import App, Install
from toolyard.core.appstatus import AppStatus, VariantStatus
from toolyard.core.counting import counted

_STATES: Final[dict[str, str]] = {"not_detected": "not detected"}


def status_text(status: AppStatus, labels: list[str]) -> str:
    """The status as people read it: who is connected comes first."""
    title = f"{status.title} MCP Hub Status"
    variants = status.variants
    rows = [v for v in variants if v.status == "connected"]
    rows += [v for v in variants if v.status != "connected"]
    width = max((len(v.name) for v in rows), default=0)
    lines = [title, "─" * len(title), "Variants:"]
    lines += [_row(v, width) for v in rows] or ["  none"]
    lines += ["", f"Installed on system: {', '.join(labels) or 'none'}"]
    lines += ["", f"Scan interval: {status.interval_ms}ms"]
    if not status.enabled:
        lines[-1] = "Scanning is switched off"
    lines.append(f"Last scan: {_ago(status.last_scan)}")
    return "\n".join(lines)


def _row(variant: VariantStatus, width: int) -> str:
    status = variant.status
    tick = "✓" if status == "connected" else "✗"
    state = _STATES.get(status, status)
    if status in ("connected", "reconnecting"):
        state += f", {counted(variant.tools, 'tool')}"
    if variant.since:
        state += f", since {variant.since}"
    if variant.conflict:
        state += f" (port taken: {variant.conflict})"
    return f"  {tick} {variant.name:<{width}} (port {variant.port}) — {state}"


def _ago(moment: str | None) -> str:
    if moment is None:
        return "not yet"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    return f"{max(0, round(seconds))}s ago"


def setup_text(app: App, status: AppStatus, labels: list[str]) -> str:
    """Return the next step, given what runs and what is installed."""
    connected = [v.name for v in status.variants if v.status == "connected"]
    if connected:
        ask = (
            f"{app.title} is connected ({', '.join(connected)}). Read {app.name}://tools and show "
            f"me what I can do; call tools with {app.name}_call or by their listed names."
        )
    elif labels:
        ask = (
            f"{app.title} is installed ({', '.join(labels)}) but does not run. Start it with "
            f"{app.name}_launch, wait a moment, call {app.name}_refresh, and go on from there."
        )
    else:
        ask = f"{app.title} is not installed on this system. Help me to install and start it."
    return f"{ask}\n\n{status_text(status, labels)}"


def doctor_text(app: App, status: AppStatus, labels: list[str]) -> str:
    """Everything one needs to find out why a variant is not reached."""
    variants = status.variants
    ask = (
        f"Something about {app.title} does not work. Go through what follows, say what is wrong "
        "and the exact step that mends it."
    )
    lines = [
        ask,
        "",
        f"Ports scanned: {', '.join(_port(v) for v in variants) or 'none'}",
        f"Scan interval: {status.interval_ms}ms, last scan: {status.last_scan or 'not yet'}",
    ]
    if not status.enabled:
        lines.append("Scanning is switched off; only the single address is looked at.")
    lines += _part(
        f"Answered, but are not {app.title}",
        [f"{_port(v)}: {v.conflict}" for v in variants if v.conflict],
    )
    lines += _part(
        "Reconnecting",
        [f"{v.name} since {v.since}" for v in variants if v.status == "reconnecting"],
    )
    lines += _part(
        f"Missed in a row ({status.leaves_after} and it leaves)",
        [f"{v.name}: {v.misses}" for v in variants if v.misses],
    )
    return "\n".join([*lines, "", status_text(status, labels)])


def _port(variant: VariantStatus) -> str:
    return f"{variant.name} {variant.port}"


def _part(title: str, rows: list[str]) -> list[str]:
    return [f"{title}: {'; '.join(rows) or 'none'}"]


def launched_text(app: App, install: Install, separator: str) -> str:
    """Return what to expect after a start."""
    tools = f" as {install.variant}{separator}*" if install.variant and separator else ""
    return (
        f"Launched {install.label}. Its tools appear{tools} as soon as it answers; "
        f"{app.name}_refresh looks at once."
    )
