"""Known causes of failing servers, as they read on stderr, each with the one thing to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

PROVIDERS: Final = {
    "bun": "Bun",
    "bunx": "Bun",
    "deno": "Deno",
    "docker": "Docker",
    "node": "Node.js",
    "npm": "Node.js",
    "npx": "Node.js",
    "pipx": "pipx",
    "pnpm": "pnpm",
    "podman": "Podman",
    "python": "Python",
    "python3": "Python",
    "uv": "uv",
    "uvx": "uv",
}
"""What has to be installed for a program to be there."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One known cause: how it reads on stderr, and the one thing to do.

    `{0}` in the action is what the first group that matched holds.
    """

    pattern: str
    """Compiled when a server first fails."""
    action: str

    def hint(self, line: str) -> str:
        """Return the action if this line tells of the cause, or nothing."""
        match = re.search(self.pattern, line)
        if match is None:
            return ""
        word = next((group for group in match.groups() if group), "")
        return self.action.format(word, provider=PROVIDERS.get(word, f"'{word}'"))


CAUSES: Final[tuple[Cause, ...]] = (
    # A package for another version of the SDK.
    Cause(
        r"No module named '?mcp\.server\.(?:mcpserver|context)|No module named '?mcp_types",
        "it was written for mcp 2.x and got 1.x: run it with mcp>=2, e.g. uvx --with 'mcp>=2' NAME",
    ),
    Cause(
        r"cannot import name .* from '?mcp|No module named '?mcp\."
        r"|'Server' object has no attribute '(?:list|call|get|read)_",
        "it was written for mcp 1.x and got 2.x: run it with mcp<2, e.g. uvx --with 'mcp<2' NAME",
    ),
    # A missing runtime.
    Cause(
        r"env: [‘'\"]?([\w.+-]+)[’'\"]?: No such file or directory"
        r"|sh: (?:line )?(?:\d+: )?([\w.+-]+): (?:command )?not found"
        r"|command not found: ([\w.+-]+)|spawn ([\w.+-]+) ENOENT"
        r"|exec: \"([\w.+-]+)\": executable file not found",
        "install {provider}, or put its folder on the PATH of the server's entry",
    ),
    Cause(r"Cannot connect to the Docker daemon", "start Docker"),
    Cause(
        r"Unsupported engine|requires Node|node: .*not supported|SyntaxError: Unexpected"
        r"|does not provide an export named|ERR_UNKNOWN_BUILTIN_MODULE",
        "it needs a newer Node.js: install one, or put it first on the PATH of its entry",
    ),
    # A missing package or module.
    Cause(
        r"npm (?:error|ERR!) 404|No matching distribution|not found in the package registry"
        r"|npm (?:error|ERR!) notarget",
        "its package does not exist under this name or version: correct it in its entry",
    ),
    Cause(
        r"Cannot find (?:package|module) .*?(/[^'\"]*/_npx/[0-9a-f]+)/",
        "its installation is broken: remove {0}, then start it again",
    ),
    Cause(r"Cannot find module '(/[^']+)'", "correct the path {0} in its entry"),
    Cause(
        r"Cannot find (?:module|package) '([^']+)'",
        "the package {0} is missing: run npm install in the server's folder",
    ),
    Cause(r"can't open file '([^']+)'", "correct the path {0} in its entry"),
    Cause(
        r"No module named '?([\w.-]+)'?",
        "the Python module {0} is missing: install it for the Python that runs the server",
    ),
    # Missing settings.
    Cause(
        r"(?:^KeyError: '|[Mm]issing (?:required )?(?:environment )?variable:? "
        r"|[Ee]nvironment variable )[`'\"]?([A-Z][A-Z0-9_]{2,})"
        r"|\b([A-Z][A-Z0-9_]{2,})(?: environment variable)? "
        r"(?:is not set|must be set|is required|not set)",
        "it wants the variable {0}: set it in its entry, e.g. toolyard add … -e {0}=…",
    ),
    # Other programs, networks and accounts.
    Cause(
        r"EADDRINUSE|[Aa]ddress already in use",
        "its port is taken: end the other program, or give it another port",
    ),
    Cause(
        r"ECONNREFUSED (\S*[\w\]])|[Cc]onnect(?:ion)? (?:to )?(\S+:\d+)[^:]*[Rr]efused"
        r"|dial tcp (\S+): connect: connection refused|cannot connect to (\S+) \(.*refused",
        "nothing listens at {0}: start the program there, or correct the address in its entry",
    ),
    Cause(
        r"ECONNREFUSED|[Cc]onnection refused",
        "nothing listens at the address it needs: start that program, or correct its entry",
    ),
    Cause(
        r"\b401\b.*[Uu]nauthori[sz]ed|[Uu]nauthori[sz]ed.*\b401\b|(?:status|code|HTTP|error)\W+401\b"
        r"|[Bb]ad credentials|invalid_auth\b|[Ii]nvalid (?:API|api) ?key|[Ii]ncorrect API key"
        r"|authentication failed",
        "its token or password is refused: put a valid one into its entry",
    ),
    Cause(
        r"\b403\b.*[Ff]orbidden|[Ff]orbidden.*\b403\b|(?:status|code|HTTP|error)\W+403\b",
        "its account may not do this: give its token the rights it lacks",
    ),
    Cause(
        r"self[- ]signed certificate|unable to verify the first certificate|certificate has expired"
        r"|UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF)|CERTIFICATE_VERIFY_FAILED|x509: certificate"
        r"|invalid peer certificate|SSLCertVerificationError|certificate verify failed",
        "the certificate is not trusted: set NODE_EXTRA_CA_CERTS or SSL_CERT_FILE in its entry",
    ),
    Cause(
        r"(?:ENOTFOUND|EAI_AGAIN) ([\w.-]+\w)|lookup ([\w.-]+\w)(?: on \S+)?: no such host"
        r"|Could not resolve host: ([\w.-]+\w)|failed to resolve '([\w.-]+\w)'"
        r"|cannot connect to (\S+) \((?:name|nodename|no address|temporary failure)",
        "the name {0} cannot be found: check the network and the address in its entry",
    ),
    Cause(
        r"ENOTFOUND|EAI_AGAIN|[Nn]ame or service not known|getaddrinfo|dns error"
        r"|[Tt]emporary failure in name resolution",
        "a name it needs cannot be found: check the network, and the addresses in its entry",
    ),
    Cause(
        r"ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|[Nn]etwork is unreachable|[Cc]onnection timed out",
        "it cannot reach the network: check the connection, the proxy and the firewall",
    ),
    # Files.
    Cause(
        r"(?:EACCES|EPERM)[^'\"]*['\"]([^'\"]+)|[Pp]ermission denied: '([^']+)'",
        "it may not use {0}: change the rights of that file or folder",
    ),
    Cause(
        r"EACCES|EPERM|[Pp]ermission denied",
        "it may not use something: change the rights of the file it names",
    ),
    Cause(
        r"ENOENT: no such file or directory, \w+ '([^']+)'"
        r"|\[Errno 2\] No such file or directory: '([^']+)'"
        r"|(?:Cannot|cannot|Could not|could not) access (?:directory|folder) ([^\s:,]+)"
        r"|(?:[Dd]irectory|[Ff]older|[Pp]ath) ['\"]?(/[^\s'\",]+)['\"]? "
        r"(?:does not exist|not found)",
        "create {0}, or correct the path in its entry",
    ),
    Cause(r"ENOSPC|[Nn]o space left on device", "the disk is full: make room on it"),
    Cause(
        r"^[Uu]sage: |arguments are required|[Mm]issing required argument",
        "it wants other arguments: correct them in its entry",
    ),
)
"""Known causes, the most telling ones first."""


def find_cause(lines: Iterable[str]) -> tuple[str, str]:
    """Return the line that tells of a known cause, and what to do; empty texts if none does."""
    texts = list(lines)
    matches = ((line, cause.hint(line)) for cause in CAUSES for line in texts)
    return next(((line, hint) for line, hint in matches if hint), ("", ""))


def find_hint(text: str) -> str:
    """Return what to do about an error with this text; empty if its cause is not known."""
    return find_cause((text,))[1]
