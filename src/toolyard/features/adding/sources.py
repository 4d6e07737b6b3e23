"""`add` with something that describes the server itself: shown, confirmed, then written."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from toolyard.console.context import CliContext
from toolyard.console.terminal import visible
from toolyard.core.install_links import is_link
from toolyard.features.adding.model import Proposal
from toolyard.features.adding.pasted import LONGEST, read_pasted
from toolyard.features.adding.values import (
    can_ask,
    collect_values,
    keep_values,
    move_secrets,
    read_given,
)

if TYPE_CHECKING:
    from toolyard.core.jsontypes import JsonObject

STDIN = "-"
BUNDLES = (".mcpb", ".dxt")
"""The endings of bundles; the second is what they were called first."""
TAKEN = "use --force to replace it, or put another name before: toolyard add NAME ..."
CANNOT_ASK = "cannot ask (no terminal); preview with --dry-run, then add --yes"


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The flags of `add` that go with a source."""

    values: tuple[str, ...] = ()
    disabled: bool = False
    force: bool = False
    plain: bool = False
    """Leave tokens and passwords in the servers file."""
    yes: bool = False
    dry_run: bool = False
    no_wait: bool = False


def find_source(name: str, command: Sequence[str]) -> tuple[str, str] | None:
    """Return the name that was given, if any, and the source; None if this is a plain server."""
    if is_source(name) and not command:
        return "", name
    if len(command) == 1 and is_source(command[0]):
        return name, command[0]
    return None


def is_source(word: str) -> bool:
    """Tell whether a word describes a server by itself: a link, a text from stdin, a bundle."""
    return word == STDIN or is_link(word) or is_bundle(word)


def is_bundle(word: str) -> bool:
    """Tell whether a word names a bundle."""
    return word.lower().endswith(BUNDLES) and not is_link(word)


def add_source(context: CliContext, name: str, source: str, options: SourceOptions) -> None:
    """Add the servers of a source."""
    proposals = read_pasted(sys.stdin.read(LONGEST + 1) if source == STDIN else source)
    if name:
        if len(proposals) > 1:
            raise click.UsageError("the text has several servers, so leave the name out")
        proposals = [replace(proposals[0], name=name)]
    if not context.terminal.as_json:
        for proposal in proposals:
            show_proposal(context, proposal)
    # What is piped in has used up the terminal's input.
    may_ask = can_ask(context) and source != STDIN
    if options.dry_run:
        answer = {"dry_run": True, "servers": [plain_proposal(proposal) for proposal in proposals]}
        context.terminal.answer(answer, lambda: None)
        return
    refuse_taken(context, proposals, options)
    confirm(proposals, options.yes, may_ask)
    values_by_flag = read_given(options.values)
    entries = {}
    for proposal in proposals:
        values = collect_values(proposal, values_by_flag, may_ask)
        entries[proposal.name] = proposal.filled(keep_values(context, proposal, values))
    write_entries(context, entries, options)


def confirm(proposals: Sequence[Proposal], yes: bool, may_ask: bool) -> None:
    """Have the person say yes.

    Raises:
        click.UsageError: Nobody can be asked, and no flag says yes.
    """
    if yes:
        return
    if not may_ask:
        raise click.UsageError(CANNOT_ASK)
    subject = "it" if len(proposals) == 1 else f"these {len(proposals)} servers"
    click.confirm(f"Add {subject}?", abort=True)


def refuse_taken(
    context: CliContext, proposals: Sequence[Proposal], options: SourceOptions
) -> None:
    """Refuse names that are taken before anything is asked, kept or unpacked.

    Raises:
        CommandError: There is a server of that name.
    """
    from toolyard.features.servers.writing import refuse_written

    if not options.force:
        for proposal in proposals:
            refuse_written(context, proposal.name, TAKEN)


def show_proposal(context: CliContext, proposal: Proposal) -> None:
    """Show all of a server that somebody else wrote, every character of it."""
    entry = proposal.entry
    say = context.terminal.say
    say(f"'{proposal.name}' would {'use' if entry.get('url') else 'run'}:")
    command = entry.get("command")
    words = [*(command if isinstance(command, list) else [command]), *(entry.get("args") or [])]
    say(f"  {_one_line(' '.join(map(str, words)) if command else str(_address(entry)))}")
    for key in ("env", "environment", "headers"):
        for name, value in (entry.get(key) or {}).items():
            say(f"  with {_one_line(f'{name}={value}')}")
    if entry.get("cwd"):
        say(f"  in {_one_line(str(entry['cwd']))}")
    for value in proposal.wants:
        kind = "secret" if value.is_secret else "value"
        need = "needs" if value.is_required else "takes"
        say(f"  {need} the {kind} {_one_line(value.key)}: {_one_line(value.title)}")
    if proposal.left_out:
        say(f"  without {_one_line(', '.join(proposal.left_out))}")


def plain_proposal(proposal: Proposal) -> JsonObject:
    """A proposal as an answer for programs has it."""
    return {
        "name": proposal.name,
        "entry": proposal.entry,
        "needs": [{"key": w.key, "secret": w.is_secret} for w in proposal.wants],
        "left_out": list(proposal.left_out),
    }


def write_entries(
    context: CliContext, entries: dict[str, JsonObject], options: SourceOptions
) -> None:
    """Write servers down."""
    from toolyard.features.servers.writing import (
        servers_file,
        servers_place,
        tell_added,
        write_server,
    )

    for name, entry in entries.items():
        bare = entry if options.plain else move_secrets(context, name, entry)
        whole = bare | ({"disabled": True} if options.disabled else {})
        ordered = write_server(context, name, whole, force=options.force, hint=TAKEN)
        if len(entries) == 1:
            tell_added(context, name, ordered, wait=not options.no_wait)
            return
    place = servers_place(context)
    answer = {"done": "added", "servers": list(entries), "file": servers_file(context)}
    listed = ", ".join(f"'{name}'" for name in entries)
    context.terminal.answer(answer, lambda: context.terminal.say(f"added {listed} in {place}"))


def _address(entry: JsonObject) -> object:
    return entry.get("url") or entry.get("httpUrl") or entry.get("serverUrl")


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")
