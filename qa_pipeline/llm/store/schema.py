"""The tables of the database shared by the runs of a deployment, and storable values.

Times are Unix seconds. `asked_model` and `request_key` together identify a request.
"""

import re
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.calls import TOKENS

STORE_VERSION = 2
METADATA = sa.MetaData()
RequestId = tuple[str, str]
"""Name of the asked model, and `Request.key`."""
KEYS_A_STATEMENT = 500
"""Maximum keys in a statement. Databases accept only some thousand parameters."""

_LONGEST_NAME = 400  # characters: a name contains provider, model, server and every fixed parameter
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class AnyText(sa.TypeDecorator[str]):
    """Any Python string. Characters that databases cannot store are replaced."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Return the text with unstorable characters replaced."""
        return None if value is None else _UNSTORABLE.sub("\ufffd", value)


def _token_columns() -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, sa.BigInteger) for name in TOKENS)


REPLIES = sa.Table(
    "replies",
    METADATA,
    # the key comes first: it is more selective, and a lookup of keys would scan an index led by the model
    sa.Column("request_key", sa.String(64), primary_key=True),
    sa.Column("asked_model", sa.String(_LONGEST_NAME), primary_key=True),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("batch", AnyText, nullable=False),
    sa.Column("outcome", sa.String(40), nullable=False, comment="replied, or the reason code of a failure"),
    sa.Column("detail", AnyText, comment="of a failure"),
    sa.Column("raw", AnyText, nullable=False, comment="text as it came"),
    sa.Column("value", sa.Text, comment="the reply as JSON of its model; null for a failure"),
    sa.Column("replied_model", sa.String(_LONGEST_NAME)),
    sa.Column("repair", sa.String(20), nullable=False),
    *_token_columns(),
    sa.Column("stored_at", sa.Float, nullable=False, index=True),
)

REPLY_DOCUMENTS = sa.Table(
    "reply_documents",
    METADATA,
    sa.Column("request_key", sa.String(64), primary_key=True),
    sa.Column("asked_model", sa.String(_LONGEST_NAME), primary_key=True),
    sa.Column("document_id", sa.String(64), primary_key=True, index=True),
)

DOCUMENT_NAMES = sa.Table(
    "document_names",
    METADATA,
    sa.Column("document_id", sa.String(64), primary_key=True),
    sa.Column("batch", AnyText, primary_key=True),
    sa.Column("path", AnyText, primary_key=True, comment="also of earlier versions, which no table has"),
)

CALLS = sa.Table(
    "calls",
    METADATA,
    sa.Column("call_id", sa.String(120), primary_key=True),
    sa.Column("run", sa.String(100), nullable=False),
    sa.Column("batch", AnyText, nullable=False, index=True),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("asked_model", sa.String(_LONGEST_NAME), nullable=False),
    sa.Column("replied_model", sa.String(_LONGEST_NAME)),
    sa.Column("request_key", sa.String(64), nullable=False, index=True),
    sa.Column("started_at", sa.Float, nullable=False, index=True),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("outcome", sa.String(40), nullable=False),
    sa.Column("repair", sa.String(20), nullable=False),
    *_token_columns(),
    sa.Column("cost", sa.Float),
    sa.Column("currency", sa.String(3)),
)

VERSION = sa.Table("store_version", METADATA, sa.Column("version", sa.Integer, primary_key=True))


def insert_missing(table: sa.Table) -> sa.Insert:
    """Return an insert that skips existing rows. SQLite accepts the Postgres dialect here."""
    return postgresql.insert(table).on_conflict_do_nothing()


def prepare(connection: sa.Connection, place: str) -> None:
    """Create missing tables in the transaction of the connection.

    Raises:
        ReplyStoreError: the tables are of another version.
        DBAPIError: they belong to another program.
    """
    version = None
    if sa.inspect(connection).has_table(VERSION.name):
        version = connection.execute(sa.select(sa.func.max(VERSION.c.version))).scalar_one()
    if version is None:
        # fails if a table belongs to another program or to the first version of this program
        METADATA.create_all(connection, checkfirst=False)
        connection.execute(sa.insert(VERSION).values(version=STORE_VERSION))
    elif version != STORE_VERSION:
        raise ReplyStoreError(
            f"the reply store {place} is of version {version}, this program reads version "
            f"{STORE_VERSION}: use the program that wrote it, or name another store; nothing in it is changed"
        )
