from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolyard.core.errors import ConfigError, StoreError, UnknownNameError
from toolyard.core.model import Command, Endpoint, Server, ServerId, Url
from toolyard.features.servers.reading import LoadedServers
from toolyard.features.servers.store import ServersFile
from toolyard.records.jsonc import parse


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "servers.json"


def load(path: Path, text: str, env: dict[str, str] | None = None) -> LoadedServers:
    path.write_text(text, encoding="utf-8", newline="")
    return ServersFile(path, env or {}).load()


def one(path: Path, entry: object) -> Server:
    loaded = load(path, json.dumps({"mcpServers": {"s": entry}}))
    assert loaded.problems == ()
    (server,) = loaded.servers
    return server


HTTP = Url("http://h/mcp")


@pytest.mark.parametrize(
    ("entry", "endpoint"),
    [
        ({"command": "c"}, Command(("c",))),
        ({"command": "c", "args": ["-a", 1, True]}, Command(("c", "-a", "1", "true"))),
        ({"command": ["c", "d"], "args": ["e"]}, Command(("c", "d", "e"))),
        ({"command": "c", "env": {"K": "v", "N": 3}}, Command(("c",), (("K", "v"), ("N", "3")))),
        (
            {"type": "local", "command": ["c"], "environment": {"K": "v"}},
            Command(("c",), (("K", "v"),)),
        ),
        ({"command": "c", "cwd": "/d", "url": None}, Command(("c",), cwd="/d")),
        ({"type": "", "command": "", "cwd": "", "url": "http://h/mcp"}, HTTP),
        ({"type": "stdio", "command": "c", "url": "http://h/mcp"}, Command(("c",))),
        ({"url": "http://h/mcp"}, HTTP),
        ({"httpUrl": "http://h/mcp", "url": "http://old/sse"}, HTTP),
        ({"serverUrl": "http://h/mcp"}, HTTP),
        ({"type": "http", "url": "http://h/mcp", "command": "c"}, HTTP),
        *(
            ({"type": kind, "url": "http://h/mcp"}, HTTP)
            for kind in ("streamable-http", "streamable_http", "streamableHttp", "remote")
        ),
        ({"type": "sse", "url": "http://h/mcp"}, Url("http://h/mcp", "sse")),
        *(
            ({"transport": kind, "url": "http://h/mcp", "command": "c"}, endpoint)
            for kind, endpoint in (
                *((kind, HTTP) for kind in ("http", "streamable-http", "streamableHttp", "remote")),
                *((kind, Command(("c",))) for kind in ("stdio", "local")),
                ("sse", Url("http://h/mcp", "sse")),
            )
        ),
        ({"type": "http", "transport": "sse", "url": "http://h/mcp"}, HTTP),
        ({"url": "https://${HOST:-h}/", "headers": {"A": "b"}},
         Url("https://${HOST:-h}/", headers=(("A", "b"),))),
        ({"url": "${BASE:-http://h}/mcp"}, Url("${BASE:-http://h}/mcp")),
    ],
)  # fmt: skip
def test_every_spelling_of_clients_is_understood(
    path: Path, entry: object, endpoint: Endpoint
) -> None:
    assert one(path, entry).endpoint == endpoint


@pytest.mark.parametrize("top", ["mcpServers", "servers", "mcp"])
def test_servers_stand_under_the_key_of_any_client(path: Path, top: str) -> None:
    loaded = load(path, json.dumps({top: {"a": {"command": "c"}}, "inputs": [], "$schema": "x"}))
    assert [each.id for each in loaded.servers] == [ServerId("a", "configured")]
    assert loaded.problems == ()


@pytest.mark.parametrize(
    ("entry", "enabled"),
    [
        ({}, True),
        ({"enabled": False}, False),
        ({"disabled": True}, False),
        ({"disabled": False}, True),
        ({"enabled": True, "disabled": True}, False),
    ],
)
def test_a_server_is_on_unless_its_entry_says_otherwise(
    path: Path, entry: dict[str, bool], enabled: bool
) -> None:
    assert one(path, {"command": "c", **entry}).enabled is enabled


@pytest.mark.parametrize(
    ("timeout", "seconds"), [(30, 30.0), (0.5, 0.5), (999, 999.0), (1000, 1.0), (60000, 60.0)]
)
def test_a_timeout_of_a_thousand_and_more_is_in_milliseconds(
    path: Path, timeout: float, seconds: float
) -> None:
    assert one(path, {"command": "c", "timeout": timeout}).timeout == seconds


def test_title_folder_and_description_are_taken_over(path: Path) -> None:
    server = one(path, {"command": "c", "description": "d"})
    assert (server.title, server.folder, server.timeout) == ("d", str(path.parent), None)
    assert one(path, {"command": "c", "description": "d", "title": "t"}).title == "t"


def test_a_server_may_be_for_a_project_alone(path: Path) -> None:
    server = one(path, {"command": "c", "project": "/srv/a/"})
    assert (server.project, server.local_name) == ("/srv/a", server.id.name)

    (problem,) = load(path, '{"mcpServers": {"a": {"command": "c", "project": "work"}}}').problems
    assert "absolute" in problem.text


def test_the_workspace_of_a_projects_file_is_the_project(tmp_path: Path) -> None:
    (tmp_path / ".vscode").mkdir()
    loaded = load(tmp_path / ".vscode" / "mcp.json", '{"servers": {"a": {"command": "c"}}}')
    assert loaded.servers[0].folder == str(tmp_path)


def test_an_image_may_be_run_as_it_is(path: Path) -> None:
    place = {"name": "engine", "image": "mcp/time"}
    server = one(path, {"executor": place, "env": {"A": "b"}})
    assert server.endpoint == Command(("",), (("A", "b"),))
    assert server.placement.image == "mcp/time"
    assert one(path, {"type": "stdio", "executor": place, "args": ["-v"]}).endpoint == Command(
        ("", "-v")
    )
    assert one(path, {"executor": place, "command": ""}).endpoint == Command(("",))


BAD = [
    ('{"executor": "engine"}', "config-entry", "neither 'command' nor 'url'"),
    ('{"executor": {"image": "i"}, "type": "http"}', "config-entry", "needs a 'url'"),
    ('{"executor": {"image": "i"}, "command": " "}', "config-entry", "command is empty"),
    ('"text"', "config-entry", "not an object"),
    ('{"transport": "pigeon", "url": "http://h"}', "config-entry", "transport 'pigeon' is unknown"),
    ("{}", "config-entry", "neither 'command' nor 'url'"),
    ('{"command": 5}', "config-entry", "'command' is not text"),
    ('{"command": " "}', "config-entry", "command is empty"),
    ('{"command": []}', "config-entry", "command is empty"),
    ('{"command": "c", "args": "x"}', "config-entry", "'args' is not a list"),
    ('{"command": "c", "args": [null]}', "config-entry", "'args' holds something else"),
    ('{"command": "c", "args": ["\\u0000"]}', "config-entry", "NUL"),
    ('{"command": "c", "env": []}', "config-entry", "'env' is not an object"),
    ('{"command": "c", "env": {"A=B": "c"}}', "config-entry", "'A=B' cannot name a variable"),
    ('{"command": "c", "enabled": "yes"}', "config-entry", "neither true nor false"),
    ('{"command": "c", "timeout": 0}', "config-entry", "'timeout'"),
    ('{"command": "c", "timeout": true}', "config-entry", "'timeout'"),
    ('{"command": "c", "type": "carrier-pigeon"}', "config-entry", "'carrier-pigeon' is unknown"),
    ('{"command": "c", "url": "http://h"}', "config-entry", "both"),
    ('{"command": "c", "type": "http"}', "config-entry", "needs a 'url'"),
    ('{"url": "http://h", "type": "stdio"}', "config-entry", "needs a 'command'"),
    ('{"url": "ftp://h/"}', "config-entry", "not an http address"),
    ('{"url": "http://[h/"}', "config-entry", "not an http address"),
    ('{"url": "http://h/ x"}', "config-entry", "not an http address"),
    ('{"url": "http://h", "headers": {"A B": "c"}}', "config-entry", "header 'A B'"),
    ('{"url": "http://h", "headers": {"A": "b\\nC: d"}}', "config-entry", "header 'A'"),
]


@pytest.mark.parametrize(("entry", "code", "says"), BAD)
def test_a_bad_entry_is_one_problem_with_its_line_and_the_others_load(
    path: Path, entry: str, code: str, says: str
) -> None:
    text = f'{{"mcpServers": {{\n"a": {{"command": "c"}},\n"bad": {entry},\n"z": {{"url": "http://h"}}}}}}'
    loaded = load(path, text)
    assert [each.id.name for each in loaded.servers] == ["a", "z"]
    (problem,) = loaded.problems
    assert problem.code == code
    assert says in problem.text
    assert "'bad'" in problem.text
    assert problem.hint
    assert problem.subject == f"{path}:3"


@pytest.mark.parametrize("name", ["", "a b", "ä", "a" * 65, "a/b", "a\n"])
def test_a_name_that_cannot_be_used_is_a_problem(path: Path, name: str) -> None:
    entries = {name: {"command": "c"}, "ok": {"command": "c"}}
    loaded = load(path, json.dumps({"mcpServers": entries}, indent=1))
    assert [each.id.name for each in loaded.servers] == ["ok"]
    assert [(each.code, each.subject) for each in loaded.problems] == [("config-name", f"{path}:3")]
    with pytest.raises(ConfigError, match="cannot name a server"):
        ServersFile(path).put(name, {"command": "c"})


def test_a_repeated_name_is_a_problem_and_the_last_counts(path: Path) -> None:
    loaded = load(path, '{"mcpServers": {"a": {"command": "1"},\n"a": {"command": "2"}}}')
    assert [each.endpoint for each in loaded.servers] == [Command(("2",))]
    assert [(each.code, each.subject) for each in loaded.problems] == [
        ("config-duplicate", f"{path}:2")
    ]


def test_a_name_under_two_keys_counts_at_the_first(path: Path) -> None:
    loaded = load(path, '{"mcp": {"a": {"command": "2"}},\n"mcpServers": {"a": {"command": "1"}}}')
    assert [each.endpoint for each in loaded.servers] == [Command(("1",))]
    assert [(each.code, each.subject) for each in loaded.problems] == [
        ("config-duplicate", f"{path}:1")
    ]


def test_entries_outside_of_any_known_key_are_pointed_out(path: Path) -> None:
    (problem,) = load(path, '{"$schema": "x",\n"git": {"command": "c"}}').problems
    assert (problem.code, problem.subject) == ("config-entry", f"{path}:2")
    assert "mcpServers" in problem.hint


def test_no_file_means_no_servers_and_no_problem(path: Path) -> None:
    assert ServersFile(path).load() == LoadedServers()


@pytest.mark.parametrize(
    ("text", "line"), [('{"a": {\n"b": 1', 1), ('{"a": 1,\n\n "b" 2}', 3), ("", 1), ("[]", 1)]
)
def test_a_file_that_cannot_be_parsed_is_one_problem_with_line_and_column(
    path: Path, text: str, line: int
) -> None:
    loaded = load(path, text)
    assert (loaded.servers, loaded.readable) == ((), False)
    (problem,) = loaded.problems
    assert (problem.code, problem.subject) == ("config-syntax", f"{path}:{line}")
    assert "column" in problem.text


def test_a_file_that_cannot_be_read_is_one_problem(path: Path) -> None:
    path.mkdir()
    (problem,) = ServersFile(path).load().problems
    assert problem.code == "config-unreadable"


def test_a_server_with_an_unset_variable_is_kept_with_a_problem_that_names_it(path: Path) -> None:
    text = (
        '{"mcpServers": {\n"a": {"url": "http://h", "headers": {"X": "${TOKEN}", "Y": "${FINE}"}},'
        '"b": {"command": "${keyring:k}"}}}'
    )
    first, second = load(path, text, {"FINE": "f"}).servers
    assert first.problem is not None
    assert (first.problem.code, first.problem.subject) == ("config-unset", f"{path}:2")
    assert "'TOKEN' (in header 'X')" in first.problem.text
    assert "FINE" not in first.problem.text
    assert second.problem is None
    assert load(path, text, {"FINE": "f", "TOKEN": "t"}).servers[0].problem is None


MINE = """\
{
  // mine
  "mcpServers": {
    "git": {
      "command": "git-mcp", // fast
      "args": ["-v"],
      "autoApprove": ["log"], // not yours
      "timeout": 5
    }
  },
  "theme": "dark"
}
"""


def test_the_first_server_makes_the_file_and_it_is_private(path: Path) -> None:
    file = ServersFile(path)
    file.put("git", {"command": "c", "args": ["-a"]})
    assert path.read_text() == (
        '{\n  "mcpServers": {\n    "git": {\n      "command": "c",\n      "args": ["-a"]\n'
        "    }\n  }\n}\n"
    )
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.endpoint for each in file.load().servers] == [Command(("c", "-a"))]


def test_putting_over_an_entry_keeps_what_it_does_not_know(path: Path) -> None:
    path.write_text(MINE)
    ServersFile(path).put("git", {"url": "http://h/mcp"})
    text = path.read_text()
    root = parse(text.encode()).root
    assert root is not None
    assert root.plain() == {
        "mcpServers": {"git": {"autoApprove": ["log"], "timeout": 5, "url": "http://h/mcp"}},
        "theme": "dark",
    }
    assert "// mine" in text
    assert "// not yours" in text


def test_adding_and_removing_a_neighbour_gives_the_same_bytes_back(path: Path) -> None:
    path.write_text(MINE)
    file = ServersFile(path)
    file.put("time", {"command": "uvx", "args": ["time"]})
    assert [each.id.name for each in file.load().servers] == ["git", "time"]
    file.remove("time")
    assert path.read_text() == MINE


def test_switching_off_and_on_keeps_all_else(path: Path) -> None:
    path.write_text(MINE)
    file = ServersFile(path)
    file.set_enabled("git", False)
    assert not file.load().servers[0].enabled
    assert path.read_text() == MINE.replace(
        '"timeout": 5\n', '"timeout": 5,\n      "disabled": true\n'
    )
    file.set_enabled("git", True)
    assert file.load().servers[0].enabled
    assert "// fast" in path.read_text()


@pytest.mark.parametrize(
    "has", ['"enabled": true', '"disabled": false', '"enabled": true, "disabled": false']
)
def test_switching_uses_the_key_that_is_there(path: Path, has: str) -> None:
    path.write_text(f'{{"mcp": {{"a": {{"command": "c", {has}}}}}}}')
    file = ServersFile(path)
    file.set_enabled("a", False)
    assert not file.load().servers[0].enabled
    file.set_enabled("a", True)
    assert path.read_text() == f'{{"mcp": {{"a": {{"command": "c", {has}}}}}}}'


def test_a_new_server_goes_where_the_others_are(path: Path) -> None:
    path.write_text('{"servers": {"a": {"command": "c"}}}')
    ServersFile(path).put("b", {"command": "d"})
    assert set(json.loads(path.read_text())) == {"servers"}
    assert [each.id.name for each in ServersFile(path).load().servers] == ["a", "b"]


def test_a_removed_server_does_not_come_back_from_another_key(path: Path) -> None:
    path.write_text('{"mcpServers": {"a": {"command": "1"}}, "mcp": {"a": {"command": "2"}}}')
    ServersFile(path).remove("a")
    assert ServersFile(path).load() == LoadedServers()


def test_an_unknown_name_is_refused_with_what_there_is_closest_first(path: Path) -> None:
    path.write_text('{"mcpServers": {"time": {"command": "c"}, "github": {"command": "c"}}}')
    for order in (
        lambda: ServersFile(path).remove("gihub"),
        lambda: ServersFile(path).set_enabled("gihub", True),
    ):
        with pytest.raises(UnknownNameError, match="gihub") as caught:
            order()
        assert caught.value.hint == "there are: github, time"


def test_a_broken_file_is_not_changed(path: Path) -> None:
    path.write_text('{"mcpServers": {"a": ')
    with pytest.raises(ConfigError, match="was not changed"):
        ServersFile(path).put("b", {"command": "c"})
    assert path.read_text() == '{"mcpServers": {"a": '


def test_an_entry_that_could_not_be_loaded_is_not_written(path: Path) -> None:
    with pytest.raises(ConfigError, match="neither 'command' nor 'url'"):
        ServersFile(path).put("b", {"args": []})
    assert not path.exists()


def test_a_linked_file_is_changed_where_it_points_to(tmp_path: Path, path: Path) -> None:
    real = tmp_path / "dotfiles" / "servers.json"
    real.parent.mkdir()
    real.write_text("{}")
    path.symlink_to(real)
    ServersFile(path).put("a", {"command": "c"})
    assert path.is_symlink()
    assert "mcpServers" in real.read_text()


def test_many_writers_lose_nothing(path: Path) -> None:
    names = [f"s{index}" for index in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: ServersFile(path).put(name, {"command": name}), names))
    assert {each.id.name for each in ServersFile(path).load().servers} == set(names)


def test_a_file_that_is_too_large_is_a_problem_and_not_edited(path: Path) -> None:
    path.write_bytes(b" " * (4 * 1024 * 1024 + 1))
    assert [each.code for each in ServersFile(path).load().problems] == ["config-unreadable"]
    with pytest.raises(StoreError, match="larger"):
        ServersFile(path).put("a", {"command": "c"})
