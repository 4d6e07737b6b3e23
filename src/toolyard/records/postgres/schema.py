"""The tables of a yard in PostgreSQL, and how they are brought up to date.

Hubs of two versions run side by side while a fleet is upgraded. So a migration only adds, and what
it makes superfluous is removed by a later version, which raises `least`: the number of migrations
that a hub must know to work with the tables as they are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from psycopg import sql

from toolyard.core.errors import StoreError
from toolyard.records.postgres.connections import STATEMENT_TIMEOUT, Connection

FROZEN_TIMEOUT: Final = "4s"
"""A hub that is frozen in a transaction keeps its locks no longer, so that others go on."""


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """One step of the tables; a step that was released is never changed."""

    statements: str
    least: int = 1
    """The number of steps that hubs must know from then on."""


# Members of JSON keep their order, which is that of arguments and variables: hence no jsonb.
# A record that was deleted stays without its value, so that those who follow notice; `pruned` is
# the newest version of those that were removed for good.
_RECORDS: Final = """
CREATE TABLE yard (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    revision bigint NOT NULL, pruned bigint NOT NULL, schema int NOT NULL, least int NOT NULL
);
INSERT INTO yard (revision, pruned, schema, least) VALUES (0, 0, 0, 0);
CREATE TABLE records (
    kind text NOT NULL, key text NOT NULL, value json, version bigint NOT NULL,
    by text NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (kind, key)
);
CREATE INDEX records_version ON records (version);
"""

# All times are the database's own: the clocks of hubs differ. `start` tells two hubs apart that
# have the same name.
_REPLICAS: Final = """
ALTER TABLE yard ADD COLUMN name text NOT NULL DEFAULT md5(random()::text || clock_timestamp());
CREATE TABLE replicas (
    id text PRIMARY KEY, start text NOT NULL, address text NOT NULL, version text NOT NULL,
    schema int NOT NULL, draining boolean NOT NULL, until timestamptz NOT NULL
);
CREATE TABLE ended_sessions (
    session bytea PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp(),
    until timestamptz NOT NULL
);
CREATE INDEX ended_sessions_at ON ended_sessions (at);
CREATE TABLE session_notes (
    principal text PRIMARY KEY, note json NOT NULL, at timestamptz NOT NULL,
    until timestamptz NOT NULL
);
CREATE INDEX session_notes_at ON session_notes (at);
"""

# A login is renewed by one hub at a time: whoever has its row, until that time.
_RENEWALS: Final = """
CREATE TABLE renewals (
    url text PRIMARY KEY, holder text NOT NULL, renewing_until timestamptz NOT NULL
);
"""

# Read when a hub starts, and followed by nobody: each asks the servers itself.
_OFFERS: Final = """
CREATE TABLE offers (
    server text PRIMARY KEY, value bytea NOT NULL, at timestamptz NOT NULL DEFAULT now()
);
"""

# Calls that are over, in a table for each day, which goes as a whole. `at` is in seconds since
# 1970, as in SQLite: both are asked the same. `folded` has the texts of calls that are more than
# ASCII.
_CALLS: Final = """
CREATE SEQUENCE call_ids;
CREATE TABLE call_log (
    id bigint NOT NULL DEFAULT nextval('call_ids'), at double precision NOT NULL,
    replica text NOT NULL, agent text NOT NULL, caller text NOT NULL, server text NOT NULL,
    tool text NOT NULL, ms double precision NOT NULL, asked bigint NOT NULL,
    answered bigint NOT NULL, outcome text NOT NULL, error text NOT NULL,
    start_ms double precision NOT NULL DEFAULT 0, person_at_ms double precision NOT NULL DEFAULT 0,
    person_ms double precision NOT NULL DEFAULT 0, arguments text, result text, folded text
) PARTITION BY RANGE (at);
CREATE INDEX call_log_id ON call_log (id);
"""

# Orders that people gave, each in the transaction that carried it out.
_AUDIT: Final = """
CREATE TABLE audit (
    id bigserial PRIMARY KEY, at double precision NOT NULL, by text NOT NULL,
    address text NOT NULL, verb text NOT NULL, kind text NOT NULL, key text NOT NULL,
    before text, after text
);
"""

# A lease is its holder's as long as the row of that one in `replicas` holds. No epoch is given
# twice, so that what belongs to an earlier lease of the same key is told apart.
_LEASES: Final = """
CREATE SEQUENCE lease_epochs;
CREATE TABLE leases (
    key text PRIMARY KEY, replica text NOT NULL, start text NOT NULL,
    epoch bigint NOT NULL DEFAULT nextval('lease_epochs')
);
"""

# Who made a call or gave an order, beyond the name of the token; and the chain of seals by which
# altered rows are found. Hubs of the version that made them count calls by summaries.
_ORIGINS: Final = """
ALTER TABLE call_log ADD COLUMN member text NOT NULL DEFAULT '';
ALTER TABLE call_log ADD COLUMN token text NOT NULL DEFAULT '';
ALTER TABLE call_log ADD COLUMN address text NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN agent text NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN member text NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN token text NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN replica text NOT NULL DEFAULT '';
CREATE TABLE seals (
    log text NOT NULL, number bigint NOT NULL, kind text NOT NULL, first bigint NOT NULL,
    last bigint NOT NULL, at double precision NOT NULL, replica text NOT NULL,
    ordered bigint NOT NULL, lock text NOT NULL, body bytea NOT NULL, key text NOT NULL,
    previous bytea NOT NULL, digest bytea NOT NULL, PRIMARY KEY (log, number)
);
CREATE INDEX seals_last ON seals (log, kind, last);
CREATE TABLE call_summaries (
    part bigint NOT NULL, server text NOT NULL, tool text NOT NULL, agent text NOT NULL,
    caller text NOT NULL, outcome text NOT NULL, least_at double precision NOT NULL,
    most_at double precision NOT NULL, times bytea NOT NULL,
    PRIMARY KEY (part, server, tool, agent, caller, outcome)
);
"""

# The part of each figure of a limit that a replica may use; what they use goes by their own clocks.
_LIMITS: Final = """
CREATE TABLE limit_shares (
    gauge text NOT NULL, replica text NOT NULL, share bigint NOT NULL, used bigint NOT NULL,
    wanted bigint NOT NULL, until timestamptz NOT NULL, PRIMARY KEY (gauge, replica)
);
CREATE INDEX limit_shares_until ON limit_shares (until);
"""

# Calls in groups; see records/call_groups.py.
_GROUPS: Final = """
CREATE TABLE call_groups (
    part bigint NOT NULL, server text NOT NULL, tool text NOT NULL, agent text NOT NULL,
    caller text NOT NULL, outcome text NOT NULL, least_at double precision NOT NULL,
    most_at double precision NOT NULL, bodies int NOT NULL, durations bytea NOT NULL, texts text,
    ids bytea NOT NULL, moments bytea NOT NULL,
    PRIMARY KEY (part, server, tool, agent, caller, outcome)
);
"""

STEPS: Final = (
    SchemaStep(_RECORDS),
    SchemaStep(_REPLICAS),
    SchemaStep(_RENEWALS),
    SchemaStep(_OFFERS),
    SchemaStep(_CALLS),
    SchemaStep(_AUDIT),
    SchemaStep(_LEASES),
    SchemaStep(_ORIGINS),
    SchemaStep(_LIMITS),
    SchemaStep(_GROUPS),
)


def enter(connection: Connection, schema: str) -> None:
    """Let the statements of this transaction be about the tables of one yard."""
    # For the transaction alone, so that it works behind a pooler, too.
    connection.execute(
        "SELECT set_config('search_path', %s, true), set_config('statement_timeout', %s, true),"
        " set_config('idle_in_transaction_session_timeout', %s, true)",
        (sql.Identifier(schema).as_string(connection), STATEMENT_TIMEOUT, FROZEN_TIMEOUT),
    )


def bring_up_to_date(connection: Connection, schema: str) -> None:
    """Make or extend the tables of a yard, within a transaction; one hub at a time does.

    Raises:
        StoreError: A newer version has left hubs of this one behind.
    """
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_lock_key(schema),))
    if not _exists(connection, "SELECT to_regnamespace(quote_ident(%s))", schema):
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    enter(connection, schema)
    done, least = 0, 0
    if _exists(connection, "SELECT to_regclass(%s)", "yard"):
        row = connection.execute("SELECT schema, least FROM yard").fetchone()
        done, least = row or (0, 0)
    if least > len(STEPS):
        text = f"the schema {schema!r} of the database belongs to a newer toolyard"
        raise StoreError(text, "update toolyard")
    for step in STEPS[done:]:
        connection.execute(step.statements.encode())
        least = max(least, step.least)
    if done < len(STEPS):
        connection.execute("UPDATE yard SET schema = %s, least = %s", (len(STEPS), least))


def channel(schema: str) -> str:
    """The channel on which changes of a yard are told."""
    return f"toolyard.{schema}"[:63]


def _exists(connection: Connection, query: str, name: str) -> bool:
    row = connection.execute(query.encode(), (name,)).fetchone()
    return row is not None and row[0] is not None


def _lock_key(schema: str) -> int:
    digest = hashlib.sha256(f"toolyard {schema}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
