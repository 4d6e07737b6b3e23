"""The interceptors that were written, on the picture like all else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.interceptors import Interceptor, Masking
from toolyard.core.model import Problem, Report
from toolyard.executors.local import Local
from toolyard.features.interceptors.making import Interceptors
from toolyard.features.interceptors.model import InterceptorFields, make_interceptor
from toolyard.features.interceptors.store import FILE, InterceptorCodec, InterceptorRecords
from toolyard.records.files import READ_LIMIT, read_bounded
from toolyard.records.followed import Followed
from toolyard.records.jsonc import parse
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept
from toolyard.records.secrets.shared import keyring_lookup
from toolyard.relay.guards import GuardMaker
from toolyard.settings import Settings
from toolyard.yard import Yard

SOURCE: Final = "interceptors"
EVERYTHING: Final = ("*",)
_NO_WORK: Final = Masking(frozenset())


def parts(yard: Yard) -> Iterable[object]:
    """The interceptors; as a file they are beside the servers file."""
    settings, places = yard.part(Settings), yard.part(RecordPlaces)
    codec = InterceptorCodec()
    yield codec
    path = settings.config_file.parent / FILE
    yield InterceptorRecords(places.document("interceptor", path, codec, names_once=True))
    if Local in yard.parts:
        keyring = keyring_lookup(places, settings.key)
        yield Interceptors(yard.part(Local), keyring, settings.separator)


def guards(yard: Yard) -> Iterable[GuardMaker]:
    """The maker of guards, where calls are served."""
    return [yard.part(Interceptors)] if Interceptors in yard.parts else []


def sources(yard: Yard) -> Sequence[Followed[InterceptorFields]]:
    """The source of all interceptors."""
    path = yard.part(Settings).config_file.parent / FILE
    tell = partial(_report, yard.part(InterceptorCodec), path)
    return [Followed(SOURCE, yard.part(InterceptorRecords), tell)]


def _report(
    codec: InterceptorCodec, path: Path, kept: Kept[InterceptorFields], before: Report
) -> Report:
    """Report the interceptors; where one cannot be read, what it is for stays closed."""
    if kept.failure is not None:
        closed = _closed("*", EVERYTHING, f"'{path.name}' cannot be read")
        return replace(
            before, problems=kept.problems, interceptors=before.interceptors or (closed,)
        )
    used = [make_interceptor(name, fields) for name, fields in kept.values.items()]
    tools = {interceptor.name: interceptor.tools for interceptor in before.interceptors}
    unread = [
        _closed(
            name,
            codec.patterns.get(name) or tools.get(name) or EVERYTHING,
            f"the interceptor {name!r} in '{path.name}' cannot be read",
        )
        for name in kept.troubles
    ]
    problems = [_located(path, name, problem) for name, (problem, _) in kept.troubles.items()]
    return Report(SOURCE, problems=tuple(problems), interceptors=(*used, *unread))


def _closed(name: str, tools: tuple[str, ...], fault: str) -> Interceptor:
    return Interceptor(name, tools, _NO_WORK, fault=fault)


def _located(path: Path, name: str, problem: Problem) -> Problem:
    """The problem with the line that it is about, where there is a file."""
    if problem.subject != str(path):
        return problem
    try:
        document = parse(read_bounded(path, READ_LIMIT))
    except (OSError, ConfigError, StoreError):
        return problem
    member = document.root.member(name) if document.root is not None else None
    if member is None:
        return problem
    place = f"{path}:{document.line(member)}"
    return replace(problem, subject=place, text=problem.text.replace(str(path), place, 1))
