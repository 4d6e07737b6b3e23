"""ToolHive: run configurations, as `thv export` writes them."""

from __future__ import annotations

from typing import Final

from toolyard.core.jsontypes import JsonObject
from toolyard.features.clients.peers.containers import container_command
from toolyard.features.clients.peers.documents import PeerDocument
from toolyard.features.clients.peers.draft import (
    PeerDraft,
    Translated,
    exactly,
    fault,
    names,
    pairs,
    table,
)
from toolyard.features.clients.peers.model import PeerFile, PeerFilter
from toolyard.features.clients.untaken import Untaken

_TAKEN: Final = (
    *("name", "image", "remote_url", "cmd_args", "transport", "env_vars", "volumes", "secrets"),
    *("header_forward", "remote_auth_config", "group", "tools_filter", "tools_override"),
)
_RESTRICTING: Final = (
    *("isolate_network", "authz_config", "authz_config_path", "ignore_config"),
    *("validating_webhooks", "rate_limit_config"),
)
_LAUNCHERS: Final = {"uvx": ["uvx"], "npx": ["npx", "-y"], "go": ["go", "run"]}
"""The programs that ToolHive builds an image around."""


def read_toolhive(document: PeerDocument) -> PeerFile:
    """Read a run configuration of ToolHive: one server."""
    draft = PeerDraft(document)
    name = str(document.value.get("name") or document.path.stem)
    draft.take(name, document.value, _translate)
    return draft.finish()


def _translate(raw: JsonObject) -> Translated:
    untaken = [Untaken(key, opens=True) for key in _RESTRICTING if raw.get(key)]
    login = table(raw.get("remote_auth_config"))
    untaken += [Untaken(f"remote_auth_config.{key}") for key in login if key != "bearer_token"]
    entry = _remote(raw) if raw.get("remote_url") else _local(raw, untaken)
    group = raw.get("group")
    # Everything is in this group until somebody says otherwise.
    tags = (group,) if isinstance(group, str) and group not in ("", "default") else ()
    taken = (*_TAKEN, *_RESTRICTING)
    return Translated(entry, taken, _filter(raw), tags, tuple(untaken))


def _remote(raw: JsonObject) -> JsonObject:
    forward = table(raw.get("header_forward"))
    headers = pairs(forward, "add_plaintext_headers")
    secrets = pairs(forward, "add_headers_from_secret")
    headers |= {header: f"${{keyring:{secret}}}" for header, secret in secrets.items()}
    token = table(raw.get("remote_auth_config")).get("bearer_token")
    if isinstance(token, str) and (secret := token.partition(",")[0]):
        headers["Authorization"] = f"Bearer ${{keyring:{secret}}}"
    kind = "sse" if raw.get("transport") == "sse" else "http"
    return {"type": kind, "url": raw["remote_url"], "headers": headers}


def _local(raw: JsonObject, untaken: list[Untaken]) -> JsonObject:
    image = str(raw.get("image") or "")
    transport = raw.get("transport") or "stdio"
    if transport != "stdio":
        hint = f"add it to an executor: toolyard add NAME --executor ENGINE --image {image}"
        raise fault("transport", f"its container serves {transport} on a port", hint)
    env = pairs(raw, "env_vars")
    for secret in names(raw, "secrets"):
        name, _, target = secret.partition(",target=")
        env[target or name] = f"${{keyring:{name}}}"
    arguments = list(names(raw, "cmd_args"))
    scheme, separator, package = image.partition("://")
    if separator and scheme in _LAUNCHERS:
        untaken.append(Untaken("the container around it", opens=True))
        words = [*_LAUNCHERS[scheme], package, *arguments]
    elif image:
        words = container_command(image, arguments, env, mounts=names(raw, "volumes"))
    else:
        raise fault("image", "it has neither an image nor a 'remote_url'", "export it again")
    return {"command": words[0], "args": words[1:], "env": env}


def _filter(raw: JsonObject) -> PeerFilter:
    """The tools it shows; `tools_filter` has the names that clients see."""
    overrides = {tool: table(change) for tool, change in table(raw.get("tools_override")).items()}
    rename = {tool: str(change["name"]) for tool, change in overrides.items() if change.get("name")}
    describe = {
        tool: str(change["description"])
        for tool, change in overrides.items()
        if change.get("description")
    }
    own_names = {name: tool for tool, name in rename.items()}
    shown = [own_names.get(tool, tool) for tool in names(raw, "tools_filter")]
    only = exactly(shown) if shown else None
    return PeerFilter(only, (), tuple(rename.items()), tuple(describe.items()))
