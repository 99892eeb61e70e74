"""Tables of the ledger, their version, and how a database gets them. No rows are read or written here but the version.

JSON columns are ASCII text: every database stores it unchanged, lone surrogates and NUL included.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    select,
    text,
)

from lic_pipeline.errors import StorageError

SCHEMA_VERSION = 1
_CREATION_LOCK = 5_417_209_911
"""PostgreSQL advisory lock that keeps two processes from creating the tables at once."""

METADATA = MetaData()

META = Table("ledger_meta", METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

CONVERSATIONS = Table(
    "conversations",
    METADATA,
    Column("conversation_id", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("stop_reason", Text),
    Column("epoch", Integer, nullable=False),
    Column("owner", Text),
    Index("conversations_state", "state"),
)

# The lease stands once per process, not once per conversation: a heartbeat is one row however much is in flight.
OWNERS = Table(
    "owners", METADATA, Column("owner", Text, primary_key=True), Column("lease_until", Double, nullable=False)
)

# A row id and a unique index, not a clustered key: fat replies are appended, only the slim index is random access.
CALLS = Table(
    "calls",
    METADATA,
    Column("conversation_id", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("ask", Integer, nullable=False),
    Column("model", Text, nullable=False),
    Column("request_hash", Text, nullable=False),
    Column("request_fields", Text, nullable=False),
    Column("reply", Text, nullable=False),
    Column("model_returned", Text, nullable=False),
    Column("finish_reason", Text, nullable=False),
    Column("prompt_tokens", BigInteger),
    Column("completion_tokens", BigInteger),
    Column("reasoning_tokens", BigInteger),
    Column("cached_tokens", BigInteger),
    Column("cost_usd", Double),
    Column("latency_s", Double),
    Column("stored_at", Double, nullable=False),
    UniqueConstraint("conversation_id", "epoch", "role", "turn", "ask", name="calls_key"),
)

DECISIONS = Table(
    "decisions",
    METADATA,
    Column("conversation_id", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("value", Text, nullable=False),
    Column("version", Text, nullable=False),
    UniqueConstraint("conversation_id", "epoch", "kind", "turn", name="decisions_key"),
)

TRIES = Table(
    "tries",
    METADATA,
    Column("conversation_id", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("ask", Integer, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("status", Integer),
    Column("detail", Text, nullable=False),
    Column("latency_s", Double),
    Column("tried_at", Double, nullable=False),
)

BLOBS = Table(
    "blobs",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

VERDICTS = Table(
    "verdicts", METADATA, Column("verdict_key", Text, primary_key=True), Column("value", Text, nullable=False)
)

BUDGETS = Table(
    "budgets",
    METADATA,
    Column("scope", Text, primary_key=True),
    Column("usd", Double, nullable=False),
    Column("tokens", BigInteger, nullable=False),
)

LIVE_RUNS = Table(
    "live_runs",
    METADATA,
    Column("provider_key", Text, nullable=False),
    Column("owner", Text, nullable=False),
    PrimaryKeyConstraint("provider_key", "owner"),
)


def prepare_schema(connection: Connection, place: str) -> None:
    """Create what is missing inside the caller's write transaction and check the version.

    Raises StorageError when ``place`` holds something else, or a ledger of a newer version.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATION_LOCK})
    present = set(inspect(connection).get_table_names())
    if META.name in present:
        version = connection.execute(select(META.c.value).where(META.c.name == "schema_version")).scalar_one_or_none()
        _check_version(version, place)
        return
    clash = sorted(present & set(METADATA.tables))
    if clash or (present and connection.dialect.name == "sqlite"):
        names = ", ".join(clash or sorted(present)[:5])
        raise StorageError(f"{place} is not a ledger (it holds the tables {names}); name another file or database")
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(META.insert().values(name="schema_version", value=str(SCHEMA_VERSION)))


def _check_version(version: str | None, place: str) -> None:
    """Version 1 is the first: there is nothing older to migrate from."""
    if version is None or not version.isdigit():
        raise StorageError(f"{place} carries no readable schema version; move it away, or restore a copy of it")
    if int(version) > SCHEMA_VERSION:
        raise StorageError(
            f"{place} was written by a newer version of lic (schema {version}, this one knows {SCHEMA_VERSION}); "
            "update lic, or name another ledger"
        )
