"""Keeps offers, the owners of addresses and copies of the database while a house lives."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from toolyard.board import Board
from toolyard.core.errors import StoreError
from toolyard.core.model import Remembered, Status
from toolyard.records.addresses import AddressStore
from toolyard.records.backups import Backups
from toolyard.records.offer_cache import OfferCache
from toolyard.records.places import SEALED_KINDS
from toolyard.records.state import State
from toolyard.wire.seal import Seal

if TYPE_CHECKING:
    from toolyard.records.postgres.shared import SharedDatabase

log = logging.getLogger(__name__)

BACKUP_SECONDS: Final = 86400.0


async def keep_seen(board: Board, offers: OfferCache, addresses: AddressStore | None) -> None:
    """Keep what servers offer, and whose addresses are whose, until cancelled."""
    revision = -1
    while True:
        snapshot = await board.wait_after(revision)
        revision = snapshot.revision
        for entry in snapshot.entries.values():
            if entry.status is Status.READY and offers.is_news(entry):
                await asyncio.to_thread(offers.keep, entry)
        if addresses is not None and addresses.is_news(snapshot.owners):
            await asyncio.to_thread(addresses.keep, snapshot.owners)


async def follow_addresses(board: Board, addresses: AddressStore | None) -> None:
    """Go by what other hubs wrote down of whose addresses are whose, until cancelled."""
    if addresses is None:
        return
    count = 0
    while True:
        count = await addresses.changes.wait(count)
        before = board.snapshot.owners
        merged = addresses.merged(before)
        if merged is not before:
            board.post(Remembered(merged))


async def keep_sealed(database: SharedDatabase, seal: Seal) -> None:
    """Seal anew what an older key sealed, until cancelled: that key is to be forgotten some day."""
    from toolyard.records.postgres.sealed import reseal

    changes = database.follow(SEALED_KINDS)
    while True:
        count = changes.count
        try:
            await asyncio.to_thread(reseal, database, SEALED_KINDS, seal)
        except StoreError as error:
            log.warning("secrets are not sealed anew", extra={"why": str(error)})
        await changes.wait(count)


async def back_up(state: State, backups: Backups) -> None:
    """Keep a copy of the database each day, until cancelled."""
    while state.is_whole:
        await asyncio.to_thread(backups.make)
        await asyncio.sleep(BACKUP_SECONDS)


def close_state(state: State, backups: Backups) -> None:
    """Close the database, with a last copy of it if nothing is wrong with it. It blocks."""
    if state.database is None:
        return
    if state.is_whole:
        state.database.settle()
        backups.make()
    state.database.close()
