"""The source of the servers that the user added from the catalog."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Final

import watchfiles

from toolyard.core.catalog import Definition
from toolyard.core.errors import SourceError, StoreError
from toolyard.core.model import Command, Endpoint, Pairs, Problem, Report, Server, ServerId
from toolyard.core.problems import ProblemCode
from toolyard.stores.added import Addition
from toolyard.stores.catalog import Catalog, Shelf
from toolyard.stores.expand import Lookup, find_unset

log = logging.getLogger(__name__)

SOURCE: Final = "catalog"
STEP_MS: Final = 50
DEBOUNCE_MS: Final = 200
LOOK_MS: Final = 500
"""How often to look for folders that were made anew, and at the small file of additions."""
SWEEP_SECONDS: Final = 30.0
"""How often to look at every file: not every file system tells of changes."""
# Not one that is written with two dollars, for that is a literal.
_REFERENCE: Final = re.compile(r"(?<!\$)\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-[^{}]*)?\}")


class Added:
    """Reports the added servers, each with what its file says it offers.

    One changed file costs the reading of that file, however many there are.
    """

    def __init__(self, catalog: Catalog, env: Mapping[str, str] | None = None) -> None:
        self._catalog = catalog
        self._env = os.environ if env is None else env
        self._posted: Report | None = None
        self._seen: object = None

    @property
    def name(self) -> str:
        """A short, stable name."""
        return SOURCE

    async def run(self, post: Callable[[Report], None]) -> None:
        """Post the first report, then a new one whenever the catalog says something else.

        Raises:
            SourceError: The catalog cannot be written, so nothing can be added to it.
        """
        self._posted = None
        await self._look(
            post, None
        )  # before the slower work: tools on file are to be there at once
        try:
            await asyncio.to_thread(self._catalog.restock)
        except StoreError as error:
            raise SourceError(f"the catalog is not complete: {error}", error.hint) from error
        await self._look(post, None)
        while True:
            try:
                await self._watch(post)
            except (OSError, RuntimeError) as error:  # most often: no watches left for this user
                log.warning("cannot watch, looking instead", extra={"error": str(error)})
                await asyncio.sleep(LOOK_MS / 1000)
            await self._look(post, None)

    async def _watch(self, post: Callable[[Report], None]) -> None:
        """Follow changes until other folders are to be watched, or it is time to look at all."""
        folders = self._folders()
        changes = watchfiles.awatch(
            *folders,
            watch_filter=None,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            recursive=False,
        )
        end = time.monotonic() + SWEEP_SECONDS
        async with aclosing(changes):
            async for change in changes:
                if change or self._catalog.added_file.mark() != self._seen:
                    await self._look(post, {Path(path) for _, path in change})
                if time.monotonic() > end or self._folders() != folders:
                    return

    async def _look(self, post: Callable[[Report], None], changed: set[Path] | None) -> None:
        self._seen = self._catalog.added_file.mark()
        shelf = await asyncio.to_thread(self._catalog.load, changed)
        report = make_report(shelf, self._env)
        if report != self._posted:
            self._posted = report
            post(report)

    def _folders(self) -> dict[str, tuple[int, int]]:
        """The folders that are there, told apart from others that had their names before."""
        root = self._catalog.root
        found: dict[str, tuple[int, int]] = {}
        for folder in (root, root / "official", root / "custom"):
            if folder.is_dir():
                stat = folder.stat()
                found[str(folder)] = (stat.st_dev, stat.st_ino)
        if not found:
            raise OSError("the catalog has no folder")
        return found


def make_report(shelf: Shelf, env: Mapping[str, str]) -> Report:
    """Everything the catalog has for the yard: the servers that were added, in their order."""
    servers = [
        make_server(shelf.definitions[name].definition, addition, env)
        for name, addition in shelf.added.items()
        if name in shelf.definitions
    ]
    return Report(SOURCE, tuple(servers), shelf.problems)


def make_server(definition: Definition, addition: Addition, env: Mapping[str, str]) -> Server:
    """A definition with what it was given, as a server of the yard."""
    endpoint = _filled(definition, dict(addition.values), env)
    verification = definition.verification
    return Server(
        id=ServerId(definition.name, SOURCE),
        endpoint=endpoint,
        title=definition.title,
        enabled=addition.enabled,
        timeout=definition.timeout,
        problem=_unset(definition, endpoint, env),
        offers=definition.offers(),
        peer=verification.peer() if verification else None,
        # Of the definition alone: what users give a server, here or in the environment, is theirs.
        launch=definition.launch,
    )


def _filled(definition: Definition, values: dict[str, str], env: Mapping[str, str]) -> Endpoint:
    """The endpoint with the user's values in the place of references to them."""
    endpoint = definition.endpoint
    if not isinstance(endpoint, Command):
        headers = tuple((name, _fill(value, values)) for name, value in endpoint.headers)
        return replace(endpoint, url=_fill(endpoint.url, values), headers=headers)
    return replace(
        endpoint,
        argv=tuple(_fill(each, values) for each in endpoint.argv),
        env=_variables(definition, endpoint.env, values, env),
        cwd=None if endpoint.cwd is None else _fill(endpoint.cwd, values),
    )


def _variables(
    definition: Definition, told: Pairs, values: dict[str, str], env: Mapping[str, str]
) -> Pairs:
    """What the process gets: what the file says, what is needed or set, and what was given."""
    found = {name: _fill(value, values) for name, value in told}
    for each in definition.authorization.variables:
        if each.name not in found and (each.required or each.name in env):
            found[each.name] = f"${{{each.name}}}"
    return tuple((found | values).items())


def _fill(text: str, values: dict[str, str]) -> str:
    """Put values in the place of `${NAME}`, `${env:NAME}` and `${NAME:-default}`."""

    def value(match: re.Match[str]) -> str:
        return values.get(match[1], match[0])

    return _REFERENCE.sub(value, text)


def _unset(definition: Definition, endpoint: Endpoint, env: Mapping[str, str]) -> Problem | None:
    unset = find_unset(endpoint, Lookup(env))
    if not unset:
        return None
    names = list(dict.fromkeys(each.name for each in unset))
    told = {each.name: each.url for each in definition.authorization.variables}
    urls = [told.get(name) for name in names] + [definition.authorization.url]
    url = next((each for each in urls if each), "")
    hidden = {each.name for each in definition.authorization.variables if each.secret}
    keep = "".join(f"toolyard secret set {name}; " for name in names if name in hidden)
    give = " ".join(
        f"-e '{name}=${{keyring:{name}}}'" if name in hidden else f"-e {name}=..." for name in names
    )
    hint = (f"get it at {url}, then " if url else "") + (
        f"run: {keep}toolyard catalog add {definition.name} {give}"
    )
    text = f"server '{definition.name}' needs what is not set: {', '.join(names)}"
    return Problem(ProblemCode.CATALOG_UNSET, text, hint, f"{definition.name}@{SOURCE}")
