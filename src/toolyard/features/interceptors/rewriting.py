"""Rewrites arguments: some are hidden, some have another name, some have a value already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Raw

from toolyard.core.errors import ConfigError
from toolyard.core.interceptors import ArgumentRule
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Offer
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Fields

_PARTS: Final = ("allOf", "anyOf", "oneOf")
"""Members of a schema that hold further schemas of the same arguments."""


class Rewriter:
    """Rewrites the arguments of one tool, and its listed schema with them."""

    def __init__(self, rules: Iterable[ArgumentRule], tool: Offer) -> None:
        listed, is_open = listed_arguments(tool)
        self._rules = [(rule, is_open or rule.name in listed) for rule in rules]

    def arguments(self, sent: Fields) -> Fields:
        """Return the arguments as the server gets them.

        Raises:
            ConfigError: The caller sends what it does not see.
        """
        arguments = dict(sent)
        shown = {rule.shown for rule, is_listed in self._rules if is_listed and rule.shown}
        values: Fields = {}
        for rule, is_listed in self._rules:
            if _is_unseen(rule, is_listed) and rule.name in arguments.keys() - shown:
                self._refuse(rule)
                del arguments[rule.name]
            if is_listed and (value := _value(rule, sent)) is not None:
                values[rule.name] = value
        for name in shown:
            arguments.pop(name, None)
        return arguments | values

    def _refuse(self, rule: ArgumentRule) -> None:
        if rule.sent == "override":
            return
        hint = f"it is called {rule.shown!r} here" if rule.shown else "leave it out"
        raise ConfigError(f"the argument {rule.name!r} cannot be set by callers", hint)

    def listed(self, tool: Offer) -> Offer:
        """Return the tool as callers see it."""
        try:
            fields = jsonrpc.fields(tool.raw)
            schema = jsonrpc.to_python(fields["inputSchema"])
        except (KeyError, *jsonrpc.MalformedError):
            return tool
        rules = [rule for rule, is_listed in self._rules if is_listed]
        if not rules or not isinstance(schema, dict):
            return tool
        changed = Raw(jsonrpc.encode(_fit_schema(schema, rules)))
        return Offer(tool.key, jsonrpc.encode({**fields, "inputSchema": changed}))


def listed_arguments(tool: Offer) -> tuple[set[str], bool]:
    """The arguments that a tool lists by name, and whether it takes any, and lists none."""
    try:
        schema = jsonrpc.to_python(jsonrpc.fields(tool.raw).get("inputSchema", b"{}"))
    except jsonrpc.MalformedError:
        return set(), False
    parts = list(_schemas(schema))
    names = set[str]().union(*(_properties(part) for part in parts))
    says_some = any("properties" in part for part in parts)
    closes = any(part.get("additionalProperties") is False for part in parts)
    return names, not says_some and not closes


def _is_unseen(rule: ArgumentRule, is_listed: bool) -> bool:
    """Tell whether callers do not see an argument by its own name, because of this rule."""
    return not rule.shown or (is_listed and rule.shown != rule.name)


def _schemas(schema: Any) -> Iterable[JsonObject]:
    """A schema, and those that hold for the same object."""
    if not isinstance(schema, dict):
        return
    yield schema
    for name in _PARTS:
        if isinstance(parts := schema.get(name), list):
            yield from (part for part in parts if isinstance(part, dict))


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _value(rule: ArgumentRule, sent: Fields) -> Raw | None:
    if rule.fixed is not None:
        return Raw(rule.fixed)
    if rule.shown and rule.shown in sent:
        return sent[rule.shown]
    return Raw(rule.default) if rule.default is not None else None


def _fit_schema(schema: JsonObject, rules: list[ArgumentRule]) -> JsonObject:
    fitted = _fit_one(schema, rules)
    for name in _PARTS:
        if isinstance(parts := schema.get(name), list):
            fitted[name] = [
                _fit_one(part, rules) if isinstance(part, dict) else part for part in parts
            ]
    return fitted


def _fit_one(schema: JsonObject, rules: list[ArgumentRule]) -> JsonObject:
    fitted, by_name = dict(schema), {rule.name: rule for rule in rules}
    if isinstance(schema.get("properties"), dict):
        fitted["properties"] = _fit_properties(schema["properties"], by_name)
    if isinstance(required := schema.get("required"), list):
        names = (_required(name, by_name) for name in required)
        fitted["required"] = [name for name in names if name]
        if not fitted["required"]:
            del fitted["required"]
    for name in ("dependentRequired", "dependentSchemas", "dependencies"):
        if isinstance(table := schema.get(name), dict) and not by_name.keys().isdisjoint(table):
            fitted[name] = {key: part for key, part in table.items() if key not in by_name}
    return fitted


def _fit_properties(properties: JsonObject, by_name: dict[str, ArgumentRule]) -> JsonObject:
    given = {rule.shown for rule in by_name.values()}
    fitted: JsonObject = {}
    for name, about in properties.items():
        rule = by_name.get(name)
        if rule is None:
            if name not in given:
                fitted[name] = about
        elif rule.shown:
            default = {} if rule.default is None else {"default": jsonrpc.to_python(rule.default)}
            fitted[rule.shown] = {**about, **default} if isinstance(about, dict) else about
    return fitted


def _required(name: Any, by_name: dict[str, ArgumentRule]) -> Any:
    """The name by which callers must give an argument; none if they need not."""
    rule = by_name.get(name) if isinstance(name, str) else None
    if rule is None:
        return name
    return rule.shown if rule.default is None else ""
