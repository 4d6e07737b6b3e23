"""The features of Toolyard: one folder for each thing a user can name.

Importing this costs next to nothing: a feature's modules are loaded when they are used.
"""

from __future__ import annotations

from typing import Final

from toolyard.feature import Feature
from toolyard.features import (
    adding,
    agents,
    approvals,
    apps,
    auth,
    authorization,
    autostart,
    catalog,
    clients,
    executors,
    history,
    hub,
    interceptors,
    limits,
    lock,
    marks,
    members,
    own,
    packages,
    policies,
    profiles,
    quirks,
    remote_hub,
    rules,
    scan,
    secrets,
    servers,
    sessions,
    setup,
    sharing,
    telemetry,
    tokens,
    tools,
    transfer,
)

FEATURES: Final[tuple[Feature, ...]] = (
    hub.FEATURE,
    autostart.FEATURE,
    adding.FEATURE,
    servers.FEATURE,
    approvals.FEATURE,
    tools.FEATURE,
    marks.FEATURE,
    limits.FEATURE,
    interceptors.FEATURE,
    rules.FEATURE,
    history.FEATURE,
    setup.FEATURE,
    clients.FEATURE,
    quirks.FEATURE,
    catalog.FEATURE,
    scan.FEATURE,
    apps.FEATURE,
    agents.FEATURE,
    policies.FEATURE,
    executors.FEATURE,
    profiles.FEATURE,
    packages.FEATURE,
    sharing.FEATURE,
    tokens.FEATURE,
    secrets.FEATURE,
    auth.FEATURE,
    lock.FEATURE,
    members.FEATURE,
    authorization.FEATURE,
    remote_hub.FEATURE,
    own.FEATURE,
    sessions.FEATURE,
    telemetry.FEATURE,
    transfer.FEATURE,
)
"""In the order in which the help lists their commands.

Calls of tools meet the guards of features in this order, too: limits, then interceptors, which may
change the arguments that a rule asks a person about, then rules.
"""
