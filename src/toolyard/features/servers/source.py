"""The servers that a user wrote down, and the bundled one, on the picture."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from toolyard.core.ports import RecordSource
from toolyard.features.servers.bundle_folders import BundleFolders
from toolyard.features.servers.bundled import Bundled
from toolyard.features.servers.configured import Configured
from toolyard.features.servers.removed import RemovedServers
from toolyard.features.servers.store import ServersFile, open_servers
from toolyard.links.readiness import Readiness
from toolyard.records.places import RecordPlaces
from toolyard.settings import Settings
from toolyard.yard import Yard


def parts(yard: Yard) -> Iterable[object]:
    """The servers file, what was removed from it, and the bundles it uses."""
    settings = yard.part(Settings)
    yield open_servers(yard.part(RecordPlaces), settings.config_file, os.environ)
    yield RemovedServers()
    bundles = BundleFolders(settings.data_dir)
    if yard.is_live:
        bundles.delete_unused()  # a hub that begins can put nothing back
    yield bundles


def sources(yard: Yard) -> Sequence[RecordSource]:
    """The source of the file, and that of the example; without a hub no other source is awaited."""
    readiness = (
        yard.part(Readiness) if Readiness in yard.parts else Readiness(yard.board, frozenset())
    )
    return [Configured(yard.part(ServersFile)), Bundled(yard.board, readiness.is_complete)]
