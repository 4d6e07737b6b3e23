"""The names of this hub, which all that it starts elsewhere carries."""

from __future__ import annotations

import hashlib
import re
import socket
import uuid
from pathlib import Path
from typing import Final

from toolyard.core.errors import StoreError
from toolyard.records.files import locked, read_bounded, write_atomic

_SHAPE: Final = re.compile(rb"[0-9a-f]{32}")


def hub_identity(folder: Path) -> str:
    """Give the name of all hubs whose state is in a folder; made when first asked for.

    Without a folder that can be written it is a new one: leftovers of such a hub are not known
    again, but nothing of anybody else's is taken for its own.
    """
    path = folder / "hub-id"
    try:
        with locked(path):
            try:
                text = read_bounded(path).strip()
            except FileNotFoundError:
                text = b""
            if not _SHAPE.fullmatch(text):
                text = uuid.uuid4().hex.encode()
                write_atomic(path, text + b"\n")
    except StoreError:
        return uuid.uuid4().hex
    return text.decode()


def replica_identity(hub: str, place: Path) -> str:
    """Give the name of the one hub of that name that runs at a place of this machine.

    It is the same at the next start, and after the runtime directory was emptied.
    """
    text = f"{hub}\0{socket.gethostname()}\0{place}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
