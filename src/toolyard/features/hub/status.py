"""The whole yard, for people and programs."""

from __future__ import annotations

import os
import time

from toolyard import __version__
from toolyard.core.rows import YardStatus, problem_row
from toolyard.features.apps.source import Apps
from toolyard.features.apps.status import describe_apps
from toolyard.features.servers.picture import problems, server_row
from toolyard.links.pool import LinkPool
from toolyard.yard import HubLife, Yard


def describe_yard(yard: Yard) -> YardStatus:
    """Return the hub, its servers and apps, and all trouble on the picture."""
    snapshot, life, keepers = yard.snapshot, yard.part(HubLife), yard.part(LinkPool).keepers
    return YardStatus(
        version=__version__,
        url=life.url,
        pid=os.getpid(),
        uptime_s=round(time.monotonic() - life.began, 1),
        revision=snapshot.revision,
        servers=[
            server_row(snapshot, entry, keepers.get(id_)) for id_, entry in snapshot.entries.items()
        ],
        problems=[problem_row(problem) for problem in problems(snapshot)],
        apps=describe_apps(yard.part(Apps), snapshot, keepers),
    )
