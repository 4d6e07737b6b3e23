"""Yards on every engine, without a hub: their documents written and applied."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fixtures.postgres import PostgresServer
from toolyard.console.here import run_here
from toolyard.features.transfer.model import AppliedDocument, plain_document
from toolyard.features.transfer.operations import ApplyDocument, apply_document, export_yard
from toolyard.operation import NoInput
from toolyard.settings import Settings, read_settings

Json = dict[str, Any]

WHOLE: Json = {
    "version": 1,
    "servers": {
        "git": {"command": "git-mcp", "args": ["-p", "1.10"], "env": {"LEVEL": "1"}},
        "web": {"url": "http://127.0.0.1:9/mcp", "disabled": True, "timeout": 3},
    },
    "definitions": {
        "shop": {"name": "shop", "description": "Sells.", "runtime": {"command": "shop-mcp"}},
    },
    "catalog": {"shop": {"enabled": True, "values": {"SHOP": "here"}}},
    "profiles": {"review": {"allow": ["git"], "hide": ["git/push"]}},
    "agents": {"mine": {"transports": ["stdio", "http"], "title": "Mine"}},
    "lists": {
        "codex": {"enabled": True, "servers": {"git": {"mode": "auto", "server": "git"}}},
        "mine": {
            "enabled": True,
            "servers": {
                "own": {"type": "stdio", "command": "own", "args": ["x"], "mode": "auto"},
            },
            "meta": {"own": {"description": "My own"}},
        },
    },
    "overrides": {"codex/box": {"servers": {"git": None}}},
    "policies": {"docker": {"deny": ["web"]}},
    "executors": {"box": {"type": "docker", "host": "tcp://127.0.0.1:9"}},
    "quirks": {"cursor": {"most_tools": 40}},
    "marks": {"git@configured": {"log": "read", "push": "destroy"}},
    "rules": {"pushes": {"tools": ["git/push"], "tier": "write", "reason": "Look first."}},
    "limits": {"fair": {"member": "*", "server": "git", "calls": 600, "seconds": 3600.0}},
    "interceptors": {
        "check": {
            "tools": ["git", "!git/log"],
            "program": ["check-calls", "--strict"],
            "env": {"CHECK_TOKEN": "${keyring:check}", "LEVEL": "1"},
            "type": "validation",
            "phase": "request",
            "config": {"branches": ["main"], "depth": 1.5},
            "failure": "open",
        },
        "no-leaks": {"tools": ["*"], "mask": {"kinds": ["email"]}, "priority": -1},
        "scrub": {
            "tools": ["web"],
            "url": "https://scrub.example.com/",
            "headers": {"Authorization": "Bearer ${keyring:scrub}"},
            "type": "mutation",
            "phase": "response",
            "mode": "audit",
        },
        "tenant": {
            "tools": ["web/*"],
            "arguments": {
                "account": {"fix": 12345678901234567890123},
                "limit": {"default": None, "rename": "most"},
                "ratio": {"fix": 0.00012345678901234567, "sent": "override"},
                "trace": {"hide": True},
            },
        },
    },
    "apps": {"demo": {"variants": {"dev": 4123}, "title": "Demo", "match": "demo", "path": "/mcp"}},
    "admissions": {
        "*": {"profiles": ["review"], "tier": "read", "instances": 4, "sessions": 8},
        "team/developers": {"profiles": ["review"]},
    },
    "members": {
        "https://login.example.com#ann": {"role": "keeper"},
        "https://login.example.com#eve": {"disabled": True},
    },
    "approvals": {
        "git@configured": {
            "launch": True,
            "instructions": "Be kind.",
            "tools": {"log": {"name": "log", "inputSchema": {"type": "object"}}},
            "any_text": ["tools/log"],
        },
        "shop@catalog": {"launch": True},
    },
}
"""A document with something in every section."""


@dataclass(frozen=True, slots=True)
class HublessYard:
    """A yard that no hub runs on."""

    settings: Settings

    def export(self) -> Json:
        """The document of it."""
        return plain_document(run_here(self.settings, export_yard, NoInput()).answer.document)

    def notes(self) -> list[str]:
        """The sentences about what the document does not hold."""
        return run_here(self.settings, export_yard, NoInput()).answer.notes

    def apply(self, document: Any, version: str = "", **flags: bool) -> AppliedDocument:
        """Apply a document."""
        order = ApplyDocument(document, **flags)
        return run_here(self.settings, apply_document, order, version).answer

    @property
    def version(self) -> str:
        """The mark of its present state."""
        return run_here(self.settings, export_yard, NoInput()).version


def yard_in(folder: Path, postgres: PostgresServer | None = None) -> HublessYard:
    """An empty yard: in files and SQLite, or in a schema of its own."""
    env = {"TOOLYARD_HOME": str(folder)}
    if postgres is not None:
        env |= postgres.new_yard().environment
    return HublessYard(read_settings({}, env))


def named(applied: AppliedDocument) -> list[str]:
    """The changes as `action section/name`."""
    return [f"{change.action} {change.section}/{change.name}" for change in applied.changes]
