"""Of all that a failing server wrote, the line that matters is shown, and one thing to do.

The texts are those of the real programs; of paths and names alone some were shortened.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from toolyard.core.errors import LinkError
from toolyard.core.last_words import diagnose, explain

STDERR = Path(__file__).parent / "stderr"
CASES = {
    "node-module": ("Cannot find package 'zod'", "_npx/15b07286cbcc3329, then start"),
    "node-require": ("Error: Cannot find module 'express'", "npm install"),
    "node-script": ("'/srv/tools/sever.js'", "correct the path /srv/tools/sever.js"),
    "node-system": ("Error: ENOENT: no such file", "create /srv/memory.json"),
    "node-many": ("ECONNREFUSED ::1:5432", "nothing listens at ::1:5432:"),
    "npm-advert": ("Error accessing directory", "create /srv/ada/projects"),
    "npm-missing": ("npm error 404 Not Found - GET", "correct it in its entry"),
    "npm-network": ("npm error request to", "the name packages.example cannot be"),
    "npm-certificate": ("npm error request to", "NODE_EXTRA_CA_CERTS"),
    "npm-rights": ("Error: EACCES", "rights of that file or folder"),
    "uv-missing": ("no-such-server was not found", "correct it in its entry"),
    "uv-network": ("dns error", "check the network"),
    "python-module": ("ModuleNotFoundError", "the Python module pandas is missing"),
    "python-variable": ("KeyError: 'SHOP_KEY'", "-e SHOP_KEY=…"),
    "python-group": ("RuntimeError: the vault is sealed", ""),
    "python-database": ("psycopg.OperationalError", "nothing listens"),
    "timed-log": ("401 Unauthorized", "put a valid one into its entry"),
}
"""What the line that matters must hold, and what the hint must, by the name of a text."""


def written(name: str) -> list[str]:
    """The lines of a text."""
    return (STDERR / f"{name}.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("name", [file.stem for file in sorted(STDERR.iterdir())])
def test_the_line_that_matters_is_found_with_one_thing_to_do(name: str) -> None:
    line, hint = CASES[name]

    diagnosis = diagnose(written(name))

    assert line in diagnosis.line
    assert hint in diagnosis.hint and bool(hint) is bool(diagnosis.hint)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("/usr/bin/env: ‘node’: No such file or directory", "install Node.js,"),
        ("env: uv: No such file or directory", "install uv,"),
        ("sh: 1: docker: not found", "install Docker,"),
        ("/bin/sh: line 1: uvx: command not found", "install uv,"),
        ("zsh:1: command not found: bunx", "install Bun,"),
        ("Error: spawn gh-helper ENOENT", "install 'gh-helper',"),
        ("docker: Cannot connect to the Docker daemon at unix:///run/docker.sock.", "start Docker"),
        ("python: can't open file '/srv/x.py': [Errno 2] No such file or directory", "/srv/x.py"),
        ("Error: listen EADDRINUSE: address already in use :::3000", "its port is taken"),
        ("dial tcp 127.0.0.1:6379: connect: connection refused", "listens at 127.0.0.1:6379:"),
        ("HttpError: Bad credentials", "its token or password is refused"),
        ("Request failed with status code 403", "give its token the rights"),
        ("Error: getaddrinfo ENOTFOUND api.example", "the name api.example cannot be found"),
        ("Error: certificate has expired", "SSL_CERT_FILE"),
        ("ssl.SSLError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", "SSL_CERT_"),
        ("PermissionError: [Errno 13] Permission denied: '/srv/a'", "it may not use /srv/a"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/srv/b'", "create /srv/b,"),
        ("Error: GITHUB_TOKEN environment variable is required", "GITHUB_TOKEN"),
        ("ModuleNotFoundError: No module named 'mcp.server.mcpserver'", "mcp>=2"),
        ("ImportError: cannot import name 'McpError' from 'mcp.shared.exceptions'", "mcp<2"),
        ("ModuleNotFoundError: No module named 'mcp.server.fastmcp'", "mcp<2"),
        ("AttributeError: 'Server' object has no attribute 'list_tools'", "mcp<2"),
        ("npm warn EBADENGINE Unsupported engine", ""),
        ("SyntaxError: Unexpected token '??='", "newer Node.js"),
        ("all is well", ""),
        ("Usage: mcp-server-filesystem <allowed-directory>", "arguments"),
        ("Error: ENOSPC: no space left on device, write", "disk is full"),
    ],
)
def test_every_known_cause_has_one_action(line: str, hint: str) -> None:
    shown = diagnose((line,)).hint

    assert hint in shown and bool(hint) is bool(shown)
    assert "toolyard doctor" not in shown


def test_without_an_error_the_last_words_are_better_than_nothing() -> None:
    error = LinkError("'slow' did not answer within 60 s of its start")

    explain(error, ("npm notice", "the yard opens", "waiting for the database", "}"))

    assert str(error).endswith("of its start; its last words: waiting for the database")
    assert error.hint == ""


def test_the_only_words_of_a_server_are_the_reason() -> None:
    error = LinkError("'shop' exited with code 1")

    explain(error, ("npm notice", "the shop is closed", "}"))

    assert str(error) == "'shop' exited with code 1: the shop is closed"


def test_an_error_is_explained_once_and_keeps_the_hint_it_has() -> None:
    error = LinkError("'x' exited with code 1", "wait for it")

    for _ in range(2):
        explain(error, written("node-require"))

    assert str(error) == "'x' exited with code 1: Error: Cannot find module 'express'"
    assert error.hint == "wait for it"


def test_endless_lines_are_cut() -> None:
    assert len(diagnose(("Error: " + "x" * 5000,)).line) == 300
