"""Advice on a definition that can be used and could be better; given when somebody asks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolyard.core.model import Command
from toolyard.features.catalog.model import Definition

CATEGORIES: Final = (
    *("development", "database", "productivity", "communication", "search", "cloud"),
    *("analytics", "ai", "utility", "custom"),
)
TITLE_LIMIT: Final = 64
DESCRIPTION_LIMIT: Final = 200
TAGS_LIMIT: Final = 10
_KEBAB: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_VERSION: Final = re.compile(r"\d+\.\d+(?:\.\d+)*(?:[-+.][0-9A-Za-z.+-]+)?")


def advise(definition: Definition) -> Iterator[str]:
    """Give each piece of advice as a sentence."""
    yield from definition.notes
    yield from _words(definition)
    if definition.category and definition.category not in CATEGORIES:
        yield f"category '{definition.category[:40]}' is none of: {', '.join(CATEGORIES)}"
    if len(definition.tags) > TAGS_LIMIT:
        yield f"it has {len(definition.tags)} tags; {TAGS_LIMIT} are enough"
    if not definition.links:
        yield "it has no link to a homepage, a repository or documentation"
    yield from _needs(definition)


def _words(definition: Definition) -> Iterator[str]:
    if not definition.full_name and not _KEBAB.fullmatch(definition.name):
        yield f"name '{definition.name}' is not in lower case with dashes"
    if not _VERSION.fullmatch(definition.version):
        yield f"version '{definition.version[:40]}' is not like 1.2.3"
    if not definition.title:
        yield "it has no title"
    elif len(definition.title) > TITLE_LIMIT:
        yield f"its title has more than {TITLE_LIMIT} characters"
    if not 10 <= len(definition.description) <= DESCRIPTION_LIMIT:
        yield f"its description should have 10 to {DESCRIPTION_LIMIT} characters"


def _needs(definition: Definition) -> Iterator[str]:
    authorization = definition.authorization
    if authorization.kind in ("api_key", "bearer") and not authorization.variables:
        yield f"its authorization '{authorization.kind}' names no variable"
    keys = [
        variable for variable in authorization.variables if variable.required and variable.secret
    ]
    if authorization.kind != "custom" and any(not (e.url or authorization.url) for e in keys):
        yield "it needs a secret and does not say where to get it"
    package = definition.package
    if package and package.kind == "binary" and not (package.sha256 or package.platforms):
        yield "its binary has no SHA-256"
    if isinstance(definition.endpoint, Command) and definition.endpoint.argv[0] in ("sh", "bash"):
        yield "it is started through a shell"
