"""Calls about agents and clients: what they are given, where they run, and what they may see."""

from __future__ import annotations

from tests.control.company import Agent, servers
from tests.golden.recorder import Recorder, Yard

SHORT = "/api/mcp-config?agent="
AGENTS = "/api/v1/agents"
POLICIES = "/api/v1/policies"
EXECUTORS = "/api/v1/executors"
LISTED = {
    "docs": {"url": "http://localhost:9/mcp", "headers": {"X-Key": "${DOCS_KEY}"}},
    "local": {"command": "no-such-program", "args": ["-x"], "env": {"LEVEL": "1"}},
    "one": {"server": "one"},
    "gone": {"server": "gone"},
}
CONFIG = {"enabled": True, "servers": LISTED, "meta": {"docs": {"description": "The docs"}}}


async def agents(record: Recorder) -> None:
    """Agents, their lists, and what differs with an executor."""
    async with record.yard(servers()) as yard:
        await yard.ask("GET", f"{SHORT}codex")
        await yard.ask("POST", f"{SHORT}codex", CONFIG)
        await yard.ask("POST", f"{SHORT}codex", {"servers": {"bad": {"command": 5}, "c d": {}}})
        await yard.ask("GET", f"{SHORT}codx")
        await yard.ask("GET", AGENTS)
        await yard.ask("PUT", f"{AGENTS}/mine", {"title": "My agent", "transports": ["http"]})
        await yard.ask("PUT", f"{AGENTS}/mine", {"transports": ["pigeon"]})
        await yard.ask("GET", f"{AGENTS}/mine")
        await yard.ask("PUT", f"{AGENTS}/mine/config", CONFIG)
        await yard.ask("GET", f"{AGENTS}/mine/config")
        await yard.ask("PUT", f"{AGENTS}/mine/config", {"enabled": True}, If_Match='"0"')
        await _override(yard, f"{AGENTS}/mine/overrides/docker")
        await yard.ask("DELETE", f"{AGENTS}/mine")
        await yard.ask("DELETE", f"{AGENTS}/codex")


async def _override(yard: Yard, path: str) -> None:
    await yard.ask("GET", path)
    await yard.ask("PUT", path, {"servers": {"docs": None, "local": {"command": "other"}}})
    await yard.ask("PUT", path, {"serves": {}})
    await yard.ask("GET", path)
    await yard.ask("DELETE", path)


async def resolving(record: Recorder) -> None:
    """What a run of an agent gets, why, and a run itself."""
    async with record.yard(servers()) as yard:
        await yard.doors.ask("POST", f"{SHORT}codex", b'{"enabled": true, "servers": {}}')
        await yard.ask("POST", f"{AGENTS}/codex/validate?executor=docker", CONFIG)
        await yard.ask("POST", f"{AGENTS}/codex/validate?override=true", {"servers": {"x": {}}})
        await yard.ask("POST", f"{SHORT}codex", CONFIG)
        await yard.ask("GET", "/api/v1/resolve?agent=codex&session=s1")
        await yard.ask("GET", "/api/v1/resolve?agent=codex&executor=docker")
        await yard.ask("GET", "/api/v1/resolve?agent=nobody")
        await yard.ask("GET", "/api/v1/why?name=one&agent=codex")
        await yard.ask("GET", "/api/v1/why?name=gone&agent=codex")
        await yard.ask("GET", "/api/v1/why?name=two__echo&agent=codex")
        await yard.ask("POST", "/api/v1/runs", {"agent": "codex", "session": "s1"})
        await yard.ask("POST", "/api/v1/runs", {"agent": "codex", "session": "s1"})
        await yard.ask("DELETE", "/api/v1/runs/s1")
        await yard.ask("DELETE", "/api/v1/runs/s1")


async def policies(record: Recorder) -> None:
    """What executors allow and change."""
    async with record.yard(servers()) as yard:
        await yard.ask("POST", f"{SHORT}codex", CONFIG)
        await yard.ask("GET", POLICIES)
        await yard.ask("POST", f"{POLICIES}/local/preview", {"deny": ["docs"]})
        await yard.ask("PUT", f"{POLICIES}/local", {"deny": ["docs"], "allow_sse": False})
        await yard.ask("PUT", f"{POLICIES}/local", {"allow_stdio": "no", "alow": []})
        await yard.ask("GET", f"{POLICIES}/local")
        await yard.ask("POST", f"{POLICIES}/local/preview?reset=true", {})
        await yard.ask("DELETE", f"{POLICIES}/local")
        await yard.ask("DELETE", f"{POLICIES}/local")
        await yard.ask("GET", f"{POLICIES}/mars")


async def executors(record: Recorder) -> None:
    """Places where servers run."""
    async with record.yard(servers()) as yard:
        box = {"type": "docker", "host": "tcp://127.0.0.1:9", "running_limit": 2}
        options = {"image": "python:3.12", "reach": "hub.example:8000"}
        await yard.ask("PUT", f"{EXECUTORS}/box", box)
        await yard.ask("PUT", f"{EXECUTORS}/cluster", {"type": "kubernetes", "options": options})
        await yard.ask("PUT", f"{EXECUTORS}/docker", box)
        await yard.ask("PUT", f"{EXECUTORS}/box", {**box, "type": "moon"})
        await yard.ask("GET", EXECUTORS)
        await yard.ask("GET", f"{EXECUTORS}/box")
        await yard.ask("POST", f"{EXECUTORS}/local/test", {})
        await yard.ask("POST", f"{EXECUTORS}/nowhere/test", {})
        await yard.ask("POST", f"{SHORT}codex", CONFIG)
        await yard.ask("GET", "/api/v1/render?agent=codex&executor=cluster")
        await yard.ask("GET", "/api/v1/render?agent=codex&executor=box")
        await yard.ask("DELETE", f"{EXECUTORS}/box")
        await yard.ask("DELETE", f"{EXECUTORS}/box")


async def profiles(record: Recorder) -> None:
    """Profiles, and what they would offer."""
    path = "/api/v1/profiles/dev"
    body = {
        "title": "Development",
        "allow": ["one"],
        "hide": ["*__env"],
        "rename": {"one__echo": "say"},
    }
    async with record.yard(servers()) as yard:
        await yard.ask("POST", f"{path}/preview", body)
        await yard.ask("PUT", path, body)
        await yard.ask("PUT", path, {"allow": [""]})
        await yard.ask("PUT", path, body, If_Match='"0"')
        await yard.ask("GET", path)
        await yard.ask("GET", "/api/v1/profiles")
        await yard.ask("DELETE", path)
        await yard.ask("DELETE", path)
        await yard.ask("GET", path)


async def passports(record: Recorder) -> None:
    """What is known of clients, and who of them is there."""
    path = "/api/v1/passports/cursor"
    async with record.yard(servers()) as yard:
        await Agent(yard.doors).initialize()
        await yard.ask("PUT", path, {"most_tools": 40, "relists": False})
        await yard.ask("PUT", path, {"most_tools": -1})
        await yard.ask("GET", "/api/v1/passports")
        await yard.ask("DELETE", path)
        await yard.ask("DELETE", path)


async def tokens(record: Recorder) -> None:
    """The tokens of agents."""
    path = "/api/v1/tokens"
    async with record.yard(servers()) as yard:
        await yard.ask("POST", path, {"name": "ci", "servers": ["one"]})
        await yard.ask("POST", path, {"name": "ci"})
        await yard.ask("POST", path, {"name": "two words"})
        await yard.ask("POST", path, {"name": "other", "profile": "none"})
        await yard.ask("POST", path, {"name": "scout", "discovers": True, "agent": "codex"})
        await yard.ask("GET", path)
        await yard.ask("DELETE", f"{path}/ci")
        await yard.ask("DELETE", f"{path}/ci")


async def members(record: Recorder) -> None:
    """The people who log in, and what their groups get."""
    path = "/api/v1/members"
    admissions = "/api/v1/admissions"
    async with record.yard(servers()) as yard:
        await yard.ask("PUT", "/api/v1/profiles/review", {"allow": ["one"]})
        await yard.ask("PUT", f"{admissions}/developers", {"profiles": ["review"]})
        await yard.ask("PUT", f"{admissions}/developers", {"profiles": ["nothing"]})
        await yard.ask("PUT", f"{admissions}/developers", {"profiles": []})
        await yard.ask("GET", admissions)
        await yard.ask("DELETE", f"{admissions}/developers")
        await yard.ask("DELETE", f"{admissions}/developers")
        await yard.ask("GET", path)
        await yard.ask("GET", f"{path}/ann@example.com")
        await yard.ask("PUT", f"{path}/ann@example.com", {"role": "keeper"})
        await yard.ask("PUT", f"{path}/ann@example.com", {"role": "king"})
        await yard.ask("DELETE", f"{path}/ann@example.com")
        await yard.ask("PUT", f"{path}/ann@example.com", {"groups": ["developers"]})
        await yard.ask("POST", "/api/v1/invitations", {"email": "ann@example.com"})
        await yard.ask("PUT", "/api/v1/invitations/ann@example.com", {})
        await yard.ask("PUT", f"{admissions}/guests", {"profiles": ["review"], "tier": "read"})
        await yard.ask("PUT", f"{admissions}/guests", {"profiles": ["review"], "tier": "all"})
        declared = {"issuer": "https://login.example.com", "subject": "kim", "role": "keeper"}
        await yard.ask("POST", path, declared)
        await yard.ask("POST", path, {**declared, "issuer": "own"})
        await yard.ask("GET", f"{path}/kim")
        await yard.ask("GET", "/api/v1/resolve/member?member=ann@example.com")
        await yard.ask("GET", "/api/v1/why/member?member=ann@example.com&name=one__echo")
        await yard.ask("GET", "/api/v1/my/self")
        for name in ("calls", "events", "sessions"):
            await yard.ask("GET", f"/api/v1/my/{name}")
        await yard.ask("DELETE", "/api/v1/my/sessions/none")
        await yard.ask("GET", "/api/v1/sessions")
        await yard.ask("DELETE", "/api/v1/sessions/none")
        for kind in ("authorizations", "my/authorizations", "member-logins"):
            await yard.ask("GET", f"/api/v1/{kind}")
            await yard.ask("DELETE", f"/api/v1/{kind}/none")
        await yard.ask("GET", "/api/v1/my/secrets")
        await yard.ask("GET", "/api/v1/my/logins")
        await yard.ask("POST", "/api/v1/my/logins/one/login")
        await yard.ask("POST", "/api/v1/my/logins/one/logout")
        await yard.ask("PUT", "/api/v1/my/secrets/whose", {"value": "only-for-this-test"})
        await yard.ask("DELETE", "/api/v1/my/secrets/whose")
        theirs = "/api/v1/member-secrets"
        await yard.ask("GET", f"{theirs}?member=ann@example.com")
        order = {"member": "ann@example.com", "value": "only-for-this-test"}
        await yard.ask("PUT", f"{theirs}/whose", order)
        await yard.ask("DELETE", f"{theirs}/whose?member=ann@example.com")
        await yard.ask("GET", "/api/v1/my/tokens")
        await yard.ask("POST", "/api/v1/my/tokens", {"name": "laptop"})
        await yard.ask("DELETE", "/api/v1/my/tokens/laptop")
        await yard.ask("POST", "/api/v1/tokens", {"name": "laptop", "member": "ann@example.com"})


async def marks(record: Recorder) -> None:
    """What the user says of tools."""
    path = "/api/v1/marks"
    async with record.yard(servers()) as yard:
        await yard.ask("POST", path, {"server": "one", "tool": "echo", "tier": "read"})
        await yard.ask("POST", path, {"server": "one", "tool": "none", "tier": "read"})
        await yard.ask("POST", path, {"server": "one", "tool": "echo", "tier": "all"})
        await yard.ask("GET", path)
        await yard.ask("POST", path, {"server": "one", "tool": "echo"})
        await yard.ask("PUT", f"{path}/two@configured", {"tools": {"echo": "write"}})
        await yard.ask("GET", path)


async def rules(record: Recorder) -> None:
    """The calls that wait for a yes, or are refused."""
    path, waiting = "/api/v1/rules", "/api/v1/waiting-calls"
    async with record.yard(servers()) as yard:
        test = {"path": "text", "glob": "hello*"}
        await yard.ask("PUT", f"{path}/loud", {"tools": ["one/echo"], "arguments": [test]})
        await yard.ask("PUT", f"{path}/no", {"says": "refuse", "tier": "destroy"})
        await yard.ask("PUT", f"{path}/odd", {"says": "perhaps"})
        await yard.ask("GET", path)
        order = {"server": "two", "tool": "echo", "arguments": {"text": "x"}}
        await yard.ask("POST", "/api/v1/call", order)
        await yard.ask("DELETE", f"{path}/no")
        await yard.ask("DELETE", f"{path}/no")
        await yard.ask("GET", waiting)
        await yard.ask("POST", f"{waiting}/none", {"answer": "yes"})
        await yard.ask("POST", f"{waiting}/none", {"answer": "perhaps"})
        await yard.ask("GET", "/api/v1/my/waiting-calls")
        await yard.ask("POST", "/api/v1/my/waiting-calls/none", {"answer": "no"})


async def interceptors(record: Recorder) -> None:
    """What looks at calls on their way."""
    path = "/api/v1/interceptors"
    async with record.yard(servers()) as yard:
        await yard.ask("PUT", f"{path}/masks", {"tools": ["one"], "mask": {"kinds": ["email"]}})
        fix = {"text": {"fix": "hello"}}
        await yard.ask("PUT", f"{path}/fixes", {"tools": ["two/echo"], "arguments": fix})
        await yard.ask("PUT", f"{path}/odd", {"tools": ["two"]})
        await yard.ask("GET", path)
        sample = {"result": {"content": [{"type": "text", "text": "ann@example.com"}]}}
        await yard.ask("POST", f"{path}/masks/test", sample)
        await yard.ask("POST", f"{path}/none/test", sample)
        await yard.ask("DELETE", f"{path}/fixes")
        await yard.ask("DELETE", f"{path}/fixes")


async def limits(record: Recorder) -> None:
    """How much callers may use."""
    path = "/api/v1/limits"
    order = {"name": "fair", "server": "one", "tool": "*", "calls": 1, "seconds": 3600}
    async with record.yard(servers()) as yard:
        await yard.ask("POST", path, order)
        await yard.ask("POST", path, {"name": "fair", "server": "none", "calls": 1})
        await yard.ask("POST", path, {"name": "fair"})
        await yard.ask("PUT", f"{path}/ci", {"token": "ci", "concurrent": 2})
        await yard.ask("GET", path)
        await yard.ask("DELETE", f"{path}/fair")
        await yard.ask("DELETE", f"{path}/fair")


async def transfer(record: Recorder) -> None:
    """The yard as one document."""
    path = "/api/v1/apply"
    profiles = {"dev": {"allow": ["one"], "hide": ["one/env"]}}
    document = {
        "version": 1,
        "servers": {"one": {"url": "http://127.0.0.1:9/mcp"}},
        "profiles": profiles,
        "lists": {"codex": {"enabled": True, "servers": {"one": {"server": "one"}}}},
        "executors": {"box": {"type": "docker", "host": "tcp://127.0.0.1:9"}},
    }
    async with record.yard() as yard:
        await yard.ask("POST", f"{path}?dry_run=true", document)
        await yard.ask("POST", path, document)
        await yard.ask("POST", path, document)
        await yard.ask("GET", "/api/v1/export")
        await yard.ask("POST", f"{path}?prune=true", {"version": 1, "profiles": {}})
        await yard.ask("POST", path, {"version": 2, "profiles": {"a": {"alow": []}}, "more": {}})
        await yard.ask("POST", path, document, If_Match='"another"')
