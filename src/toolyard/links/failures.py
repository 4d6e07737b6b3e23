"""Problems of a server as its link sees them: what failed, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolyard.core.errors import LinkError, SecretError, StartError, ToolyardError
from toolyard.core.failure_hints import find_hint
from toolyard.core.model import Command, Problem, Server
from toolyard.core.problems import ProblemCode
from toolyard.links.refusals import AuthNeededError
from toolyard.records.secrets.mask import MASK

CODES: Final[tuple[tuple[type[ToolyardError], ProblemCode], ...]] = (
    (AuthNeededError, ProblemCode.AUTH_NEEDED),
    (SecretError, ProblemCode.SECRET_MISSING),
    (StartError, ProblemCode.SERVER_START),
)
"""What a server may fail of, and the codes of these problems; all else is `server-link`."""


def failure(server: Server, error: ToolyardError) -> Problem:
    """The problem of a server that could not be reached, or was lost."""
    codes = (code for kind, code in CODES if isinstance(error, kind))
    return _problem(server, next(codes, ProblemCode.SERVER_LINK), error)


def lacking(server: Server, error: ToolyardError) -> Problem:
    """The problem of a server that wants more rights for some calls."""
    return _problem(server, ProblemCode.AUTH_NEEDED, error)


def partly_listed(server: Server, failures: Mapping[str, LinkError]) -> Problem | None:
    """The warning about lists that did not arrive, if there are any."""
    if not failures:
        return None
    texts = dict.fromkeys(MASK.hide(str(error)) for error in failures.values())
    again = f"toolyard server refresh {server.id.name}"
    causes = (find_hint(text) for text in texts)
    hint = next((f"{cause}; then: {again}" for cause in causes if cause), f"ask again: {again}")
    text = f"{'; '.join(texts)}; everything else works"
    return Problem(ProblemCode.SERVER_LISTS, text, hint, subject=str(server.id))


def _problem(server: Server, code: ProblemCode, error: ToolyardError) -> Problem:
    hint = error.hint or find_hint(str(error)) or _next_step(server)
    return Problem(code, str(error), hint, subject=str(server.id))


def _next_step(server: Server) -> str:
    """The hint for a failure that brings none of its own."""
    if isinstance(server.endpoint, Command):
        return f"look at its log: toolyard logs {server.id.name}"
    return "check that its address is that of an MCP server, and what the server itself logs"
