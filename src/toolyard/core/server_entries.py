"""One entry of a servers file: an endpoint in any spelling of clients, and what is beside it.

Read here, beside what `toolyard.core.endpoint_fields` reads; unknown keys are left alone:

    enabled | disabled      true or false
    timeout                 seconds per call; 1000 and more are milliseconds
    title | description     what people see
    found                   executable and name of an adopted server
    executor                where a command runs: a name, or an object with bounds
    project                 a folder; the server is offered to clients that run in it, and no others
    exclusive               true: of its process there are never two at a time
    login                   "member": each member logs in at its address by their own account
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from toolyard.core.endpoint import Endpoint, Url
from toolyard.core.endpoint_fields import ENDPOINT_KEYS, read_endpoint, read_timeout
from toolyard.core.errors import ConfigError
from toolyard.core.fields import Fields
from toolyard.core.model import MEMBER_LOGIN, Identity
from toolyard.core.sites import ANYWHERE, Placement, read_placement

TOP_KEYS: Final = ("mcpServers", "servers", "mcp")
"""Where servers stand in a file; a name under several of them counts at the first."""
LAUNCH_KEYS: Final = (*ENDPOINT_KEYS, "found", "executor")
"""All that is about starting or reaching a server."""
SWITCH_KEYS: Final = ("enabled", "disabled")
TITLE_KEYS: Final = ("title", "description")


@dataclass(frozen=True, slots=True)
class WrittenServer:
    """A server as an entry declares it."""

    endpoint: Endpoint
    title: str
    enabled: bool
    timeout: float | None
    identity: Identity | None = None
    placement: Placement = ANYWHERE
    project: str = ""
    """The folder whose clients alone it is offered to; empty for everybody."""
    exclusive: bool = False
    """True if there must never be two of its process at a time."""
    login: str = ""
    """`member` if each member logs in there by themselves."""


def read_entry(entry: Any) -> WrittenServer:
    """Read one entry.

    Raises:
        FaultsError: It cannot be used; names every fault.
    """
    fields = Fields(entry, 'write it as {"command": ...}')
    fields.finish()
    placement = _placement(fields)
    titles = [fields.text(key) for key in TITLE_KEYS]
    enabled = fields.flag("enabled", True) and not fields.flag("disabled", False)
    identity = _identity(fields)
    project = _project(fields)
    fields.finish()
    endpoint = read_endpoint(fields.value, has_image=bool(placement.image))
    exclusive = _exclusive(fields, endpoint)
    login = _login(fields, endpoint)
    return WrittenServer(
        endpoint=endpoint,
        title=next(filter(None, titles), ""),
        enabled=enabled,
        timeout=read_timeout(fields.get("timeout")),
        identity=identity,
        placement=placement,
        project=project,
        exclusive=exclusive,
        login=login,
    )


def _exclusive(fields: Fields, endpoint: Endpoint) -> bool:
    is_exclusive = fields.flag("exclusive", False)
    if is_exclusive and isinstance(endpoint, Url):
        text = "'exclusive' is about a process, and this server has an address"
        fields.fault("exclusive", text, "remove 'exclusive'")
    fields.finish()
    return is_exclusive


def _login(fields: Fields, endpoint: Endpoint) -> str:
    login = fields.text("login")
    if login not in ("", "owner", MEMBER_LOGIN):
        hint = 'write "member", or remove it: then all use the login of the hub\'s owner'
        fields.fault("login", f"'login' cannot be {login[:80]!r}", hint)
    elif login == MEMBER_LOGIN and not isinstance(endpoint, Url):
        text = "'login' is about an address, and this server has a command"
        fields.fault("login", text, "remove 'login', and give its secrets as ${member:NAME}")
    fields.finish()
    client = endpoint.auth if isinstance(endpoint, Url) else None
    is_personal = client is not None and client.is_personal
    return MEMBER_LOGIN if login == MEMBER_LOGIN or is_personal else ""


def _project(fields: Fields) -> str:
    project = fields.text("project")
    if project and not project.startswith("/"):
        fields.fault("project", "'project' is not an absolute path", "write it as /srv/notes")
    return project.rstrip("/") or project


def _placement(fields: Fields) -> Placement:
    if fields.get("executor") is None:
        return ANYWHERE
    try:
        return read_placement(fields.get("executor"))
    except ConfigError as error:
        fields.fault("executor", str(error), error.hint)
        return ANYWHERE


def _identity(fields: Fields) -> Identity | None:
    if fields.get("found") is None:
        return None
    hint = 'write {"found": {"executable": "...", "name": "..."}}'
    found = Fields(fields.get("found"), hint, within=fields)
    return Identity(found.text("executable"), found.text("name"))
