"""The question that a lock file is made of."""

from __future__ import annotations

import asyncio

from toolyard.core.locks import Locked
from toolyard.features.approvals.judging import CATALOG, Approvals
from toolyard.features.catalog.model import DefinedPackage
from toolyard.features.catalog.store import Catalog
from toolyard.features.lock.store import LockFile, lock_file
from toolyard.operation import NoInput, operation
from toolyard.yard import Yard


@operation("GET", "/api/v1/lock", tag="trust")
async def get_lock(yard: Yard, order: NoInput) -> LockFile:
    """The yard as a lock file has it."""
    return lock_file(await asyncio.to_thread(_lock, yard))


def _lock(yard: Yard) -> dict[str, Locked]:
    """The servers that people chose and use; one that is switched off is no matter of a team's."""
    approvals, definitions = yard.part(Approvals), yard.part(Catalog).load().definitions
    lock: dict[str, Locked] = {}
    for id_, entry in yard.snapshot.entries.items():
        package = ""
        if id_.source == CATALOG and id_.name in definitions:
            package = _spell(definitions[id_.name].definition.package)
        locked = approvals.locked(entry, package) if entry.server.enabled else None
        if locked is not None:
            lock[str(id_)] = locked
    return lock


def _spell(package: DefinedPackage | None) -> str:
    if package is None:
        return ""
    return f"{package.kind}:{package.name}" + (f"@{package.version}" if package.version else "")
