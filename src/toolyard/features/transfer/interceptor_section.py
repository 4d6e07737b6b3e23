"""Interceptors as a section of a document.

References stand for the secrets of their programs and endpoints. Arguments and configurations go to
servers and programs as they are, and know no references: an interceptor with a secret there stays.
"""

from __future__ import annotations

from typing import Final

import msgspec

from toolyard.core.jsontypes import JsonObject
from toolyard.features.interceptors.model import (
    InterceptorFields,
    make_interceptor,
    read_fields,
)
from toolyard.features.interceptors.operations import (
    InterceptorName,
    PutInterceptor,
    put_interceptor,
    remove_interceptor,
)
from toolyard.features.interceptors.store import InterceptorRecords
from toolyard.features.transfer.sections import (
    DocumentSection,
    RecordWrite,
    SectionContents,
    left_out,
    usable,
    versions_of,
)
from toolyard.records.secrets.extraction import take_from_json
from toolyard.yard import Yard

_VALUES: Final = ("fix", "default")


def _read_interceptors(yard: Yard) -> SectionContents:
    records = yard.part(InterceptorRecords).read()
    bodies = {name: _body(fields) for name, fields in usable(records).items()}
    secrets = {name: _find_secrets(body) for name, body in bodies.items()}
    notes = [
        f"interceptor '{name}' is left out: '{names[0]}' holds a secret, and no reference can"
        " stand there; add it by hand where the document is applied"
        for name, names in secrets.items()
        if names
    ]
    return SectionContents(
        bodies,
        versions_of(records),
        notes=(*left_out("interceptor", records.troubles), *notes),
        withheld=frozenset(name for name, names in secrets.items() if names),
    )


def _body(fields: InterceptorFields) -> JsonObject:
    body: JsonObject = msgspec.to_builtins(fields)
    return body


def _find_secrets(body: JsonObject) -> list[str]:
    """The names of the secrets in values that take no references."""
    names: list[str] = []

    def note(name: str, secret: str) -> str:
        names.append(name)
        return secret

    for argument, rule in body.get("arguments", {}).items():
        for key in _VALUES:
            take_from_json(rule.get(key), note, argument)
    take_from_json(body.get("config"), note, "config")
    return names


def _check_interceptor(name: str, body: JsonObject) -> JsonObject:
    fields = read_fields(body)
    make_interceptor(name, fields)
    return _body(fields)


async def _put_interceptor(yard: Yard, order: RecordWrite) -> object:
    return await put_interceptor.run(yard, PutInterceptor(order.name, order.body))


async def _remove_interceptor(yard: Yard, name: str) -> object:
    return await remove_interceptor.run(yard, InterceptorName(name))


INTERCEPTORS: Final = DocumentSection(
    "interceptors",
    "interceptor",
    _read_interceptors,
    _check_interceptor,
    _put_interceptor,
    _remove_interceptor,
    private=("program", "env", "url", "headers"),
)
