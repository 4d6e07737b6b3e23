"""The values that a proposed server needs: given by flags, asked for, and kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import click

from toolyard.console.context import CliContext
from toolyard.core.endpoint import write_endpoint
from toolyard.core.endpoint_fields import ENDPOINT_KEYS
from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.server_entries import read_entry
from toolyard.features.adding.model import Proposal, WantedValue, literal
from toolyard.records.secrets.mask import MASK, is_reference

Values = dict[str, tuple[str, ...]]


def collect_values(proposal: Proposal, given: Mapping[str, Sequence[str]], can_ask: bool) -> Values:
    """Return a value for everything that a server needs; those of secrets are not yet kept.

    Raises:
        click.UsageError: A value is given that nothing needs, or is missing, or is a secret that
            others could read on the command line.
    """
    keys = [wanted.key for wanted in proposal.wants]
    for key in given:
        if key not in keys:
            needs = f"it needs {', '.join(keys)}" if keys else "it needs none"
            raise click.UsageError(f"'{proposal.name}' needs no value '{key}'; {needs}")
    return {wanted.key: _value(wanted, given, can_ask) for wanted in proposal.wants}


def keep_values(context: CliContext, proposal: Proposal, values: Values) -> Values:
    """Return the values as the entry has them: secrets are kept, and referred to."""
    return {
        wanted.key: _kept(context, wanted, values[wanted.key])
        if wanted.is_secret
        else tuple(map(literal, values[wanted.key]))
        for wanted in proposal.wants
    }


def _value(
    wanted: WantedValue, given: Mapping[str, Sequence[str]], can_ask: bool
) -> tuple[str, ...]:
    if wanted.key in given:
        # Links and bundles alike: a secret in the list of processes is none any more.
        if wanted.is_secret and not all(map(is_reference, given[wanted.key])):
            raise click.UsageError(
                f"others can see '{wanted.key}' on the command line; store it with: toolyard secret"
                f" set NAME, and give --value '{wanted.key}=${{keyring:NAME}}'"
            )
        return _checked(wanted, _as_paths(wanted, given[wanted.key]))
    if can_ask:
        return _as_paths(wanted, _ask(wanted))
    if wanted.is_required and not wanted.default:
        raise click.UsageError(f"it needs a value: --value {wanted.key}=...")
    return _checked(wanted, wanted.default)


def _checked(wanted: WantedValue, values: tuple[str, ...]) -> tuple[str, ...]:
    """The values, if they can be used; what a reference stands for is not known yet.

    Raises:
        click.UsageError: One is not a number, or too small or too large.
    """
    for value in values:
        if wanted.range and value not in wanted.range and not is_reference(value):
            raise click.UsageError(f"'{wanted.key}' must be {wanted.range}")
    return values


def _as_paths(wanted: WantedValue, values: Sequence[str]) -> tuple[str, ...]:
    """The values; paths mean the same wherever the server runs."""
    if not wanted.is_path:
        return tuple(values)
    return tuple(os.path.abspath(os.path.expanduser(value)) for value in values)


def _ask(wanted: WantedValue) -> tuple[str, ...]:
    title = wanted.title or wanted.key
    if wanted.description and wanted.description != title:
        title = f"{title} ({wanted.description})"
    if wanted.is_list:
        title = f"{title}, separated by commas"
    default = ",".join(wanted.default) if wanted.default or not wanted.is_required else None

    def read(answer: str) -> tuple[str, ...]:
        parts = map(str.strip, answer.split(",")) if wanted.is_list else [answer]
        return _checked(wanted, tuple(filter(None, parts)))

    values: tuple[str, ...] = click.prompt(
        title,
        default=default,
        hide_input=wanted.is_secret,
        show_default=bool(default),
        value_proc=read,
        err=True,
    )
    return values


def _kept(context: CliContext, wanted: WantedValue, values: tuple[str, ...]) -> tuple[str, ...]:
    """Keep a secret, in a file of the user's own where there is no keyring."""
    from toolyard.features.secrets.operations import NewSecret, put_secret
    from toolyard.features.secrets.store import open_secrets

    if not values or all(map(is_reference, values)):
        return values
    order = NewSecret(wanted.secret_name, ",".join(values), or_file=True)
    MASK.add(order.value)
    context.run_here(put_secret, order)
    return (open_secrets(context.settings, context.places).planned(order.name).reference,)


def move_secrets(context: CliContext, name: str, entry: JsonObject) -> JsonObject:
    """Return an entry without the secrets that stand in it; they are kept, and told by name."""
    from toolyard.features.secrets.moving import SecretMover
    from toolyard.features.secrets.operations import NewSecret, put_secret
    from toolyard.features.secrets.store import open_secrets

    mover = SecretMover(open_secrets(context.settings, context.places))
    moved = mover.move_out(name, read_entry(entry).endpoint)
    if not moved.values:
        return entry
    for secret, value in moved.values.items():
        context.run_here(put_secret, NewSecret(secret, value, or_file=True))
    context.terminal.note(f"note: moved secrets into your store: {', '.join(moved.values)}")
    rest = {key: value for key, value in entry.items() if key not in ENDPOINT_KEYS}
    written = write_endpoint(moved.endpoint).items()
    # Without a command, the image's own is run.
    return {key: value for key, value in written if value or key in entry} | rest


def read_given(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read `KEY=VALUE` words; a key that stands there twice has both values.

    Raises:
        ConfigError: One has no equals sign.
    """
    given: dict[str, tuple[str, ...]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise ConfigError("--value must be given as KEY=VALUE")
        given[key] = (*given.get(key, ()), value)
    return given


def can_ask(context: CliContext) -> bool:
    """Tell whether there is a person at a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not context.terminal.as_json
