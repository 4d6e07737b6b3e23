"""The catalog as a part of the yard, and the source of the servers added from it."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from toolyard.core.errors import SecretError, SourceError, StoreError
from toolyard.core.model import Command, Endpoint, Pairs, Problem, Report, Server, ServerId
from toolyard.core.problems import ProblemCode
from toolyard.features.catalog.additions import Addition
from toolyard.features.catalog.model import FOLDERS, SOURCE, Definition
from toolyard.features.catalog.store import Catalog, Shelf, catalog_root
from toolyard.records.follow import Follower
from toolyard.records.launch_approvals import approve_without_hub
from toolyard.records.places import RecordPlaces
from toolyard.records.secrets.expand import Lookup, find_unset
from toolyard.records.state import DATABASE
from toolyard.settings import Settings
from toolyard.yard import Yard

# Not one that is written with two dollars, for that is a literal.
_REFERENCE: Final = re.compile(r"(?<!\$)\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-[^{}]*)?\}")


def parts(yard: Yard) -> Iterable[object]:
    """The catalog of the user; a hub has one already, since links are opened with it."""
    if Catalog not in yard.parts:
        settings, places = yard.part(Settings), yard.part(RecordPlaces)
        approve = partial(approve_without_hub, places, settings.state_dir / DATABASE)
        yield Catalog(catalog_root(settings), approve=approve, places=places)


def sources(yard: Yard) -> Sequence[Added]:
    """The source of the servers that were added."""
    return [Added(yard.part(Catalog), os.environ, yard.part(Follower))]


class Added:
    """Reports the added servers, each with what its file says it offers.

    One changed file costs the reading of that file, however many there are.
    """

    def __init__(self, catalog: Catalog, env: Mapping[str, str], follower: Follower) -> None:
        self._catalog = catalog
        self._env = env
        root = catalog.root
        self._changes = follower.follow(root, *(root / folder for folder in FOLDERS))
        if catalog.mirror is not None:
            catalog.mirror.follow(self._changes)
        self._posted: Report | None = None
        self._shelf: Shelf | None = None

    @property
    def name(self) -> str:
        """A short, stable name."""
        return SOURCE

    @property
    def report(self) -> Report:
        """All servers that are added, as the files have them now. It blocks."""
        return make_report(self._catalog.load(), self._env)

    async def run(self, post: Callable[[Report], None]) -> None:
        """Post the first report, then a new one whenever the catalog says something else.

        Raises:
            SourceError: The catalog cannot be written, so nothing can be added to it.
        """
        self._posted = self._shelf = None
        await self._look(post)  # before the slower work: tools on file are to be there at once
        try:
            await asyncio.to_thread(self._catalog.copy_bundled)
        except StoreError as error:
            raise SourceError(f"the catalog is not complete: {error}", error.hint) from error
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hear_added())
            while True:
                count = self._changes.count
                await self._look(post)
                await self._changes.wait(count)

    async def _hear_added(self) -> None:
        """Look again when others are added, wherever that is kept."""
        added = self._catalog.added_file
        revision = added.revision()
        while True:
            await added.changed(revision)
            revision = added.revision()
            self._changes.tell()

    async def _look(self, post: Callable[[Report], None]) -> None:
        shelf = await asyncio.to_thread(self._catalog.load)
        if shelf is self._shelf:
            return
        self._shelf = shelf
        report = make_report(shelf, self._env)
        if report != self._posted:
            self._posted = report
            post(report)


def make_report(shelf: Shelf, env: Mapping[str, str]) -> Report:
    """Return the servers that were added, in their order, and the problems of the catalog."""
    servers = [
        make_server(shelf.definitions[name].definition, addition, env)
        for name, addition in shelf.added.items()
        if name in shelf.definitions
    ]
    return Report(SOURCE, tuple(servers), shelf.problems)


def make_server(definition: Definition, addition: Addition, env: Mapping[str, str]) -> Server:
    """Return a definition with what it was given, as a server of the yard."""
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


def with_link(catalog: Catalog, server: Server, error: SecretError) -> SecretError:
    """Return the same error, with where to get the secret if the catalog knows. It blocks."""
    shelved = catalog.load().definitions.get(server.id.name)
    if server.id.source != SOURCE or shelved is None:
        return error
    authorization = shelved.definition.authorization
    links = [variable.url for variable in authorization.variables if variable.secret]
    link = next((url for url in (*links, authorization.url) if url), "")
    return SecretError(str(error), f"get it at {link}, then {error.hint}") if link else error


def _filled(definition: Definition, values: dict[str, str], env: Mapping[str, str]) -> Endpoint:
    """The endpoint with the user's values in the place of references to them."""
    endpoint = definition.endpoint
    if not isinstance(endpoint, Command):
        headers = tuple((name, _fill(value, values)) for name, value in endpoint.headers)
        return replace(endpoint, url=_fill(endpoint.url, values), headers=headers)
    return replace(
        endpoint,
        argv=tuple(_fill(word, values) for word in endpoint.argv),
        env=_variables(definition, endpoint.env, values, env),
        cwd=None if endpoint.cwd is None else _fill(endpoint.cwd, values),
    )


def _variables(
    definition: Definition, pairs: Pairs, values: dict[str, str], env: Mapping[str, str]
) -> Pairs:
    """The variables of the process: the file's, those needed or set, and the user's values."""
    variables = {name: _fill(value, values) for name, value in pairs}
    for variable in definition.authorization.variables:
        if variable.name not in variables and (variable.required or variable.name in env):
            variables[variable.name] = f"${{{variable.name}}}"
    return tuple((variables | values).items())


def _fill(text: str, values: dict[str, str]) -> str:
    """Put values in the place of `${NAME}`, `${env:NAME}` and `${NAME:-default}`."""

    def value(match: re.Match[str]) -> str:
        return values.get(match[1], match[0])

    return _REFERENCE.sub(value, text)


def _unset(definition: Definition, endpoint: Endpoint, env: Mapping[str, str]) -> Problem | None:
    unset = find_unset(endpoint, Lookup(env))
    if not unset:
        return None
    names = list(dict.fromkeys(reference.name for reference in unset))
    pages = {variable.name: variable.url for variable in definition.authorization.variables}
    urls = [pages.get(name) for name in names] + [definition.authorization.url]
    url = next((address for address in urls if address), "")
    hidden = {variable.name for variable in definition.authorization.variables if variable.secret}
    keep = "".join(f"toolyard secret set {name}; " for name in names if name in hidden)
    give = " ".join(
        f"-e '{name}=${{keyring:{name}}}'" if name in hidden else f"-e {name}=..." for name in names
    )
    hint = (f"get it at {url}, then " if url else "") + (
        f"run: {keep}toolyard catalog add {definition.name} {give}"
    )
    text = f"server '{definition.name}' needs what is not set: {', '.join(names)}"
    return Problem(ProblemCode.CATALOG_UNSET, text, hint, f"{definition.name}@{SOURCE}")
