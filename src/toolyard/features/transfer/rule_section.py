"""Rules about calls as a section of a document."""

from __future__ import annotations

from typing import Final

import msgspec

from toolyard.core.jsontypes import JsonObject
from toolyard.core.rules import CallRule
from toolyard.features.rules.model import read_rule, write_rule
from toolyard.features.rules.operations import PutRule, RuleName, put_rule, remove_rule
from toolyard.features.rules.store import RuleRecords
from toolyard.features.transfer.sections import (
    DocumentSection,
    RecordWrite,
    SectionContents,
    left_out,
    usable,
    versions_of,
)
from toolyard.yard import Yard


def _read_rules(yard: Yard) -> SectionContents:
    records = yard.part(RuleRecords).read()
    rules = usable(records)
    bodies = {name: _body(rule) for name, rule in rules.items() if not rule.fault}
    damaged = [name for name, rule in rules.items() if rule.fault]
    return SectionContents(bodies, versions_of(records), left_out("rule", damaged))


def _body(rule: CallRule) -> JsonObject:
    body: JsonObject = msgspec.to_builtins(write_rule(rule))
    return body


def _check_rule(name: str, body: JsonObject) -> JsonObject:
    return _body(read_rule(name, body))


async def _put_rule(yard: Yard, order: RecordWrite) -> object:
    return await put_rule.run(yard, msgspec.convert({**order.body, "name": order.name}, PutRule))


async def _remove_rule(yard: Yard, name: str) -> object:
    return await remove_rule.run(yard, RuleName(name))


RULES: Final = DocumentSection("rules", "rule", _read_rules, _check_rule, _put_rule, _remove_rule)
