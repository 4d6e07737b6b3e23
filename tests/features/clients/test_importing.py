"""What clients have is found, merged by what it runs, and given names that are free."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolyard.core.model import Command, Endpoint, Url
from toolyard.features.clients.formats import put
from toolyard.features.clients.importing import Gathered, gather, places_to_read
from toolyard.features.clients.known import BY_NAME, CLIENTS, Client
from toolyard.features.clients.places import Surroundings, is_installed, one_place, user_places
from toolyard.features.servers.store import ServersFile

FILES = Command(("npx", "-y", "files", "/srv"), (("KEY", "v"),))
WEB = Url("https://example.com/mcp", "http", (("Authorization", "Bearer x"),))


def give(home: Path, name: str, project: Any = None, **servers: Any) -> Path:
    """Write servers into a client's file."""
    place = one_place(BY_NAME[name], Surroundings({}, home, "linux"), project)
    place.path.parent.mkdir(parents=True, exist_ok=True)
    data = place.path.read_bytes() if place.path.exists() else b""
    for server, endpoint in servers.items():
        data = put(place.client.shape, data, server, place.client.shape.write(endpoint))
    place.path.write_bytes(data)
    return place.path


def look(home: Path, project: Any = None, **present: Any) -> Gathered:
    around = Surroundings({"PATH": ""}, home, "linux")
    return gather(places_to_read(CLIENTS, around, project), present)


def named(gathered: Gathered) -> dict[str, Any]:
    return {each.name: [p.client.name for p in each.places] for each in gathered.servers}


def test_what_runs_the_same_is_found_once_whatever_it_is_called(home: Path) -> None:
    for client in CLIENTS:
        give(home, client.name, **{f"files-{client.name[:3]}": FILES})
    other = Command(FILES.argv, (("KEY", "other"),))
    give(home, "cursor", files2=other)

    found = named(look(home))

    assert found == {"files-cla": [each.name for each in CLIENTS], "files2": ["cursor"]}


def test_an_address_is_the_same_with_the_same_headers(home: Path) -> None:
    give(home, "cursor", web=WEB)
    give(home, "opencode", site=Url(WEB.url, "http", (("authorization", "Bearer x"),)))
    give(home, "codex", web=Url(WEB.url))

    assert named(look(home)) == {"web": ["cursor", "opencode"], "web-codex": ["codex"]}


def test_our_own_entries_and_what_the_yard_has_are_left_out(home: Path) -> None:
    own = Command(("/x/bin/toolyard", "mcp", "--agent", "a"))
    door = Url("http://127.0.0.1:7420/mcp", "http")
    give(home, "cursor", toolyard=own, yard=Command(("python", "-P", "-m", "toolyard", "mcp")))
    give(home, "codex", toolyard=door, files=FILES)

    (found,) = look(home, mine=FILES).servers

    assert (found.name, found.present) == ("files", "mine")


def test_names_are_made_usable_and_free(home: Path) -> None:
    give(home, "cursor", **{"my server!": FILES, "web": WEB})

    assert set(named(look(home, web=Command(("x",))))) == {"my-server", "web-cursor"}


def test_a_projects_command_means_the_same_from_anywhere(home: Path) -> None:
    project = home / "p"
    project.mkdir()
    give(home, "cursor", project, run=Command(("./run", "${workspaceFolder}/x")))

    (found,) = look(home, project).servers

    assert found.is_shared
    assert found.endpoint == Command(("./run", f"{project}/x"), (), str(project))
    assert look(home).servers == ()


def test_what_the_users_own_file_says_for_a_project_is_found_there_alone(home: Path) -> None:
    project = home / "p"
    project.mkdir()
    said = {"projects": {str(project): {"mcpServers": {"s": {"command": "run"}}}}}
    (home / ".claude.json").write_text(json.dumps(said))

    (found,) = look(home, project).servers

    assert (found.name, found.is_shared) == ("s", False)
    assert look(home).servers == ()


def test_a_broken_file_is_a_problem_and_costs_no_other(home: Path) -> None:
    give(home, "codex", files=FILES)
    path = give(home, "cursor", web=WEB)
    path.write_text('{"mcpServers":\n {"a" 1}}')

    gathered = look(home)

    assert set(named(gathered)) == {"files"}
    (problem,) = gathered.problems
    assert str(path) in problem.text and "line 2" in problem.text


@pytest.mark.parametrize(
    "endpoint", [FILES, WEB, Url("http://h/sse", "sse"), Command(("a",), (), "/d")]
)
def test_what_is_taken_in_is_the_same_in_the_yard(home: Path, endpoint: Endpoint) -> None:
    give(home, "claude-code", s=endpoint)
    (found,) = look(home).servers
    file = ServersFile(home / "servers.json")

    file.put(found.name, found.entry())

    (server,) = file.load().servers
    assert (server.endpoint, server.enabled) == (endpoint, True)
    assert look(home, **{server.id.name: server.endpoint}).servers[0].present == "s"


UNTAKEN: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    ("gemini", {"excludeTools": ["rm"], "trust": True}, ["excludeTools"], ["trust"]),
    ("gemini", {"includeTools": [], "oauth": {}, "timeout": 5000}, ["includeTools"], ["oauth"]),
    ("codex", {"enabled_tools": ["a"], "startup_timeout_sec": 5}, ["enabled_tools"],
     ["startup_timeout_sec"]),
    ("codex", {"disabled_tools": [], "bearer_token_env_var": "T"}, [], ["disabled_tools"]),
    ("copilot", {"tools": ["a"]}, ["tools"], []),
    ("copilot", {"tools": ["*"]}, [], []),
    ("vscode", {"envFile": "/e", "sandboxEnabled": True}, ["sandboxEnabled"], ["envFile"]),
    ("vscode", {"args": ["${input:k}", "${HOME}"], "gallery": None}, [], ["${input:k}"]),
    ("claude-desktop", {"args": ["${input:k}"]}, [], []),
    ("claude-code", {"headersHelper": "x", "oauth": {"clientId": "c"}}, [],
     ["headersHelper", "oauth"]),
    ("windsurf", {"disabledTools": ["a"]}, ["disabledTools"], []),
    ("opencode", {"timeout": {"request": 5}}, [], ["timeout"]),
    ("zed", {"source": "custom", "title": "t"}, [], []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "extra", "opening", "others"), UNTAKEN)
def test_what_is_not_taken_over_is_named(
    home: Path, name: str, extra: dict[str, Any], opening: list[str], others: list[str]
) -> None:
    write_entry(home, name, {"command": "run", **extra})

    (found,) = look(home).servers

    assert [lost.key for lost in found.untaken if lost.opens] == opening
    assert [lost.key for lost in found.untaken if not lost.opens] == others
    assert {lost.client for lost in found.untaken} <= {name}
    assert found.opens is bool(opening)


def write_entry(home: Path, name: str, raw: dict[str, Any], **whole: Any) -> None:
    """Write one server `s` into a client's file, and what else the file says."""
    place = one_place(BY_NAME[name], Surroundings({}, home, "linux"))
    place.path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(whole).encode() if whole else b""
    place.path.write_bytes(put(place.client.shape, data, "s", raw))


@pytest.mark.parametrize(
    ("name", "key", "value", "written", "seconds"),
    [
        ("gemini", "timeout", 500, 0.5, 0.5),
        ("qwen", "timeout", 30_000, 30, 30.0),
        ("claude-code", "timeout", 600_000, 600, 600.0),
        ("copilot", "timeout", 4100, 4.1, 4.1),
        ("codex", "tool_timeout_sec", 1200, 1_200_000, 1200.0),
        ("zed", "timeout", 90, 90, 90.0),
        ("codex", "tool_timeout_sec", -1, None, None),
        ("opencode", "timeout", 5000, None, None),
        ("cursor", "timeout", 5000, None, None),
    ],
)
def test_a_timeout_is_taken_in_the_unit_of_its_client(
    home: Path, name: str, key: str, value: int, written: float | None, seconds: float | None
) -> None:
    write_entry(home, name, {"command": "run", key: value})
    (found,) = look(home).servers
    file = ServersFile(home / "servers.json")

    file.put("s", found.entry())

    assert found.entry().get("timeout") == written
    assert file.load().servers[0].timeout == seconds
    assert [lost.key for lost in found.untaken] == ([] if seconds else [key])


def test_what_one_of_two_clients_had_restricted_stays_named(home: Path) -> None:
    write_entry(home, "gemini", {"command": "run", "excludeTools": ["rm"], "timeout": 9000})
    write_entry(home, "qwen", {"command": "run", "timeout": 5000, "description": "Files"})

    (found,) = look(home).servers

    assert [(lost.client, lost.key) for lost in found.untaken] == [("gemini", "excludeTools")]
    assert (found.timeout, found.title) == (9.0, "Files")


@pytest.mark.parametrize(
    ("name", "whole", "keys"),
    [
        ("gemini", {"mcp": {"excluded": ["s"]}}, ["mcp.excluded"]),
        ("qwen", {"mcp": {"allowed": ["other"]}}, ["mcp.allowed"]),
        ("gemini", {"mcp": {"allowed": ["s"], "excluded": []}}, []),
        ("opencode", {"tools": {"s_rm": False, "s*": False, "t_*": False, "s_a": True}},
         ["tools.s_rm", "tools.s*"]),
        ("opencode", {"permission": {"s_*": "ask", "*": "ask", "bash": "deny"}},
         ["permission.s_*"]),
    ],
)  # fmt: skip
def test_what_a_file_says_of_a_server_elsewhere_is_named(
    home: Path, name: str, whole: dict[str, Any], keys: list[str]
) -> None:
    write_entry(home, name, {"command": ["run"]}, **whole)

    (found,) = look(home).servers

    assert [(lost.key, lost.opens) for lost in found.untaken] == [(key, True) for key in keys]


MOVED = [
    ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json", ".claude.json"),
    ("codex", "CODEX_HOME", "config.toml", ".codex/config.toml"),
    ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json", ".gemini/settings.json"),
    ("qwen", "QWEN_HOME", "settings.json", ".qwen/settings.json"),
    ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.jsonc", ".config/opencode/opencode.jsonc"),
    ("zed", "XDG_CONFIG_HOME", "zed/settings.json", ".config/zed/settings.json"),
    ("copilot", "COPILOT_HOME", "mcp-config.json", ".copilot/mcp-config.json"),
]


@pytest.mark.parametrize(("name", "variable", "moved", "usual"), MOVED)
def test_variables_move_the_files(name: str, variable: str, moved: str, usual: str) -> None:
    home, client = Path("/h"), BY_NAME[name]

    def path(**env: str) -> Path:
        return user_places(client, Surroundings(env, home, "linux"))[0].path

    assert path() == home / usual
    assert path(**{variable: "  "}) == home / usual
    assert path(**{variable: "/elsewhere"}) == Path("/elsewhere") / moved


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("linux", "/h/.config/Claude"), ("darwin", "/h/Library/Application Support/Claude")],
)
def test_applications_are_where_the_system_has_them(platform: str, folder: str) -> None:
    around = Surroundings({}, Path("/h"), platform)
    (place,) = user_places(BY_NAME["claude-desktop"], around)
    assert place.path.parent == Path(folder)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda each: each.name)
def test_a_client_is_here_by_its_file_or_its_program(home: Path, client: Client) -> None:
    around = Surroundings({"PATH": str(home / "bin")}, home, "linux")
    assert not is_installed(client, around)
    if client.programs:
        (home / "bin").mkdir()
        program = home / "bin" / client.programs[0]
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        assert is_installed(client, around)
        program.unlink()
    give(home, client.name, s=FILES)
    assert is_installed(client, around)


def test_the_file_of_opencode_that_is_there_is_the_one_written(home: Path) -> None:
    around = Surroundings({}, home, "linux")
    older = home / ".config" / "opencode" / "opencode.json"
    older.parent.mkdir(parents=True)
    older.write_text("{}")

    assert one_place(BY_NAME["opencode"], around).path == older
    newer = older.with_suffix(".jsonc")
    newer.write_text("{}")
    assert one_place(BY_NAME["opencode"], around).path == newer
    assert len(user_places(BY_NAME["opencode"], around)) == 2
