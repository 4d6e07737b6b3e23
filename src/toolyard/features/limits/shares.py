"""Limits that replicas share: each has a part of every figure, and they move with the heartbeats.

A call is judged by the part of the replica that it came to, so none waits for the database. By
itself each replica has the same part. One that lacks some says so with its next heartbeat; others
then give up what they do not need, and it takes that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from toolyard.core.replicas import KnownReplicas
from toolyard.features.limits.counters import LimitCounters
from toolyard.features.limits.gauges import Figure, Gauge, GaugeKey
from toolyard.records.postgres.limit_rows import OwnShare, ShareRow, exchange_shares
from toolyard.records.postgres.replicas import LIFE_SECONDS

if TYPE_CHECKING:
    from toolyard.records.postgres.connections import Connection
    from toolyard.records.postgres.heartbeat import Statements, TakeIn

MOST_TOLD: Final = 1000
"""Gauges that are told of with a heartbeat."""
RESERVE: Final = 20
"""Whoever needs nothing keeps one part in so many of what it has by itself."""


class LimitShares:
    """Tells the other replicas what is used of limits here, and moves parts between them."""

    def __init__(self, counters: LimitCounters, known: KnownReplicas) -> None:
        self._counters = counters
        self._known = known
        self._lacking: set[str] = set()
        """Gauges of which another replica lacks some."""
        counters.fair = self.fair

    def fair(self, most: int) -> int:
        """The part of a figure that this replica has by itself."""
        return self._fair_parts(most).get(self._known.own, 0)

    def _fair_parts(self, most: int) -> Mapping[str, int]:
        live = sorted({*self._known.by_id, self._known.own})
        part, rest = divmod(most, len(live))
        return {replica: part + (rank < rest) for rank, replica in enumerate(live)}

    def prepare(self) -> Statements:
        """Give up what others lack, and tell what is used and lacking here."""
        now = self._counters.clock()
        gauges = self._told(now)
        own = [self._settle(text, gauge, now) for text, gauge in gauges.items()]
        live = frozenset(self._known.by_id)
        fair = {text: self._fair_parts(gauge.most) for text, gauge in gauges.items()}

        def exchange(connection: Connection) -> TakeIn:
            parts, rows = exchange_shares(connection, self._known.own, own, live, fair)
            return lambda: self._take_in(gauges, parts, rows)

        return exchange

    def _told(self, now: float) -> dict[str, Gauge]:
        """The gauges that others are told of, those first of which something is lacking."""
        gauges = [g for g in self._counters if g.is_apart or g.refused or g.used(now)]
        gauges.sort(key=lambda gauge: -gauge.refused)
        return {_text(gauge): gauge for gauge in gauges[:MOST_TOLD]}

    def _settle(self, text: str, gauge: Gauge, now: float) -> OwnShare:
        """Decide what to keep of a part, and whether more is lacking."""
        used, fair, wanted = gauge.used(now), self.fair(gauge.most), gauge.refused
        if not gauge.is_apart:
            gauge.share = fair
        elif not (used or gauge.elsewhere or wanted):
            # Nobody uses it any more: each has the same again.
            wanted = int(gauge.share < fair)
            gauge.share = min(gauge.share, fair)
            gauge.is_apart = gauge.share != fair
        if text in self._lacking and not wanted:
            # Keep what is used, what the next moments will need, and a little more.
            spare = max(2 * gauge.taken, fair // RESERVE)
            gauge.share, gauge.is_apart = min(gauge.share, used + spare), True
        gauge.taken = gauge.refused = 0
        seconds = max(gauge.key.seconds, LIFE_SECONDS)
        return OwnShare(text, gauge.most, gauge.share, used, wanted, seconds)

    def _take_in(
        self, gauges: Mapping[str, Gauge], parts: Mapping[str, int], rows: Iterable[ShareRow]
    ) -> None:
        used = dict.fromkeys(gauges, 0)
        self._lacking = set()
        for row in rows:
            if row.wanted:
                self._lacking.add(row.gauge)
            if row.gauge in used:
                used[row.gauge] += row.used
        for text, gauge in gauges.items():
            gauge.elsewhere = used[text]
            if parts[text] != gauge.share and _text(gauge) == text:
                gauge.share, gauge.is_apart = parts[text], True
        for text in self._lacking - gauges.keys():
            self._hear_of(text)

    def _hear_of(self, text: str) -> None:
        """Have a gauge of what nobody used here, so that its part can be given up."""
        limit, figure, seconds, most, whose, label = json.loads(text)
        key = GaugeKey(limit, Figure(figure), seconds, whose)
        self._counters.gauge(key, label, most).is_apart = True


def _text(gauge: Gauge) -> str:
    """A gauge as all replicas name it: with its figure, so that another one begins anew."""
    limit, figure, seconds, whose = gauge.key
    return json.dumps([limit, figure.value, seconds, gauge.most, whose, gauge.label])
