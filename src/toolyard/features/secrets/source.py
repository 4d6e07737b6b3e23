"""The secrets of the user, and without a hub the servers that use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from toolyard.core.model import Report
from toolyard.core.ports import RecordSource
from toolyard.features.secrets.store import Secrets
from toolyard.settings import Settings
from toolyard.stores.servers import SOURCE, ServersFile
from toolyard.yard import Yard


def parts(yard: Yard) -> Iterable[object]:
    """The secrets; a hub has them already, for its links need them."""
    if Secrets not in yard.parts:
        yield Secrets(yard.part(Settings).state_dir)


def sources(yard: Yard) -> Sequence[RecordSource]:
    """The servers that the user wrote into the file, unless a hub reports them anyway."""
    if yard.is_live:
        return ()
    written = ServersFile(yard.part(Settings).config_file).load()
    return [DeclaredServers(Report(SOURCE, written.servers, written.problems))]


@dataclass(frozen=True, slots=True)
class DeclaredServers:
    """The servers that stood in the file when it was made; it follows nothing."""

    report: Report

    @property
    def name(self) -> str:
        """A short, stable name."""
        return self.report.source

    async def run(self, post: Callable[[Report], None]) -> None:
        """Report them once."""
        post(self.report)
