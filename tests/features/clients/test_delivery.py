"""What a run is handed: the words of each client, and files that are put back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from toolyard.core.errors import ConfigError
from toolyard.core.model import Command, Endpoint, Url
from toolyard.features.clients.delivery import VARIABLE, Delivery, deliver
from toolyard.features.clients.places import Surroundings
from toolyard.features.clients.runs import put_back_leftovers, run_folder

SERVERS: dict[str, Endpoint] = {
    "git": Command(("git-server", "--all"), (("API_KEY", "sekret"), ("LEVEL", "2"))),
    "web.x": Url("http://127.0.0.1:1/mcp", "http", (("Authorization", "Bearer t0p"), ("X-A", "b"))),
}
ID = f"{os.getpid()}-0001"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def handed(agent: str, project: Path, others: tuple[str, ...] = ()) -> Delivery:
    return deliver(agent, SERVERS, Surroundings({}, project), project, others)


def test_claude_code_gets_a_file_by_flag_and_no_other_servers(
    project: Path, tmp_path: Path
) -> None:
    with run_folder(tmp_path / "runs", handed("claude-code", project), ID) as (folder, made):
        flag, path, strict = made.words
        assert (flag, strict) == ("--mcp-config", "--strict-mcp-config")
        said = json.loads(Path(path).read_text())["mcpServers"]
        assert said["git"]["env"]["API_KEY"] == "sekret"
        assert said["web.x"]["headers"]["Authorization"] == "Bearer t0p"
        assert Path(path).stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
    assert list(project.iterdir()) == []


def test_codex_gets_words_without_secrets(project: Path) -> None:
    made = handed("codex", project, ("theirs", "git"))
    assert made.words[::2] == ("-c",) * (len(made.words) // 2)
    text = "\n".join(made.words[1::2])
    assert "sekret" not in text
    assert "t0p" not in text
    said = tomllib.loads(text)["mcp_servers"]
    assert said["git"] == {
        "command": "git-server",
        "args": ["--all"],
        "env": {"LEVEL": "2"},
        "env_vars": ["API_KEY"],
    }
    env = dict(made.env)
    assert env["API_KEY"] == "sekret"
    assert env[said["web.x"]["bearer_token_env_var"]] == "t0p"
    assert env[said["web.x"]["env_http_headers"]["X-A"]] == "b"
    assert said["theirs"] == {"enabled": False}


def test_opencode_gets_a_file_by_variable(project: Path, tmp_path: Path) -> None:
    with run_folder(tmp_path / "runs", handed("opencode", project), ID) as (_, made):
        [(name, path)] = made.env
        assert name == "OPENCODE_CONFIG"
        said = json.loads(Path(path).read_text())["mcp"]
        assert said["git"]["command"] == ["git-server", "--all"]


def test_an_agent_nobody_knows_finds_a_file_by_our_variable(project: Path, tmp_path: Path) -> None:
    with run_folder(tmp_path / "runs", handed("mine", project), ID) as (_, made):
        path = dict(made.env)[VARIABLE]
        assert set(json.loads(Path(path).read_text())["mcpServers"]) == set(SERVERS)


@pytest.mark.parametrize(
    ("agent", "file"),
    [("gemini", ".gemini/settings.json"), ("qwen", ".qwen/settings.json"),
     ("cursor", ".cursor/mcp.json")],
)  # fmt: skip
@pytest.mark.parametrize("before", [None, b'\xef\xbb\xbf{\r\n // mine\r\n "theme":"x",\r\n}\r\n'])
def test_a_projects_file_is_merged_and_put_back_to_the_byte(
    project: Path, tmp_path: Path, agent: str, file: str, before: bytes | None
) -> None:
    path = project / file
    if before is not None:
        path.parent.mkdir()
        path.write_bytes(before)
        path.chmod(0o644)
    with run_folder(tmp_path / "runs", handed(agent, project), ID):
        text = path.read_text("utf-8-sig")
        assert "git-server" in text
        assert (before is None) or ("// mine" in text)
    if before is None:
        assert list(project.iterdir()) == []
    else:
        assert path.read_bytes() == before
        assert path.stat().st_mode & 0o777 == 0o644


def test_only_our_entries_leave_a_file_that_was_changed_meanwhile(
    project: Path, tmp_path: Path
) -> None:
    path = project / ".cursor" / "mcp.json"
    with run_folder(tmp_path / "runs", handed("cursor", project), ID):
        said = json.loads(path.read_text())
        said["mcpServers"]["added"] = {"command": "x"}
        path.write_text(json.dumps(said))
    assert json.loads(path.read_text())["mcpServers"] == {"added": {"command": "x"}}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_runs_in_one_project_the_last_puts_it_back(
    project: Path, tmp_path: Path, order: tuple[int, int]
) -> None:
    path = project / ".cursor" / "mcp.json"
    path.parent.mkdir()
    before = b'{"mcpServers": {}} // mine\n'
    path.write_bytes(before)
    runs = tmp_path / "runs"
    other: dict[str, Endpoint] = {"second": Command(("second",))}
    second = deliver("cursor", other, Surroundings({}, project), project)
    open_runs = [
        run_folder(runs, handed("cursor", project), ID),
        run_folder(runs, second, f"{os.getpid()}-0002"),
    ]
    for each in open_runs:
        each.__enter__()
    open_runs[order[0]].__exit__(None, None, None)
    assert b"second" in path.read_bytes()
    open_runs[order[1]].__exit__(None, None, None)
    assert path.read_bytes() == before


def test_what_a_killed_run_left_is_put_back_by_the_next(project: Path, tmp_path: Path) -> None:
    path = project / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(before := b'{"theme": 1}')
    code = f"""
import os, signal
from pathlib import Path
from tests.features.clients.test_delivery import handed
from toolyard.features.clients.runs import run_folder
with run_folder(Path({str(tmp_path / "runs")!r}), handed("gemini", Path({str(project)!r})),
                f"{{os.getpid()}}-dead"):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False)
    assert ended.returncode == -9
    assert b"git-server" in path.read_bytes()
    assert [name.partition("-")[2] for name in put_back_leftovers(tmp_path / "runs")] == ["dead"]
    assert path.read_bytes() == before
    assert [each.name for each in (tmp_path / "runs").iterdir()] == ["runs.lock"]


def test_nothing_is_written_through_a_link(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(b"{}")
    (project / ".cursor").mkdir()
    (project / ".cursor" / "mcp.json").symlink_to(elsewhere)
    with pytest.raises(ConfigError), run_folder(tmp_path / "runs", handed("cursor", project), ID):
        pass
    assert elsewhere.read_bytes() == b"{}"
