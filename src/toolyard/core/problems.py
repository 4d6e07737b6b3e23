"""Every problem the hub or `toolyard doctor` can report, by its code.

A code never changes its meaning, so that scripts may rely on it. The table in
`docs/reference/problems.md` is generated from this one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class ProblemCode(StrEnum):
    """The code of a problem, with what it means and what to do about it."""

    meaning: str
    remedy: str

    def __new__(cls, code: str, meaning: str, remedy: str) -> Self:
        """Make a member that is equal to its code as text."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        member.remedy = remedy
        return member

    ADDRESS_CLASH = (
        "address-clash",
        (
            "A server lists a resource whose URI another server listed first. It is served under a "
            "wrapped URI, `toolyard://at/NAME/…` or `ui://NAME+…`."
        ),
        "Nothing: both can be read.",
    )
    ADDRESS_RESERVED = (
        "address-reserved",
        (
            "A server lists a resource with the scheme `toolyard://`, which is reserved for the "
            "hub. The resource is left out."
        ),
        "Ask the server's author to use another scheme.",
    )
    AGENTS_FAILED = (
        "agents-failed",
        "The lists of agents and the policies of executors could not be read at all.",
        "Follow the hint; `toolyard doctor --restore` puts a copy of the database back.",
    )
    AGENTS_RECORD = (
        "agents-record",
        (
            "One list of an agent, one executor or one policy in the database cannot be read. It "
            "gives and allows nothing."
        ),
        "Write it again with the command in the hint.",
    )
    AGENTS_UNSET = (
        "agents-unset",
        "A server on an agent's list refers to a variable or a secret that is not set.",
        "Set it in the hub's environment, or give a default: `${VAR:-x}`.",
    )
    ANNOUNCED_UNREADABLE = (
        "announced-unreadable",
        "An announce file cannot be read.",
        "Correct or remove it; the next server that announces itself sets it aside.",
    )
    ANNOUNCED_WAITS = (
        "announced-waits",
        (
            "A server announced itself, but is not offered: nothing listens at its address, or "
            "what listens there does not belong to the process that announced it."
        ),
        "Start it, or run `toolyard scan adopt NAME` if you trust it.",
    )
    APP_FILE = (
        "app-file",
        "A file in `apps/` does not define an app. If it did before, that definition stays in use.",
        "Correct or remove the file.",
    )
    APP_SETTING = (
        "app-setting",
        "A variable of an app has a value that cannot be used. The default applies.",
        "Correct the variable in the hub's environment.",
    )
    AUTH_NEEDED = (
        "auth-needed",
        (
            "A server asks for a login: it answered 401, or 403 with a challenge. It is not tried "
            "again until you log in. On a server that is ready: one call was refused with "
            "`insufficient_scope`, everything else works."
        ),
        "`toolyard auth login NAME`, or correct the entry's `headers`.",
    )
    CATALOG_ADDED = (
        "catalog-added",
        (
            "`added.json`, the list of servers added from the catalog, cannot be read. What was "
            "read before stays in use."
        ),
        "Correct the file at the line in the text.",
    )
    CATALOG_DEFINITION = (
        "catalog-definition",
        "A definition in the catalog cannot be used.",
        "Correct the field in the text, or remove the file; all other definitions work.",
    )
    CATALOG_DUPLICATE = (
        "catalog-duplicate",
        "Two files in the catalog define the same name. One of them is ignored.",
        "Rename or delete one of them.",
    )
    CATALOG_MISSING = (
        "catalog-missing",
        "A server was added from the catalog, but no usable definition of it is left.",
        "`toolyard catalog remove NAME`, or bring its definition back.",
    )
    CATALOG_OFFER = (
        "catalog-offer",
        "A tool, prompt or resource that a definition has on file cannot be used. It is left out.",
        "`toolyard verify NAME` records what the server offers now.",
    )
    CATALOG_SYNTAX = (
        "catalog-syntax",
        "A file in the catalog is not JSON.",
        "Correct the line in the text.",
    )
    CATALOG_UNREADABLE = (
        "catalog-unreadable",
        "A file in the catalog cannot be read, or is too large.",
        "Check who may read it, and what it is.",
    )
    CATALOG_UNSET = (
        "catalog-unset",
        "A server from the catalog needs a value that is not set.",
        "Get the value where the hint says, and add the server again with it.",
    )
    CLEAR_TEXT = (
        "clear-text",
        (
            "Others can reach the hub at an address (`--host`, `--public`) where tokens travel "
            "unencrypted."
        ),
        (
            "Give the hub a certificate with `--tls-cert` and `--tls-key`, or put a proxy with TLS "
            "in front and name its address with `--public`."
        ),
    )
    CLIENT_ENTRY = (
        "client-entry",
        "An entry in a client's own file cannot be imported.",
        "Correct it in that file, or leave it: all other entries can be imported.",
    )
    CLIENT_FILE = (
        "client-file",
        "A client's own file cannot be read.",
        "Correct it at the line in the text; the client cannot read it either.",
    )
    CLIENT_PROGRAM = (
        "client-program",
        (
            "Clients start the hub with a program that is gone: Toolyard was moved or installed in "
            "another place since they were connected."
        ),
        "Connect them again with the command in the hint.",
    )
    CONFIG_DUPLICATE = (
        "config-duplicate",
        "A key or a server's name occurs twice in `servers.json`.",
        "Keep one of them.",
    )
    CONFIG_ENTRY = (
        "config-entry",
        (
            "An entry in `servers.json` cannot be used: neither a command nor an address, an "
            "unknown `type`, a value of the wrong kind."
        ),
        "Correct the entry at the line in the text; all other servers work.",
    )
    CONFIG_MISSING = (
        "config-missing",
        "The servers file that was named does not exist.",
        "Correct the path, or add a server with `toolyard add`.",
    )
    CONFIG_NAME = (
        "config-name",
        "A name in `servers.json` cannot be used.",
        "Use 1 to 64 letters, digits, `_`, `.` or `-`.",
    )
    CONFIG_SHARED = (
        "config-shared",
        (
            "`servers.json`, or a directory above it, belongs to another user or can be changed by "
            "others, who could thus run programs as you. What was read before stays in use."
        ),
        "Run the `chmod` in the hint, or use a file of your own.",
    )
    CONFIG_SYNTAX = (
        "config-syntax",
        "`servers.json` is not JSON. The last good list stays in use.",
        "Correct the line in the text.",
    )
    CONFIG_UNREADABLE = (
        "config-unreadable",
        "`servers.json` is there, but cannot be read.",
        "Check who may read it, and that it is a file.",
    )
    CONFIG_UNSET = (
        "config-unset",
        (
            "An entry in `servers.json` refers to a variable that is not set. Its server is not "
            "started."
        ),
        "Set it in the hub's environment, or give a default: `${VAR:-x}`.",
    )
    DATABASE_AWAY = (
        "database-away",
        (
            "The PostgreSQL database that hubs share does not answer. Calls go on with what the "
            "hub knows; orders are refused with status 503."
        ),
        "Nothing, if it comes back: the hub follows it again by itself. Else see its log.",
    )
    DATABASE_FAILED = (
        "database-failed",
        (
            "`toolyard.db` is damaged, is not a database of Toolyard, or was written by a newer "
            "version. Calls are not recorded, and tools of your servers wait for approval."
        ),
        "Follow the hint, or put a copy back: `toolyard doctor --restore`.",
    )
    DATABASE_LOST = (
        "database-lost",
        (
            "`toolyard.db` was removed, emptied or replaced while the rest of the state is still "
            "there. Tools of your servers wait, because you may have refused them before."
        ),
        "`toolyard doctor --restore`, or `toolyard doctor --anew` to go on without it.",
    )
    DATABASE_READ_ONLY = (
        "database-read-only",
        (
            "`toolyard.db` can be read, but not written. What was approved is served; new servers "
            "and tools wait; nothing is recorded."
        ),
        "Make the directory writable or free some space, then restart the hub.",
    )
    EXECUTOR_UNREACHED = (
        "executor-unreached",
        "An executor could not be searched for servers that an earlier hub left running.",
        "`toolyard executor test NAME`.",
    )
    HISTORY_DROPPED = (
        "history-dropped",
        (
            "Calls are missing from the history: more waited than may, while the database was away "
            "or the disk could not keep up. The text counts them; the calls themselves went on."
        ),
        "See whether the disk is full or the database away. Calls from then on are recorded.",
    )
    HISTORY_EXPORT = (
        "history-export",
        (
            "The place that TOOLYARD_HISTORY_EXPORT names does not take calls and orders, or was "
            "away for so long that some of them were dropped. The text counts those. Calls go on, "
            "and the history has them."
        ),
        (
            "See whether the file can be written, or the syslog daemon or collector runs. Then "
            "hand over what it has missed: `toolyard history export --since 2h --to ADDRESS`."
        ),
    )
    HUB_FILES = (
        "hub-files",
        (
            "The files that the running hub was loaded from are gone: Toolyard was removed, or uv "
            "cleaned the cache that `uvx` ran it from. The hub can load nothing new."
        ),
        "`toolyard restart`; for daily use, install it with `uv tool install`, not `uvx`.",
    )
    HUB_UNREACHABLE = (
        "hub-unreachable",
        "A hub is running, but does not answer (`toolyard doctor` only).",
        "`toolyard restart`.",
    )
    INTERCEPTORS_FILE = (
        "interceptors-file",
        (
            "`interceptors.json` is damaged, or one interceptor in it. Calls of the tools that it "
            "is for are refused; of all tools, if nobody can tell which it is for."
        ),
        "Correct the file at the line that is named, or remove the interceptor.",
    )
    ISSUER_AWAY = (
        "issuer-away",
        (
            "The issuer that people log in with does not answer, or gives no usable metadata or "
            "keys. People whose tokens are known go on until these expire."
        ),
        "Nothing, if it comes back: the hub asks again by itself. Else check `TOOLYARD_ISSUER`.",
    )
    ISSUER_TOKENS = (
        "issuer-tokens",
        (
            "A token that the issuer signed was refused, or its groups were not understood: it is "
            "for another service, not valid yet, or has a claim of an unexpected shape."
        ),
        "Follow the text; see `TOOLYARD_AUDIENCE`, `TOOLYARD_GROUPS_CLAIM`, and both clocks.",
    )
    LIMITS_FILE = (
        "limits-file",
        (
            "`limits.json` is damaged. Calls that a damaged limit is about are refused; if nobody "
            "can tell which those are, all calls of servers' tools are."
        ),
        "Correct the file, or set the limits again: `toolyard limit set`.",
    )
    MARKS_FILE = (
        "marks-file",
        (
            "`marks.json` is damaged. A tool whose mark cannot be read may be one that destroys: "
            "tokens and admissions with a lower tier do not show it."
        ),
        "Correct the file, or remove it and mark the tools again.",
    )
    MEMBERS_FILE = (
        "members-file",
        (
            "`members.json` or `admissions.json` is damaged. Without all members nobody new is let "
            "in; an admission that cannot be read admits nobody."
        ),
        "Correct the file, or bring a copy back.",
    )
    NOT_FOUND = (
        "not-found",
        "The program of a server is not on the `PATH` (`toolyard doctor` without a running hub).",
        "Install it, or give its full path.",
    )
    NPX_BROKEN = (
        "npx-broken",
        (
            "An interrupted npx left half a package in the npm cache. Its folder was removed, and "
            "the package is being installed again."
        ),
        "Nothing, unless it fails again: then the package itself lacks something.",
    )
    PACKAGE_GONE = (
        "package-gone",
        "The installed package of a server was removed.",
        "Nothing: it is installed again after the next start.",
    )
    PACKAGE_INSTALL = (
        "package-install",
        (
            "The package of a server behind `npx`, `uvx` or `pipx run` could not be installed. Its "
            "launcher starts it each time."
        ),
        "Follow the text; `toolyard executor packages update NAME` tries again.",
    )
    PACKAGE_START = (
        "package-start",
        (
            "An installed package did not start where its launcher did. The launcher is used from "
            "now on."
        ),
        "`toolyard executor packages update NAME`.",
    )
    PASSPORTS_FILE = (
        "passports-file",
        "An entry of `passports.json` cannot be used. The rest of the file applies.",
        "Correct the entry, or run `toolyard clients quirks reset CLIENT`.",
    )
    PIN_CHANGED = (
        "pin-changed",
        (
            "Tools, prompts, resources, templates or instructions changed since they were "
            "approved, or are new where new ones wait too. No client sees them."
        ),
        "`toolyard approve NAME --dry-run`, then `toolyard approve NAME`.",
    )
    PIN_LAUNCH = (
        "pin-launch",
        "The way a server is started was changed outside of Toolyard. The server is not started.",
        "`toolyard approve NAME --dry-run`, then `toolyard approve NAME`.",
    )
    PIN_LOCK = (
        "pin-lock",
        "The hub is frozen, and a server is not as the lock file has it.",
        "`toolyard lock --check`.",
    )
    PIN_RESTLESS = (
        "pin-restless",
        (
            "The text of a tool, or of another part of a server, changes again and again, so that "
            "approving it does not last."
        ),
        (
            "`toolyard approve NAME --dry-run`; if any text will do, "
            "`toolyard approve NAME TOOL --any-text`."
        ),
    )
    PORT_MOVED = (
        "port-moved",
        (
            "The usual port was in use when the hub started, so it listens on another. Clients "
            "that were given the usual port send their token to whoever listens there."
        ),
        (
            "Free the port and run `toolyard restart`, or choose another with `--port` and connect "
            "the clients again."
        ),
    )
    PROFILE_FILE = (
        "profile-file",
        "A file in `profiles/` is not a profile. If it was one before, that one stays in use.",
        "Correct or remove the file.",
    )
    REPLICA_NAME = (
        "replica-name",
        (
            "Two hubs that share a database have the same name. Each takes the other for itself: "
            "answers may go to the wrong one, and leftovers are not removed."
        ),
        "Give each hub a `TOOLYARD_REPLICA` of its own; in a cluster that is the name of its pod.",
    )
    RULES_FILE = (
        "rules-file",
        (
            "`rules.json`, or a rule in it, is damaged. A rule that cannot be read refuses the "
            "calls of all tools that it may be about. If the file cannot be read, the rules that "
            "were read last stay in force; if there were none, no tool can be called."
        ),
        "Correct the file at the line that is named, or remove the rule: `toolyard rule remove`.",
    )
    RUN_DIR = (
        "run-dir",
        (
            "The run directory cannot be written, or is not yours alone. HTTP is served, but "
            "`toolyard mcp` and other commands may not find the hub."
        ),
        "Make it writable or free some space, then start the hub again.",
    )
    SCAN_CONFLICT = (
        "scan-conflict",
        "What listens on the port of an app's variant is not the app; the text says what it is.",
        "Stop it, or move the variant to another port.",
    )
    SCAN_FOREIGN = (
        "scan-foreign",
        "Another user listens on the port of an app's variant. The hub does not connect to it.",
        "Stop that process, or start the app as yourself.",
    )
    SECRET_MISSING = (
        "secret-missing",
        (
            "A secret (`${keyring:name}` or `${file:path}`) has no value, or its file can be read "
            "by others."
        ),
        "`toolyard secret set NAME`.",
    )
    SERVER_LINK = (
        "server-link",
        (
            "The connection to a server failed: it ended, did not answer in time, or wrote to "
            "stdout what is not MCP."
        ),
        "`toolyard logs NAME`; raise its `timeout` if it is only slow.",
    )
    SERVER_LISTS = (
        "server-lists",
        (
            "A server is ready, but did not give one of its lists: tools, prompts, resources or "
            "templates. What it listed before stays in use, and so does everything else."
        ),
        "Follow the hint, then ask again: `toolyard server refresh NAME`.",
    )
    SERVER_START = (
        "server-start",
        (
            "A server could not be started or reached: the program is not found or ended at once, "
            "or the address refuses connections or is unknown."
        ),
        "`toolyard logs NAME`; install the program, start the server, or correct the entry.",
    )
    SOURCE_FAILED = (
        "source-failed",
        "A source of servers failed. Its last report stays in use, and it is started again.",
        "Follow the hint.",
    )
    TELEMETRY_COLLECTOR = (
        "telemetry-collector",
        (
            "The collector does not take traces or metrics. Calls go on; what cannot be delivered "
            "is dropped."
        ),
        "Start the collector, or correct `OTEL_EXPORTER_OTLP_ENDPOINT` and restart the hub.",
    )
    TELEMETRY_SETTINGS = (
        "telemetry-settings",
        (
            "A variable `OTEL_…` cannot be followed, or the extra `otel` is not installed. What it "
            "is about is not exported; everything else goes on."
        ),
        "Follow the hint, then `toolyard restart`.",
    )
    TLS_FILES = (
        "tls-files",
        (
            "The files of `--tls-cert` and `--tls-key` have changed and cannot be used. The "
            "certificate before stays in use."
        ),
        "Put a certificate and its key there, in PEM, without a password; they are taken at once.",
    )
    TOKENS_FILE = (
        "tokens-file",
        (
            "`tokens.json` is damaged, or was written by a newer version. Agents with tokens of "
            "their own are not let in, and the file is left as it is."
        ),
        "Bring the file back, or move it away and make new tokens.",
    )
    TOOL_SHAPE = (
        "tool-shape",
        (
            "The `inputSchema` of a tool is not of type `object`, so nobody can call it. Only that "
            "tool is left out."
        ),
        "Tell the server's author.",
    )
    VERSION = (
        "version",
        "The running hub is of another version than the command line (`toolyard doctor` only).",
        "`toolyard restart`.",
    )
