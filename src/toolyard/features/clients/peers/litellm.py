"""LiteLLM: the `mcp_servers` of a proxy's `config.yaml`."""

from __future__ import annotations

from typing import Final

from toolyard.core.jsontypes import JsonObject
from toolyard.features.clients.peers.documents import PeerDocument
from toolyard.features.clients.peers.draft import (
    PeerDraft,
    Translated,
    fault,
    listed,
    names,
    pairs,
    table,
    usual,
)
from toolyard.features.clients.peers.model import PeerFile, PeerFilter
from toolyard.features.clients.untaken import Untaken

_TAKEN: Final = (
    *("alias", "auth_type", "auth_value", "authentication_token", "static_headers"),
    *("allowed_tools", "disallowed_tools", "access_groups", "allowed_params"),
)
_AUTHORIZATION: Final = {
    "bearer_token": ("Authorization", "Bearer {}"),
    "basic": ("Authorization", "Basic {}"),
    "token": ("Authorization", "token {}"),
    "authorization": ("Authorization", "{}"),
    "api_key": ("X-API-Key", "{}"),
}
_ENVIRON: Final = "os.environ/"


def read_litellm(document: PeerDocument) -> PeerFile:
    """Read the MCP servers of LiteLLM, with its access groups as profiles."""
    draft = PeerDraft(document)
    for name, raw in table(document.value.get("mcp_servers")).items():
        draft.take(str(table(raw).get("alias") or name), raw, _translate)
    draft.leave_rest(("mcp_servers",))
    return draft.finish()


def _translate(raw: JsonObject) -> Translated:
    if raw.get("spec_path"):
        raise fault("spec_path", "it is an OpenAPI document, not a server", "run a server for it")
    entry = usual(raw)
    if entry.get("env"):
        entry["env"] = {name: _refer(value) for name, value in pairs(raw, "env").items()}
    if entry.get("url"):
        entry["url"] = _refer(str(entry["url"]))
        entry["headers"] = _headers(raw)
    untaken = []
    if raw.get("auth_type") not in (None, "none", *_AUTHORIZATION):
        untaken.append(Untaken("auth_type"))
    if raw.get("allowed_params"):
        untaken.append(Untaken("allowed_params", opens=True))
    shown = listed(raw, "allowed_tools", "disallowed_tools")
    if shown.only is not None:  # then it does not look at the other list
        shown = PeerFilter(shown.only)
    return Translated(entry, _TAKEN, shown, names(raw, "access_groups"), tuple(untaken))


def _headers(raw: JsonObject) -> dict[str, str]:
    headers = {**pairs(raw, "headers"), **pairs(raw, "static_headers")}
    headers = {name: _refer(value) for name, value in headers.items()}
    value = raw.get("authentication_token") or raw.get("auth_value")
    header, form = _AUTHORIZATION.get(str(raw.get("auth_type")), ("", ""))
    if value and header:
        headers[header] = form.format(_refer(str(value)))
    return headers


def _refer(text: str) -> str:
    """A reference to a variable, which LiteLLM writes as `os.environ/NAME`."""
    name = text.removeprefix(_ENVIRON)
    return f"${{{name}}}" if name != text else text
