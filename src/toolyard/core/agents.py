"""Agents: who they are, which servers each is given, and what executors allow and change.

The records of the seed under the house's names: `AgentConfig` (AgentMcpConfig), `AgentServer`
(McpServerDef), `Meta` (McpMetaDef), `Policy` (ExecutorMcpPolicy). How they are written down is
in `core/agentfiles.py`, what they come to in `core/resolve.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final, Literal, get_args

from toolyard.core.endpoint import Endpoint, Pairs
from toolyard.core.errors import UnknownNameError
from toolyard.core.names import closest
from toolyard.core.sharing import Asking, Tried
from toolyard.core.sites import Site

Transport = Literal["stdio", "http", "sse", "streamable_http"]
Mode = Literal["auto", "shared", "per_session"]
TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)
MODES: Final[tuple[Mode, ...]] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Agent:
    """A consumer with its own list of servers, and the transports it can take."""

    id: str
    title: str
    transports: tuple[Transport, ...]
    """In the order in which it likes them."""
    own: bool = False
    """Whether a user defined it."""


KNOWN_AGENTS: Final[Mapping[str, Agent]] = MappingProxyType(
    {
        agent.id: agent
        for agent in (
            Agent("codex", "Codex", ("stdio", "streamable_http")),
            Agent("claude-code", "Claude Code", ("stdio", "http", "sse")),
            Agent("cursor", "Cursor", ("stdio", "sse", "streamable_http")),
            Agent("gemini", "Gemini CLI", ("stdio", "sse", "streamable_http")),
            Agent("qwen", "Qwen Code", ("stdio", "sse", "streamable_http")),
            Agent("opencode", "opencode", ("stdio", "http")),
        )
    }
)


@dataclass(frozen=True, slots=True)
class AgentServer:
    """One server on an agent's list: a definition of its own, or one that the yard knows."""

    name: str
    type: Transport | None = None
    """None for a reference; `streamable_http` only where the list says so."""
    endpoint: Endpoint | None = None
    """None for a reference."""
    mode: Mode = "auto"
    server: str = ""
    """The server of the yard that is meant: its alias, or `name@source`."""


@dataclass(frozen=True, slots=True)
class Meta:
    """The description of a server on a list, for people."""

    name: str = ""
    description: str = ""
    url: str = ""
    icon: str = ""


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """Which servers an agent is given."""

    agent: str
    enabled: bool = False
    servers: tuple[AgentServer, ...] = ()
    meta: tuple[tuple[str, Meta], ...] = ()


@dataclass(frozen=True, slots=True)
class AgentOverride:
    """The differences for an agent with one executor."""

    agent: str
    executor: str
    enabled: bool | None = None
    servers: tuple[AgentServer, ...] = ()
    """Added, or in place of those of the same names."""
    without: tuple[str, ...] = ()
    """Names left out."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of an executor: what it allows and changes."""

    allow_stdio: bool = True
    allow_http: bool = True
    allow_sse: bool = True
    allow_streamable_http: bool = True
    http_url_rewrite: Pairs = ()
    """A whole address, the beginning of one, or host and port, and what stands for it there."""
    env_injection: Pairs = field(default=(), repr=False)
    env_override: tuple[str, ...] = ()
    """Servers whose own variables win over the injected ones."""
    allow: tuple[str, ...] = ()
    """Names or patterns of servers; all if empty."""
    deny: tuple[str, ...] = ()
    """Wins over `allow`."""
    stdio_proxy: bool = True
    """Whether the hub's own endpoint may stand in for a server: for processes that are shared,
    and where a transport is not to be had."""

    def allows(self, transport: Transport) -> bool:
        """Return whether a transport may be used there."""
        return bool(getattr(self, f"allow_{transport}"))


OPEN_POLICY: Final = Policy()
EXECUTORS: Final = ("local", "docker", "remote-docker", "ssh", "kubernetes")
"""Executors that can always be named: one for each kind of place, with a policy of its own."""


ALSO: Final[Mapping[str, str]] = MappingProxyType(
    {
        "k8s": "kubernetes",
        "k8s-operator": "kubernetes",
        "local-docker": "docker",
        "local-pc": "local",
        "remote-ssh": "ssh",
    }
)
"""Other names of these."""
FAR: Final = frozenset({"remote-docker", "ssh", "kubernetes"})
"""Kinds of places where the loopback is that of another machine."""


@dataclass(frozen=True, slots=True)
class Roster:
    """Every agent, list, policy and executor there is."""

    agents: Mapping[str, Agent] = field(default_factory=lambda: KNOWN_AGENTS)
    configs: Mapping[str, AgentConfig] = field(default_factory=dict)
    overrides: Mapping[tuple[str, str], AgentOverride] = field(default_factory=dict)
    policies: Mapping[str, Policy] = field(default_factory=dict)
    sites: Mapping[str, Site] = field(default_factory=dict)
    tried: Mapping[str, Tried] = field(default_factory=dict)
    """What was found out about sharing processes of servers, by `name@source`."""
    asking: Mapping[str, Asking] = field(default_factory=dict)
    """What servers were seen to ask without saying whom, by `name@source`."""

    def agent(self, name: str) -> Agent:
        """The agent of that name, in any spelling (`CLAUDE_CODE` is `claude-code`).

        Raises:
            UnknownNameError: There is none.
        """
        agent = self.agents.get(spelled(name))
        if agent is None:
            near = closest(spelled(name), self.agents) or sorted(self.agents)[:20]
            hint = f"there are: {', '.join(near)}; define it with: toolyard agent add"
            raise UnknownNameError(f"unknown agent {name[:80]!r}", hint)
        return agent

    def config(self, agent: str) -> AgentConfig:
        """The list of an agent; empty if nobody wrote one."""
        return self.configs.get(agent) or AgentConfig(agent)

    def executor(self, name: str) -> str:
        """The executor of that name; `local` if there is no name.

        Raises:
            UnknownNameError: There is none.
        """
        executor = spelled(name) or "local"
        if executor not in self.sites:
            executor = ALSO.get(executor, executor)
        if executor in self.sites or executor in EXECUTORS:
            return executor
        names = [*self.sites, *EXECUTORS]
        hint = f"there are: {', '.join(closest(executor, names) or names)}"
        raise UnknownNameError(f"unknown executor {name[:80]!r}", hint)

    def kind(self, executor: str) -> str:
        """The kind of place an executor is: one of `EXECUTORS`."""
        site = self.sites.get(executor)
        if site is None:
            return executor
        is_far = site.type == "docker" and site.host and not site.host.startswith("unix:")
        return "remote-docker" if is_far else site.type

    def policy(self, executor: str) -> tuple[Policy, str]:
        """The policy of an executor, and whose that is: its own, or that of its kind."""
        for owner in (executor, self.kind(executor)):
            if owner in self.policies:
                return self.policies[owner], owner
        return OPEN_POLICY, "the default"


def spelled(name: str) -> str:
    """The one spelling of an agent's or executor's name."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def matching(patterns: tuple[str, ...], name: str) -> str:
    """The first pattern that a name matches; empty if none does."""
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), "")
