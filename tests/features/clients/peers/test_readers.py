"""Each hub's file is read into servers, profiles, and the names of what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolyard.core.endpoint import Command, Endpoint, Url
from toolyard.core.errors import ConfigError
from toolyard.features.clients.peers.documents import read_document
from toolyard.features.clients.peers.model import PeerFile, PeerFilter, PeerServer
from toolyard.features.clients.peers.table import PEERS, find_peer, read_peer

FILES = Path(__file__).parent / "files"


def read(hub: str, file: str) -> PeerFile:
    (read_file,) = read_peer(find_peer(hub), [FILES / file])
    return read_file


def endpoints(file: PeerFile) -> dict[str, Endpoint]:
    return {server.name: server.written.endpoint for server in file.servers}


def server(file: PeerFile, name: str) -> PeerServer:
    (match,) = [server for server in file.servers if server.name == name]
    return match


def lost(file: PeerFile, name: str = "") -> list[str]:
    """The keys that are not taken of a server or of the file; those that open it are marked."""
    untaken = server(file, name).untaken if name else file.untaken
    return [f"{part.key}{'!' * part.opens}" for part in untaken]


def members(file: PeerFile) -> dict[str, dict[str, PeerFilter]]:
    return {profile.name: dict(profile.members) for profile in file.profiles}


def test_mcpproxy() -> None:
    file = read("mcpproxy", "mcpproxy.json")

    assert endpoints(file) == {
        "notes": Command(
            ("npx", "-y", "notes-server", "/srv/notes"),
            (("NOTES_TOKEN", "${keyring:notes-token}"),),
            "/srv",
        ),
        "weather": Url(
            "https://weather.example.com/mcp", "http", (("X-Key", "${env:WEATHER_KEY}"),)
        ),
        "strange": Command(("strange-server",)),
        "boxed": Command(("uvx", "boxed-server")),
    }
    assert server(file, "notes").filter == PeerFilter(hide=("delete_note",))
    assert server(file, "notes").secrets == ("notes-token",)
    assert server(file, "weather").filter == PeerFilter(("forecast", "radar"))
    assert not server(file, "strange").written.enabled
    assert members(file) == {
        "writing": {"notes": PeerFilter(), "weather": PeerFilter()},
        "sky": {"weather": PeerFilter(hide=("radar*",))},
    }
    assert lost(file, "notes") == ["created"]
    assert lost(file, "weather") == ["oauth"]
    assert lost(file, "boxed") == ["isolation!"]
    assert lost(file) == [
        *("profiles.careful", "listen", "api_key", "tools_limit", "docker_isolation"),
    ]
    assert ["'broken'" in problem.text for problem in file.problems] == [True]


def test_toolhive() -> None:
    file = read("toolhive", "toolhive.json")

    command = endpoints(file)["issues"]
    assert isinstance(command, Command)
    assert command.argv[:4] == ("docker", "run", "--rm", "-i")
    assert command.argv[-3:] == ("ghcr.io/example/issues:1.4", "stdio", "--read-only")
    assert " -v /srv/issues:/data:ro " in " ".join(command.argv)
    assert " -e ISSUES_TOKEN " in " ".join(command.argv)
    assert dict(command.env) == {
        "ISSUES_HOST": "issues.example.com",
        "ISSUES_TOKEN": "${keyring:issues-token}",
    }
    assert server(file, "issues").filter == PeerFilter(
        ("search", "show"), (), (("search", "find_issues"),), (("search", "Find issues."),)
    )
    assert members(file) == {"work": {"issues": PeerFilter()}}
    names = lost(file, "issues")
    assert "isolate_network!" in names and "permission_profile" in names and "port" in names


def test_a_remote_server_of_toolhive_keeps_its_headers_and_names_its_secrets() -> None:
    file = read("toolhive", "toolhive_remote.json")

    address = endpoints(file)["docs"]
    assert isinstance(address, Url) and address.url == "https://docs.example.com/mcp"
    assert dict(address.headers) == {
        "X-Team": "blue",
        "X-Api-Key": "${keyring:docs-key}",
        "Authorization": "Bearer ${keyring:docs-token}",
    }
    assert server(file, "docs").secrets == ("docs-key", "docs-token")
    assert "remote_auth_config.issuer" in lost(file, "docs")
    assert members(file) == {}


def test_the_servers_that_docker_has_enabled_are_looked_up_in_its_catalog() -> None:
    file = read("docker", "docker/registry.yaml")

    assert set(endpoints(file)) == {"shelf", "maps"}
    shelf = endpoints(file)["shelf"]
    assert isinstance(shelf, Command)
    words = " ".join(shelf.argv)
    assert " --network none " in words
    assert " -v /srv/books:/srv/books -v /srv/papers:/srv/papers " in words
    assert words.endswith(" --transport=stdio /srv/books /srv/papers")
    assert dict(shelf.env)["SHELF_VERSION"] == "1.10"
    assert dict(shelf.env)["SHELF_API_KEY"] == "${keyring:shelf.api_key}"
    assert server(file, "shelf").filter == PeerFilter(("list_books",))
    assert lost(file, "shelf") == ["metadata", "tools", "{{shelf.language}}"]
    assert endpoints(file)["maps"] == Url(
        "https://maps.example.com/sse", "sse", (("Authorization", "Bearer ${keyring:maps.token}"),)
    )
    refused = " ".join(problem.text for problem in file.problems)
    assert "'single-call'" in refused and "'vanished'" in refused


def test_a_profile_of_docker() -> None:
    file = read("docker", "docker_profile.yaml")

    (shelf,) = file.servers
    assert isinstance(shelf.written.endpoint, Command)
    assert "/srv/books:/srv/books" in shelf.written.endpoint.argv
    assert members(file) == {"reading": {"shelf": PeerFilter(("list_books", "open_book"))}}
    assert ["registry" in problem.text for problem in file.problems] == [True]


def test_onemcp() -> None:
    file = read("1mcp", "1mcp/mcp.json")

    assert endpoints(file) == {
        "files": Command(
            ("mcp-files", "--root", "/srv"), (("HOME", "${HOME}"), ("MODE", "strict"))
        ),
        "api": Url("https://api.example.com/mcp", "http"),
    }
    assert server(file, "files").written.timeout == 30.0
    assert server(file, "files").filter == PeerFilter(hide=("remove",))
    assert not server(file, "api").written.enabled
    selected = {name: list(servers) for name, servers in members(file).items()}
    assert selected == {
        "offline": ["files"],
        "any": ["files", "api"],
        "local": ["files"],
        "files": ["files", "api"],
        "web": ["api"],
    }
    assert lost(file, "files") == ["connectionTimeout", "restartOnExit"]
    assert lost(file) == ["templateSettings"]
    assert ["'here'" in problem.text for problem in file.problems] == [True]


def test_mcphub() -> None:
    file = read("mcphub", "mcphub.json")

    assert endpoints(file) == {
        "browser": Command(
            ("npx", "browser-server", "--headless"), (("BROWSER_HOME", "${BROWSER_HOME}"),)
        ),
        "chat": Url(
            "https://chat.example.com/sse", "sse", (("Authorization", "Bearer ${CHAT_TOKEN}"),)
        ),
    }
    browser = server(file, "browser")
    assert browser.written.timeout == 90.0
    assert browser.filter == PeerFilter(hide=("close",), describe=(("open", "Open a page."),))
    assert not server(file, "chat").written.enabled
    assert members(file) == {
        "office hours": {"chat": PeerFilter(), "browser": PeerFilter(("open", "close", "read"))}
    }
    assert lost(file, "browser") == ["perSessionClient", "options.resetTimeoutOnProgress"]
    assert lost(file) == ["groups.office hours.browser.alias", "users", "systemConfig"]
    assert ["'pets'" in problem.text for problem in file.problems] == [True]


def test_mcp_hub_with_bare_keys_comments_and_tabs() -> None:
    file = read("mcp-hub", "mcp_hub.json5")

    assert endpoints(file) == {
        "git": Command(
            (
                *("uvx", "mcp-git", "--token", "${GIT_TOKEN}"),
                *("--secret", "${cmd: op read op://vault/git}"),
            ),
            (
                ("GIT_TOKEN", "${GIT_TOKEN}"),
                ("GIT_HOST", "git.example.com"),
                ("GIT_URL", "https://git.example.com/x"),
            ),
        ),
        "remote": Url(
            "https://remote.example.com/mcp", "http", (("Authorization", "Bearer ${REMOTE_TOKEN}"),)
        ),
    }
    assert server(file, "git").filter == PeerFilter(hide=("push", "git://[*]/raw"))
    assert lost(file, "git") == ["autoApprove", "${cmd: op read op://vault/git}"]
    assert not server(file, "remote").written.enabled
    assert lost(file) == ["nativeMCPServers"]


def test_mcpm() -> None:
    file = read("mcpm", "mcpm/servers.json")

    assert endpoints(file) == {
        "time": Command(("uvx", "mcp-server-time")),
        "search": Url("https://search.example.com/mcp", "http", (("X-Key", "${SEARCH_KEY}"),)),
        "odd": Command(("odd-server",)),
    }
    assert {profile.name: profile.title for profile in file.profiles} == {
        "home": "",
        "work": "At the desk",
    }
    assert list(members(file)["work"]) == ["time", "search"]
    assert lost(file, "odd") == ["config.rows"]
    assert lost(file) == ["work.api_key"]


def test_fastmcp() -> None:
    file = read("fastmcp", "fastmcp_config.json")

    assert endpoints(file) == {
        "weather": Url(
            "https://weather.example.com/sse",
            "sse",
            (("Authorization", "Bearer fake-weather-token"),),
        ),
        "assistant": Command(("python", "-m", "assistant"), (), "/srv/assistant"),
        "account": Url("https://account.example.com/mcp", "http"),
    }
    assert server(file, "weather").written.timeout == 45.0
    assert server(file, "weather").filter == PeerFilter(
        None,
        ("set_station",),
        (("get_forecast", "forecast"),),
        (("get_forecast", "The weather to come."),),
    )
    assert lost(file, "weather") == ["icon", "include_tags!", "tools.get_radar.arguments!"]
    assert server(file, "assistant").written.title == "Helps."
    assert lost(file, "account") == ["auth"]


def test_a_fastmcp_json_is_run_by_fastmcp(tmp_path: Path) -> None:
    project = tmp_path / "clock"
    project.mkdir()
    path = project / "fastmcp.json"
    path.write_text('{"source": {"path": "server.py"}, "deployment": {"transport": "http"}}')

    file = find_peer("fastmcp").read(read_document(path))

    words = ("uvx", "fastmcp", "run", str(path), "--transport", "stdio")
    assert endpoints(file) == {"clock": Command(words, (), str(project))}
    assert lost(file) == ["deployment.transport"]


def test_litellm() -> None:
    file = read("litellm", "litellm.yaml")

    assert endpoints(file) == {
        "deepwiki": Url("https://wiki.example.com/mcp", "http"),
        "issues": Url(
            "https://issues.example.com/sse",
            "sse",
            (("X-Api-Version", "1.10"), ("Authorization", "Bearer ${ISSUES_TOKEN}")),
        ),
        "clock": Command(
            ("uvx", "mcp-server-time", "--hours", "24"),
            (("TZ", "Europe/Berlin"), ("CLOCK_KEY", "${CLOCK_KEY}")),
        ),
        "cloud": Url("https://cloud.example.com/mcp", "http"),
    }
    assert server(file, "issues").filter == PeerFilter(("list_issues",))
    assert lost(file, "issues") == ["extra_headers"]
    assert lost(file, "cloud") == ["client_id", "client_secret", "auth_type"]
    assert {name: list(servers) for name, servers in members(file).items()} == {
        "research": ["deepwiki"],
        "dev_group": ["deepwiki", "issues"],
    }
    assert lost(file) == ["model_list", "litellm_settings"]
    assert ["'pets'" in problem.text for problem in file.problems] == [True]


def test_the_servers_of_claude_codes_plugins(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    for name in ("alpha", "beta", "gamma"):
        (plugins / name / ".claude-plugin").mkdir(parents=True)
    server = {"command": "${CLAUDE_PLUGIN_ROOT}/run", "env": {"DB": "${DB}"}}
    (plugins / "alpha" / ".mcp.json").write_text(json.dumps({"db": server}))
    inline = {"name": "beta", "mcpServers": {"api": {"url": "https://api.example.com"}}}
    (plugins / "beta" / ".claude-plugin" / "plugin.json").write_text(json.dumps(inline))
    (plugins / "gamma" / "more.json").write_text(json.dumps({"mcpServers": {"g": server}}))
    other = {"name": "gamma", "mcpServers": "./more.json"}
    (plugins / "gamma" / ".claude-plugin" / "plugin.json").write_text(json.dumps(other))
    installs = {
        "alpha@shop": [{"scope": "user", "installPath": str(plugins / "alpha")}],
        "beta@shop": [{"scope": "user", "installPath": str(plugins / "beta")}],
        "gamma@shop": [
            {"scope": "project", "installPath": str(plugins / "gamma"), "projectPath": "/srv/x"}
        ],
    }
    path = plugins / "installed_plugins.json"
    path.write_text(json.dumps({"version": 2, "plugins": installs}))
    (tmp_path / "settings.json").write_text('{"enabledPlugins": {"beta@shop": false}}')

    (file,) = read_peer(find_peer("claude-plugins"), [path])

    assert endpoints(file) == {
        "db": Command((f"{plugins}/alpha/run",), (("DB", "${DB}"),)),
        "api": Url("https://api.example.com", "http"),
        "g": Command((f"{plugins}/gamma/run",), (("DB", "${DB}"),)),
    }
    assert [server.written.enabled for server in file.servers] == [True, False, True]
    assert server_entry(file, "g")["project"] == "/srv/x"
    assert "project" not in server_entry(file, "db")


def server_entry(file: PeerFile, name: str) -> dict[str, object]:
    return server(file, name).entry()


@pytest.mark.parametrize("hub", [peer.name for peer in PEERS])
@pytest.mark.parametrize(
    "text", ["[]", "{", "\x00", "{}", '{"mcpServers": 3, "mcp_servers": [], "registry": "x"}']
)
def test_whatever_a_file_holds_it_is_refused_or_empty(hub: str, text: str, tmp_path: Path) -> None:
    for name in ("config.yaml", "servers.json"):
        path = tmp_path / name
        path.write_text(text)
        try:
            (file,) = read_peer(find_peer(hub), [path])
        except ConfigError as error:
            assert str(path) in str(error)
        else:
            assert file.servers == ()


def test_a_filter_that_is_misread_would_show_too_much_so_its_server_is_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("mcp_servers: {a: {url: 'https://a.example.com', allowed_tools: get}}")

    (file,) = read_peer(find_peer("litellm"), [path])

    assert file.servers == () and "'allowed_tools'" in file.problems[0].text


def test_yaml_runs_no_code(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("mcp_servers: !!python/object/apply:os.system ['true']")

    with pytest.raises(ConfigError, match="line 1"):
        read_peer(find_peer("litellm"), [path])
