"""The sealed logs of one hub: the chains it continues, and their examination."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from toolyard.core.errors import StoreError
from toolyard.records.audit import MORE_ORDER_COLUMNS, ORDER_COLUMNS
from toolyard.records.calls import CALL_COLUMNS, MORE_COLUMNS, TABLE
from toolyard.records.seals.chain import LogChain, lock_reader
from toolyard.records.seals.check import LogCheck, LogExaminer
from toolyard.records.seals.keys import SealKeys, open_keys
from toolyard.records.seals.model import Run
from toolyard.records.seals.tail import TailFile

log = logging.getLogger(__name__)

CALLS_TAIL: Final = "history-calls.seal"
ORDERS_TAIL: Final = "history-orders.seal"
ORDERS: Final = "audit"
"""The table of orders."""


class SealedLogs:
    """Calls and orders as they are sealed, and examined; without a key neither happens."""

    def __init__(
        self,
        folder: Path,
        shared: Sequence[str],
        lock_file: Path,
        replica: str = "",
        *,
        is_shared: bool = False,
    ) -> None:
        """Find the key, or make one.

        Args:
            folder: Where the key is, and the newest seals are noted.
            shared: The keys that hubs share, if they do.
            replica: The name of this hub.
            is_shared: Hubs share the database, so a call names its hub.
        """
        self._tails = TailFile(folder / CALLS_TAIL), TailFile(folder / ORDERS_TAIL)
        self._replica_column = ("replica",) if is_shared else ()
        self.failure: StoreError | None = None
        """The reason why there is no key."""
        self._keys: SealKeys | None = None
        self.calls: LogChain | None = None
        self.orders: LogChain | None = None
        try:
            self._keys = keys = open_keys(folder, shared)
        except StoreError as error:
            self.failure = error
            log.warning("the history is not sealed", extra={"why": str(error)})
            return
        name, lock = replica if is_shared else "", lock_reader(lock_file)
        self.calls = LogChain(TABLE, CALL_COLUMNS, keys, self._tails[0], name, lock)
        self.orders = LogChain(ORDERS, ORDER_COLUMNS, keys, self._tails[1], name, lock)

    def examine(self, run: Run) -> list[LogCheck]:
        """Examine both logs; `run` reads from the database they are in.

        Raises:
            StoreError: There is no key, or something cannot be read.
        """
        if self._keys is None:
            raise self.failure or StoreError("there is no key that seals the history")
        keys, (calls, orders) = self._keys, (tail.read() for tail in self._tails)
        more = (*MORE_COLUMNS, *self._replica_column)
        columns = (*CALL_COLUMNS, *more), (*ORDER_COLUMNS, *MORE_ORDER_COLUMNS)
        return [
            LogExaminer(run, "calls", TABLE, CALL_COLUMNS, columns[0], keys, calls).examine(),
            LogExaminer(run, "orders", ORDERS, ORDER_COLUMNS, columns[1], keys, orders).examine(),
        ]
