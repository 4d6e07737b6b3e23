"""The features of Toolyard: one folder for each thing a user can name.

Importing this costs next to nothing: a feature's modules are loaded when they are used.
"""

from __future__ import annotations

from typing import Final

from toolyard.feature import Feature
from toolyard.features import (
    agents,
    approvals,
    apps,
    auth,
    catalog,
    clients,
    executors,
    history,
    hub,
    lock,
    packages,
    policies,
    profiles,
    quirks,
    scan,
    secrets,
    servers,
    sharing,
    tokens,
    tools,
)

FEATURES: Final[tuple[Feature, ...]] = (
    hub.FEATURE,
    servers.FEATURE,
    agents.FEATURE,
    approvals.FEATURE,
    apps.FEATURE,
    auth.FEATURE,
    catalog.FEATURE,
    clients.FEATURE,
    executors.FEATURE,
    history.FEATURE,
    lock.FEATURE,
    packages.FEATURE,
    policies.FEATURE,
    profiles.FEATURE,
    quirks.FEATURE,
    scan.FEATURE,
    secrets.FEATURE,
    sharing.FEATURE,
    tokens.FEATURE,
    tools.FEATURE,
)
