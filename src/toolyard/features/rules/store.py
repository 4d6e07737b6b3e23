"""The records of rules, by name."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.core.rules import CallRule, closing_rule
from toolyard.features.rules.model import reach_of, read_rule, write_rule
from toolyard.records.protocol import RecordKind

FILE: Final = "rules.json"


class RulesCodec:
    """Reads and writes rules; one that is damaged is read as the rule that refuses its calls."""

    def read(self, key: str, plain: Any) -> CallRule:
        """Make a rule of plain data.

        Raises:
            ConfigError: There is none.
        """
        if plain is None:
            raise ConfigError("it is empty", "write it as { ... }")
        try:
            return read_rule(key, plain)
        except ConfigError as error:
            tools, tier = reach_of(plain)
            return closing_rule(key, str(error), tools, tier, json.dumps(plain))

    def write(self, value: CallRule) -> object:
        """Make plain data of a rule; a damaged one is as it was."""
        if value.fault:
            return json.loads(value.written)
        return msgspec.to_builtins(write_rule(value))

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that rules cannot be read."""
        line = getattr(error, "line", None)
        text = f"the rules in '{where}' cannot be read ({error}); those read last stay in force"
        subject = f"{where}:{line}" if line else where
        return Problem(ProblemCode.RULES_FILE, text, error.hint or "correct it", subject)


class RuleRecords(RecordKind[CallRule]):
    """All rules."""
