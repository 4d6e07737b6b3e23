"""Names the program that listens on a port, where the system tells."""

from __future__ import annotations


def find_holder(port: int) -> str:
    """Return the program on a local TCP port as `name (pid N)`; empty if it is unknown.

    Only Linux says, and only about processes of this user.
    """
    from toolyard.executors.local.holders import find_holders
    from toolyard.executors.local.listeners import read_listeners

    listeners = read_listeners() or ()
    inodes = frozenset(listener.inode for listener in listeners if listener.port == port)
    holder = next(iter(find_holders(inodes).values()), None)
    return f"{holder.name} (pid {holder.pid})" if holder is not None else ""
