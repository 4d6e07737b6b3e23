"""The rules that were set, on the picture like all else, and the guards made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem, Report
from toolyard.core.problems import ProblemCode
from toolyard.core.rules import CallRule, closing_rule
from toolyard.features.rules.asking import CallAsking
from toolyard.features.rules.guarding import RuleGuards
from toolyard.features.rules.model import HINT
from toolyard.features.rules.store import FILE, RuleRecords, RulesCodec
from toolyard.records.files import read_bounded
from toolyard.records.followed import Followed
from toolyard.records.jsonc import parse
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept
from toolyard.relay.guards import GuardMaker
from toolyard.relay.relay import Relay
from toolyard.settings import Settings
from toolyard.yard import Yard

SOURCE: Final = "rules"


def parts(yard: Yard) -> Iterable[object]:
    """The rules; as a file they are beside the servers file."""
    places = yard.part(RecordPlaces)
    yield RuleRecords(places.document("rule", _path(yard), RulesCodec(), names_once=True))


def sources(yard: Yard) -> Sequence[Followed[CallRule]]:
    """The source of all rules."""
    is_file = yard.part(RecordPlaces).shared is None
    report = partial(_report, _path(yard) if is_file else None)
    return [Followed(SOURCE, yard.part(RuleRecords), report)]


def guards(yard: Yard) -> Iterable[GuardMaker]:
    """Stands in front of the tools that rules are about."""
    relay = yard.part(Relay)
    yield RuleGuards(CallAsking(yard.board, relay.held, relay.waiting))


def _path(yard: Yard) -> Path:
    return yard.part(Settings).config_file.parent / FILE


def _report(path: Path | None, kept: Kept[CallRule], before: Report) -> Report:
    """Report the rules; where they cannot be read, no call passes that they may be about."""
    if kept.failure is not None:
        text = f"the rules cannot be read: {kept.failure.subject}"
        rules = before.rules or (closing_rule("*", text),)
        return replace(before, problems=kept.problems, rules=rules)
    rules = tuple(rule for _, rule in sorted(kept.values.items()))
    damaged = tuple(_problem(path, rule) for rule in rules if rule.fault)
    return Report(SOURCE, problems=(*kept.problems, *damaged), rules=rules)


def _problem(path: Path | None, rule: CallRule) -> Problem:
    about = ", ".join(rule.tools) or "every tool"
    text = f"rule '{rule.name}' is damaged ({rule.fault}); until it is corrected, calls of {about}"
    text += f" (tier {rule.tier} and above) are refused" if rule.tier else " are refused"
    where = f"{path}:{_line(path, rule.name)}" if path is not None else "the database"
    return Problem(ProblemCode.RULES_FILE, text, f"correct it; {HINT}", where)


def _line(path: Path, name: str) -> int:
    """The line of a file on which a rule begins; 1 if that cannot be told any more."""
    try:
        document = parse(read_bounded(path))
    except (OSError, ConfigError, StoreError):
        return 1
    member = document.root.member(name) if document.root is not None else None
    return document.line(member) if member is not None else 1
