"""The tables of the database that the runs of one deployment share.

What belongs here: columns and the version of the whole. What does not: reading and writing them.
Times are Unix seconds. `asked_model` and `request_key` together name a request.
"""

import sqlalchemy as sa

from qa_pipeline.errors import ReplyStoreError

STORE_VERSION = 2
METADATA = sa.MetaData()

_WHO = 400

REPLIES = sa.Table(
    "replies",
    METADATA,
    # the key first: it tells more, and an index that begins with the model is read whole for a few keys
    sa.Column("request_key", sa.String(64), primary_key=True),
    sa.Column("asked_model", sa.String(_WHO), primary_key=True),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("batch", sa.Text, nullable=False),
    sa.Column("outcome", sa.String(40), nullable=False, comment="replied, or the reason code of a failure"),
    sa.Column("detail", sa.Text, comment="of a failure"),
    sa.Column("raw", sa.Text, nullable=False, comment="text as it came"),
    sa.Column("value", sa.Text, comment="the reply as JSON of its model; null for a failure"),
    sa.Column("replied_model", sa.String(_WHO)),
    sa.Column("repair", sa.String(20), nullable=False),
    sa.Column("input_tokens", sa.BigInteger),
    sa.Column("output_tokens", sa.BigInteger),
    sa.Column("cached_tokens", sa.BigInteger),
    sa.Column("thought_tokens", sa.BigInteger),
    sa.Column("stored_at", sa.Float, nullable=False, index=True),
)

REPLY_DOCUMENTS = sa.Table(
    "reply_documents",
    METADATA,
    sa.Column("request_key", sa.String(64), primary_key=True),
    sa.Column("asked_model", sa.String(_WHO), primary_key=True),
    sa.Column("document_id", sa.String(64), primary_key=True, index=True),
)

DOCUMENT_NAMES = sa.Table(
    "document_names",
    METADATA,
    sa.Column("document_id", sa.String(64), primary_key=True),
    sa.Column("batch", sa.Text, primary_key=True),
    sa.Column("path", sa.Text, primary_key=True, comment="also of earlier versions, which no table has"),
)

LEASES = sa.Table(
    "claims",
    METADATA,
    sa.Column("request_key", sa.String(64), primary_key=True),
    sa.Column("asked_model", sa.String(_WHO), primary_key=True),
    sa.Column("owner", sa.String(100), nullable=False, comment="the process that is asking"),
    sa.Column("expires_at", sa.Float, nullable=False),
)

CALLS = sa.Table(
    "calls",
    METADATA,
    sa.Column("call_id", sa.String(120), primary_key=True),
    sa.Column("run", sa.String(100), nullable=False),
    sa.Column("batch", sa.Text, nullable=False, index=True),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("asked_model", sa.String(_WHO), nullable=False),
    sa.Column("replied_model", sa.String(_WHO)),
    sa.Column("request_key", sa.String(64), nullable=False, index=True),
    sa.Column("started_at", sa.Float, nullable=False, index=True),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("outcome", sa.String(40), nullable=False),
    sa.Column("repair", sa.String(20), nullable=False),
    sa.Column("input_tokens", sa.BigInteger),
    sa.Column("output_tokens", sa.BigInteger),
    sa.Column("cached_tokens", sa.BigInteger),
    sa.Column("thought_tokens", sa.BigInteger),
    sa.Column("cost", sa.Float),
    sa.Column("currency", sa.String(3)),
    sa.Column("prompt", sa.Text, comment="only where the settings want it kept"),
)

SPENT = sa.Table(
    "spent",
    METADATA,
    sa.Column("day", sa.String(10), primary_key=True, comment="UTC"),
    sa.Column("calls", sa.Integer, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.BigInteger, nullable=False, comment="billionths: whole, so that sums are exact"),
)

RESERVED = sa.Table(
    "reserved",
    METADATA,
    sa.Column("reservation_id", sa.String(32), primary_key=True),
    sa.Column("day", sa.String(10), nullable=False, index=True),
    sa.Column("calls", sa.Integer, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.BigInteger, nullable=False, comment="billionths: whole, so that sums are exact"),
    sa.Column("expires_at", sa.Float, nullable=False),
)

PROVIDER_JOBS = sa.Table(
    "provider_jobs",
    METADATA,
    sa.Column("job_key", sa.String(64), primary_key=True, comment="also its name at the provider"),
    sa.Column("asked_model", sa.String(_WHO), nullable=False),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("batch", sa.Text, nullable=False),
    sa.Column("run", sa.String(100), nullable=False, comment="that submitted it"),
    sa.Column("state", sa.String(20), nullable=False, comment="submitting, submitted, collected or failed"),
    sa.Column("requests", sa.Integer, nullable=False),
    sa.Column("provider_name", sa.String(200), comment="what the provider calls it; null while submitting"),
    sa.Column("created_at", sa.Float, nullable=False, index=True),
    sa.Column("ended_at", sa.Float),
    sa.Column("detail", sa.Text, comment="why it failed"),
    sa.Column("reserved", sa.Text, comment="JSON of the room it holds under the caps of a day"),
)

PROVIDER_ITEMS = sa.Table(
    "provider_items",
    METADATA,
    sa.Column("asked_model", sa.String(_WHO), primary_key=True),
    sa.Column("sent_key", sa.String(64), primary_key=True, comment="of what is sent, which may ask again"),
    sa.Column("request_key", sa.String(64), nullable=False, index=True),
    sa.Column("job_key", sa.String(64), nullable=False, index=True),
    sa.Column("position", sa.Integer, nullable=False, comment="in its job"),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("batch", sa.Text, nullable=False, index=True),
    sa.Column("documents", sa.Text, nullable=False, comment="JSON list of ids"),
    sa.Column("reply_model", sa.String(100), nullable=False),
    sa.Column("state", sa.String(20), nullable=False, comment="open, answered, free or refused"),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("failure", sa.Text, comment="why the last attempt brought no reply"),
    sa.Column("answer", sa.Text, comment="JSON of a reply that only a run can read"),
    sa.Column("prompt", sa.Text, comment="only where the settings want it kept"),
)

VERSION = sa.Table("store_version", METADATA, sa.Column("version", sa.Integer, primary_key=True))


def prepare(connection: sa.Connection, place: str) -> None:
    """Make the tables inside the transaction of the connection, where there are none.

    Raises:
        ReplyStoreError: the tables are of another version, or of another program.
    """
    found = _version(connection)
    if found == STORE_VERSION:
        return
    if found is not None:
        raise ReplyStoreError(
            f"the reply store {place} is of version {found}, this program reads version "
            f"{STORE_VERSION}: use the program that wrote it, or name another store; nothing in it is changed"
        )
    _refuse_foreign_tables(connection, place)
    METADATA.create_all(connection)
    connection.execute(sa.insert(VERSION).values(version=STORE_VERSION))
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA user_version={STORE_VERSION}")


def _version(connection: sa.Connection) -> int | None:
    """The version of the tables that are there; None for a database without any."""
    if connection.dialect.name == "sqlite":
        return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one()) or None
    if not sa.inspect(connection).has_table(VERSION.name):
        return None
    found: int | None = connection.execute(sa.select(sa.func.max(VERSION.c.version))).scalar_one()
    return found


def _refuse_foreign_tables(connection: sa.Connection, place: str) -> None:
    foreign = sorted(set(sa.inspect(connection).get_table_names()) & set(METADATA.tables))
    if foreign:
        raise ReplyStoreError(
            f"the database {place} has a table {foreign[0]} of another program: give the store of replies a "
            "database of its own (llm.store.url)"
        )
