"""`catalog`: servers to choose from, and which of them are in the yard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.starting import started, tell_start, wait_option
from toolyard.console.terminal import clean
from toolyard.core.counting import counted

if TYPE_CHECKING:
    from toolyard.core.jsontypes import JsonObject
    from toolyard.features.catalog.rows import DefinitionDetails, DefinitionList
    from toolyard.features.catalog.summary import DefinitionSummary
    from toolyard.features.catalog.validation import CheckedFile, CheckSummary

TITLES = ("name", "title", "category", "transport", "needs", "tools", "in the yard")
FOUND_TITLES = ("name", "version", "description")
SHOWN = 60
REGISTRY_SECONDS: Final = 60.0
"""Time for a hub that asks a registry, which has half of that to answer."""


def complete_definitions(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names in the catalog that begin like this."""
    from toolyard.features.catalog.bundled_catalog import BUNDLED
    from toolyard.features.catalog.store import Catalog

    shelf = Catalog(_root(CliContext())).load()
    names = {*shelf.definitions, *(file.stem for file in BUNDLED.glob("*.json"))}
    return sorted(name for name in names if name.startswith(incomplete))


def complete_added(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of servers added from the catalog that begin like this."""
    from toolyard.features.catalog.store import Catalog

    added = Catalog(_root(CliContext())).load().added
    return sorted(name for name in added if name.startswith(incomplete))


@click.group("catalog")
@json_option
def catalog_command() -> None:
    """Choose servers from the catalog, add your own, check and import."""


@catalog_command.command("list")
@click.option("--category", metavar="WORD", default="", help="Only this category.")
@click.option("--added", is_flag=True, help="Only what is in the yard.")
@json_option
@click.pass_obj
def list_command(context: CliContext, category: str, added: bool) -> None:
    """List the definitions."""
    from toolyard.features.catalog.operations import list_definitions
    from toolyard.features.catalog.rows import CatalogQuery

    answer = context.run(list_definitions, CatalogQuery(category=category, added=added))
    _answer(context, answer, answer.definitions)


@catalog_command.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--registry", metavar="URL", help="Search what is published there instead.")
@click.option(
    "--limit", type=click.IntRange(1, 100), default=30, metavar="N", help="Show at most N."
)
@json_option
@click.pass_obj
def search_command(
    context: CliContext, words: Sequence[str], registry: str | None, limit: int
) -> None:
    """Search the definitions, or those that a registry publishes."""
    from toolyard.features.catalog.operations import list_definitions
    from toolyard.features.catalog.rows import CatalogQuery

    text = " ".join(words)
    if registry is not None:
        _search_published(context, registry, text, limit)
        return
    answer = context.run(list_definitions, CatalogQuery(search=text))
    _answer(context, answer, answer.definitions[:limit])


@catalog_command.command("show")
@click.argument("name", shell_complete=complete_definitions)
@json_option
@click.pass_obj
def show_command(context: CliContext, name: str) -> None:
    """Show a definition in full: what would be started, and what it needs."""
    import msgspec

    from toolyard.features.catalog.reading import read_definition

    details = _read(context, name)
    tools = read_definition(msgspec.json.encode(details.definition)).known_tools
    fields = msgspec.structs.asdict(details)
    del fields["definition"], fields["alias"]
    fields |= {"launch": str(details.launch), "tool_names": tools}
    context.terminal.answer(msgspec.to_builtins(fields), lambda: _show(context, details, tools))


@catalog_command.command("add")
@click.argument("name", shell_complete=complete_definitions)
@click.option("-e", "--env", multiple=True, metavar="K=V", help="A value it needs.")
@wait_option
@json_option
@click.pass_obj
def add_command(context: CliContext, name: str, env: Sequence[str], no_wait: bool) -> None:
    """Make a definition a server of the yard, and wait until it is ready.

    \b
    toolyard catalog add time
    toolyard catalog add github -e 'GITHUB_TOKEN=${keyring:github}'
    """
    from toolyard.features.catalog.model import SOURCE
    from toolyard.features.catalog.operations import add_definition
    from toolyard.features.catalog.rows import AddDefinition
    from toolyard.features.servers.writing import follow_added, note_alias

    values, details = _pairs(env), _read(context, name)
    added = context.run(add_definition, AddDefinition(details.name, values))
    note_alias(context, details.name, added.alias)
    if not context.terminal.as_json:
        _say_done(context, "added", details.name, str(details.launch), added.alias)
    if added.problem:
        context.terminal.note(f"note: {added.problem.text}")
        context.terminal.note(f"hint: {added.problem.hint}")
    waits = not (no_wait or added.problem)
    row = follow_added(context, f"{details.name}@{SOURCE}") if waits else None
    answer = {"done": "added", "server": details.name, "launch": str(details.launch)}
    context.terminal.answer({**answer, "alias": added.alias, **started(row)}, lambda: None)
    tell_start(context, row)


@catalog_command.command("remove")
@click.argument("name", shell_complete=complete_added)
@click.option("--definition", is_flag=True, help="Also delete your own definition of it.")
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str, definition: bool) -> None:
    """Take a server of the catalog out of the yard."""
    from toolyard.features.catalog.operations import drop_definition, remove_definition
    from toolyard.features.catalog.rows import DefinitionName

    if not definition or _read(context, name).added:
        context.run(drop_definition, DefinitionName(name))
    if definition:
        context.run(remove_definition, DefinitionName(name))
    _done(context, "removed", name, "")


@catalog_command.command("import")
@click.argument("name")
@click.option("--registry", required=True, metavar="URL", help="Where it is published.")
@click.option("--version", default="latest", metavar="V", help="The version (default: the latest).")
@click.option("--as", "alias", default="", metavar="NAME", help="What to call it here.")
@json_option
@click.pass_obj
def import_command(context: CliContext, name: str, registry: str, version: str, alias: str) -> None:
    """Import a definition from a registry; nothing is started."""
    from toolyard.features.catalog.operations import import_definition
    from toolyard.features.catalog.rows import ImportPublished

    order = ImportPublished(name, registry, version, alias)
    here = context.run(import_definition, order, REGISTRY_SECONDS).name
    _done(context, "imported", here, str(_read(context, here).launch))
    context.terminal.note(f"to use it, run: toolyard catalog add {here}")


@catalog_command.command("validate")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("--strict", is_flag=True, help="Count advice as a failure.")
@json_option
@click.pass_obj
def validate_command(context: CliContext, paths: Sequence[Path], strict: bool) -> None:
    """Check definitions: files, folders, or all of the catalog.

    Exits with 1 if a definition cannot be used or, with --strict, if there is advice about one.
    """
    from toolyard.features.catalog.validation import check, gather, summarise_check

    roots = [path.absolute() for path in paths] or [_complete_root(context)]
    results = [check(path) for path in gather(roots)]
    summary = summarise_check(results, strict=strict)
    answer = {"results": results, "summary": summary}
    context.terminal.answer(answer, lambda: _show_results(context, results, summary))
    if summary.failed:
        raise click.exceptions.Exit(Exit.FAILED)
    if not results:
        raise CommandError("there is nothing to check there", "name a file or a folder")


def _root(context: CliContext) -> Path:
    from toolyard.features.catalog.store import catalog_root

    return catalog_root(context.settings)


def _complete_root(context: CliContext) -> Path:
    """Return the folder of the catalog, with all that we ship in it."""
    from toolyard.features.catalog.store import Catalog

    catalog = Catalog(_root(context))
    catalog.copy_bundled()
    return catalog.root


def _read(context: CliContext, name: str) -> DefinitionDetails:
    from toolyard.features.catalog.operations import get_definition
    from toolyard.features.catalog.rows import DefinitionName

    return context.run(get_definition, DefinitionName(name))


def _pairs(words: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        key, mark, value = word.partition("=")
        if not mark or not key.strip():
            # The value may be a secret, so nothing of the word is shown.
            raise click.UsageError("-e must be given as NAME=value")
        pairs[key.strip()] = value
    return pairs


def _search_published(context: CliContext, registry: str, words: str, limit: int) -> None:
    from toolyard.features.catalog.operations import search_published
    from toolyard.features.catalog.rows import PublisherQuery

    order = PublisherQuery(registry, words, limit=limit)
    page = context.run(search_published, order, REGISTRY_SECONDS)
    answer = {"servers": page.servers, "next_cursor": page.metadata.next_cursor}
    rows = [_published_row(entry["server"]) for entry in page.servers]
    context.terminal.answer(answer, lambda: context.terminal.table(FOUND_TITLES, rows))


def _answer(context: CliContext, answer: DefinitionList, shown: list[DefinitionSummary]) -> None:
    value = {"definitions": shown, "problems": answer.problems}
    context.terminal.answer(value, lambda: _show_list(context, answer, shown))


def _show_list(context: CliContext, answer: DefinitionList, shown: list[DefinitionSummary]) -> None:
    if shown:
        context.terminal.table(TITLES, [_row(summary) for summary in shown])
    else:
        context.terminal.say("nothing in the catalog matches")
    if len(shown) < answer.total:
        context.terminal.note(f"and {answer.total - len(shown)} more")
    for problem in answer.problems:
        context.terminal.problem(problem.text, problem.hint, problem.subject)


def _row(summary: DefinitionSummary) -> list[str]:
    needs = ", ".join(variable.name for variable in summary.variables if variable.required)
    if summary.authorization == "oauth2" and not needs:
        needs = "a login"
    tools = str(summary.tools) if summary.verified_at or summary.tools else "-"
    state = ("yes" if summary.enabled else "disabled") if summary.added else ""
    words = [summary.name, summary.title, summary.category, summary.transport]
    return [*words, needs, tools, state]


def _published_row(server: JsonObject) -> list[str]:
    text = str(server.get("description", ""))
    short = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return [str(server.get("name", "")), str(server.get("version", "")), short]


def _show(context: CliContext, details: DefinitionDetails, tools: Sequence[str]) -> None:
    say = context.terminal.say
    say(f"{details.name} {clean(details.version)}: {clean(details.title)}")
    say(clean(details.description))
    say(f"  starts:   {clean(str(details.launch))}")
    say(f"  file:     {details.file}")
    say(f"  verified: {details.verified_at or 'never'}, {counted(details.tools, 'tool')} on file")
    if tools:
        say(f"  tools:    {clean(', '.join(tools))}")
    for variable in details.variables:
        word = "needs" if variable.required else "takes"
        where = f" (get it at {clean(variable.url)})" if variable.url else ""
        say(f"  {word}:    {variable.name}: {clean(variable.text)}{where}")
    for name, url in details.links.items():
        say(f"  {clean(name)}: {clean(url)}")


def _done(context: CliContext, what: str, name: str, launch: str) -> None:
    answer = {"done": what, "server": name} | ({"launch": launch} if launch else {})
    context.terminal.answer(answer, lambda: _say_done(context, what, name, launch))


def _say_done(context: CliContext, what: str, name: str, launch: str, alias: str = "") -> None:
    called = f" as '{alias}'" if alias not in ("", name) else ""
    context.terminal.say(f"{what} '{name}'{called}" + (f": {clean(launch)}" if launch else ""))


def _show_results(context: CliContext, results: list[CheckedFile], summary: CheckSummary) -> None:
    for result in results:
        word = "failing" if result.errors else "ok"
        context.terminal.say(f"{context.terminal.word(word)} {result.file}")
        for text in result.errors:
            context.terminal.say(f"  error:  {clean(text)}")
        for text in result.advice:
            context.terminal.say(f"  advice: {clean(text)}")
    context.terminal.say(
        f"{summary.files} files, {summary.failed} failed, "
        f"{summary.errors} errors, {summary.advice} pieces of advice"
    )
