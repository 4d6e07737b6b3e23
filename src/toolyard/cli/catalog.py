"""`catalog`: what servers there are to choose from, and which of them are in the yard.

It works on the files; a running hub notices by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolyard.console.context import CliContext, json_option
from toolyard.console.errors import CommandError
from toolyard.console.exits import Exit
from toolyard.console.terminal import clean

if TYPE_CHECKING:
    from toolyard.core.catalog import Definition
    from toolyard.stores.catalog import Catalog, Shelf, Shelved

TITLES = ("name", "title", "category", "transport", "needs", "tools", "in the yard")
FOUND_TITLES = ("name", "version", "description")
SHOWN = 60


@click.group("catalog")
@json_option
def catalog_command() -> None:
    """Choose servers from the catalog, add your own, check and import."""


@catalog_command.command("list")
@click.option("--category", metavar="WORD", help="Only this category.")
@click.option("--added", is_flag=True, help="Only what is in the yard.")
@json_option
@click.pass_obj
def list_command(context: CliContext, category: str | None, added: bool) -> None:
    """List the definitions."""
    shelf = _open(context).load()
    found = [
        each
        for each in shelf.definitions.values()
        if category in (None, each.definition.category)
        and (not added or each.definition.name in shelf.added)
    ]
    _answer(context, shelf, found)


@catalog_command.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--registry", metavar="URL", help="Search what is published there instead.")
@click.option("--limit", type=click.IntRange(1, 100), default=30, help="At most so many.")
@json_option
@click.pass_obj
def search_command(
    context: CliContext, words: Sequence[str], registry: str | None, limit: int
) -> None:
    """Search the definitions, or those that a registry publishes."""
    if registry is None:
        from toolyard.core.shelves import find

        shelf = _open(context).load()
        every = list(shelf.definitions.values())
        texts = [each.definition for each in every]
        _answer(context, shelf, [every[index] for index in find(texts, " ".join(words))][:limit])
        return
    from toolyard.stores.published import Published

    page = Published(registry).search(" ".join(words), limit=limit)
    answer = {"servers": list(page.servers), "next_cursor": page.next_cursor}
    rows = [_published_row(each["server"]) for each in page.servers]
    context.terminal.answer(answer, lambda: context.terminal.table(FOUND_TITLES, rows))


@catalog_command.command("show")
@click.argument("name")
@json_option
@click.pass_obj
def show_command(context: CliContext, name: str) -> None:
    """Show a definition in full: what would be started, and what it needs."""
    catalog = _open(context)
    shelf = catalog.load()
    found = shelf.get(name)
    answer = _summary(found, shelf) | {"file": str(found.path), "launch": _launch(found)}
    answer["tool_names"] = list(found.definition.known_tools)
    context.terminal.answer(answer, lambda: _show(context, answer))


@catalog_command.command("add")
@click.argument("name")
@click.option("-e", "--env", multiple=True, metavar="K=V", help="A value it needs.")
@json_option
@click.pass_obj
def add_command(context: CliContext, name: str, env: Sequence[str]) -> None:
    """Make a definition a server of the yard.

    \b
    toolyard catalog add time
    toolyard catalog add github -e 'GITHUB_TOKEN=${keyring:github}'
    """
    import os

    from toolyard.sources.catalog import make_server

    catalog = _open(context)
    definition = catalog.load().get(name).definition
    alias = _alias(context, definition.name)
    if alias != definition.name:
        context.terminal.note(
            f"note: it is called '{alias}' in the yard, where '{definition.name}' is not free"
        )
    found = catalog.add(name, _pairs(env))
    server = make_server(definition, catalog.load().added[definition.name], os.environ)
    _done(context, "added", definition.name, _launch(found), alias)
    if server.problem is not None:
        context.terminal.note(f"note: {server.problem.text}")
        context.terminal.note(f"hint: {server.problem.hint}")


@catalog_command.command("remove")
@click.argument("name")
@click.option("--definition", is_flag=True, help="Also delete your own definition of it.")
@json_option
@click.pass_obj
def remove_command(context: CliContext, name: str, definition: bool) -> None:
    """Take a server of the catalog out of the yard."""
    catalog = _open(context)
    if name in catalog.load().added or not definition:
        catalog.drop(name)
    if definition:
        catalog.remove(name)
    _done(context, "removed", name, "")


@catalog_command.command("import")
@click.argument("name")
@click.option("--registry", required=True, metavar="URL", help="Where it is published.")
@click.option("--version", default="latest", metavar="V", help="Which version; else the latest.")
@click.option("--as", "alias", default="", metavar="NAME", help="What to call it here.")
@json_option
@click.pass_obj
def import_command(context: CliContext, name: str, registry: str, version: str, alias: str) -> None:
    """Take over a definition that a registry publishes; nothing is started."""
    from toolyard.stores.imports import import_published
    from toolyard.stores.published import Published

    catalog = _open(context)
    definition = import_published(catalog, Published(registry), name, version, alias)
    found = catalog.load().get(definition.name)
    _done(context, "imported", definition.name, _launch(found))
    context.terminal.note(f"to use it, run: toolyard catalog add {definition.name}")


@catalog_command.command("validate")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("--strict", is_flag=True, help="Count advice as a failure.")
@json_option
@click.pass_obj
def validate_command(context: CliContext, paths: Sequence[Path], strict: bool) -> None:
    """Check definitions: files, folders, or all of the catalog.

    Ends with 1 if one cannot be used, or with --strict if there is advice on one.
    """
    from toolyard.stores.validation import check, gather

    roots = [path.absolute() for path in paths] or [_open(context).root]
    results = [check(path) for path in gather(roots)]
    failed = [each for each in results if each["errors"] or (strict and each["advice"])]
    summary = {
        "files": len(results),
        "failed": len(failed),
        "errors": sum(len(each["errors"]) for each in results),
        "advice": sum(len(each["advice"]) for each in results),
    }
    answer = {"results": results, "summary": summary}
    context.terminal.answer(answer, lambda: _show_results(context, results, summary))
    if failed:
        raise click.exceptions.Exit(Exit.FAILED)
    if not results:
        raise CommandError("there is nothing to check there", "name a file or a folder")


def _pairs(words: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        key, mark, value = word.partition("=")
        if not mark or not key.strip():
            # The value may be a secret, so nothing of the word is shown.
            raise click.UsageError("-e must be given as NAME=value")
        pairs[key.strip()] = value
    return pairs


def _open(context: CliContext) -> Catalog:
    from toolyard.stores.catalog import Catalog

    root = context.settings.data_dir / "catalog"
    catalog = Catalog(root, approve=lambda written: _approve(context, written))
    catalog.restock()
    return catalog


def _approve(context: CliContext, definition: Definition) -> None:
    """What is imported here is meant to be started so; a hub that runs must not ask again."""
    from toolyard.records.database import Database
    from toolyard.stores.launch_approvals import LaunchApprovals
    from toolyard.stores.schema import MIGRATIONS

    with closing(Database(context.settings.state_dir / "toolyard.db", MIGRATIONS)) as database:
        LaunchApprovals(database).approve(f"{definition.name}@catalog", definition.launch)


def _summary(found: Shelved, shelf: Shelf) -> dict[str, Any]:
    import msgspec

    from toolyard.core.shelves import summarise

    summary = summarise(found.definition, found.folder, shelf.added)
    plain: dict[str, Any] = msgspec.to_builtins(summary)
    return plain


def _answer(context: CliContext, shelf: Shelf, found: list[Shelved]) -> None:
    from toolyard.cli.status import show_problems

    problems = [
        {"code": each.code, "text": each.text, "hint": each.hint, "subject": each.subject}
        for each in shelf.problems
    ]
    listed = [_summary(each, shelf) for each in found]

    def show() -> None:
        if listed:
            context.terminal.table(TITLES, [_row(each) for each in listed])
        else:
            context.terminal.say("nothing in the catalog matches")
        show_problems(context, problems)

    context.terminal.answer({"definitions": listed, "problems": problems}, show)


def _row(each: dict[str, Any]) -> list[str]:
    needs = ", ".join(v["name"] for v in each["variables"] if v["required"])
    if each["authorization"] == "oauth2" and not needs:
        needs = "a login"
    tools = str(each["tools"]) if each["verified_at"] or each["tools"] else "-"
    state = "disabled" if each["added"] and not each["enabled"] else "yes" if each["added"] else ""
    return [
        each["name"], each["title"], each["category"], each["transport"], needs, tools, state
    ]  # fmt: skip


def _published_row(server: dict[str, Any]) -> list[str]:
    text = str(server.get("description", ""))
    short = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return [str(server.get("name", "")), str(server.get("version", "")), short]


def _launch(found: Shelved) -> str:
    """What would be started or reached; values of variables are not in it."""
    from toolyard.core.model import Command

    endpoint = found.definition.endpoint
    return " ".join(endpoint.argv) if isinstance(endpoint, Command) else endpoint.url


def _show(context: CliContext, answer: dict[str, Any]) -> None:
    say = context.terminal.say
    say(f"{answer['name']} {clean(answer['version'])}: {clean(answer['title'])}")
    say(clean(answer["description"]))
    say(f"  starts:   {clean(answer['launch'])}")
    say(f"  file:     {answer['file']}")
    say(f"  verified: {answer['verified_at'] or 'never'}, {answer['tools']} tools on file")
    if answer["tool_names"]:
        say(f"  tools:    {clean(', '.join(answer['tool_names']))}")
    for each in answer["variables"]:
        word = "needs" if each["required"] else "takes"
        where = f" (get it at {clean(each['url'])})" if each["url"] else ""
        say(f"  {word}:    {each['name']}: {clean(each['text'])}{where}")
    for name, url in answer["links"].items():
        say(f"  {clean(name)}: {clean(url)}")


def _alias(context: CliContext, name: str) -> str:
    """What the yard calls a server of the catalog, or would: another one may have its name."""
    from toolyard.core.fold import alias_beside
    from toolyard.sources.catalog import SOURCE

    hub = context.find_hub()
    if hub:
        others = [(row["name"], row["source"]) for row in hub.status()["servers"]]
    else:
        ids = [server.id for server in context.servers_file.load().servers]
        others = [(id_.name, id_.source) for id_ in ids]
    return alias_beside(others, (name, SOURCE))


def _done(context: CliContext, what: str, name: str, launch: str, alias: str = "") -> None:
    answer = {"done": what, "server": name} | ({"launch": launch} if launch else {})
    answer |= {"alias": alias} if alias else {}

    def show() -> None:
        called = f" as '{alias}'" if alias not in ("", name) else ""
        context.terminal.say(f"{what} '{name}'{called}" + (f": {clean(launch)}" if launch else ""))

    context.terminal.answer(answer, show)


def _show_results(
    context: CliContext, results: list[dict[str, Any]], summary: dict[str, int]
) -> None:
    for each in results:
        word = "failing" if each["errors"] else "ok"
        context.terminal.say(f"{context.terminal.word(word)} {each['file']}")
        for text in each["errors"]:
            context.terminal.say(f"  error:  {clean(text)}")
        for text in each["advice"]:
            context.terminal.say(f"  advice: {clean(text)}")
    context.terminal.say(
        f"{summary['files']} files, {summary['failed']} failed, "
        f"{summary['errors']} errors, {summary['advice']} pieces of advice"
    )
