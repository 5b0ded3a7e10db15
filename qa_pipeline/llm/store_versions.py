"""Which version of the tables a database holds, and bringing it to the one this program reads.

What belongs here: the version's mark, making new tables, and the step from each earlier version. What does
not: columns (`store_schema.py`), opening a database (`database.py`).

Version 1 was a SQLite file with replies alone, marked in `PRAGMA user_version`. Version 2 marks both that and
the table `store_version`: an earlier program looks at the pragma, and so leaves the newer file alone.
"""

import time

import sqlalchemy as sa

from qa_pipeline.errors import ReplyStoreError
from qa_pipeline.llm.store_schema import (
    METADATA,
    REPLIES,
    REPLY_DOCUMENTS,
    STORE_VERSION,
    UNKNOWN_DOCUMENT,
    VERSION,
)


def prepare(connection: sa.Connection, place: str) -> None:
    """Make the tables, or migrate them, inside the transaction of the connection.

    Raises:
        ReplyStoreError: the tables are of a later version, or of another program.
    """
    found = _version(connection)
    if found == STORE_VERSION:
        return
    if found == 1:
        _migrate_first(connection)
    elif found is None:
        _refuse_foreign_tables(connection, place)
        METADATA.create_all(connection)
    else:
        raise ReplyStoreError(
            f"the reply store {place} is of version {found}, this program reads version "
            f"{STORE_VERSION}: use the program that wrote it, or name another store"
        )
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


def _migrate_first(connection: sa.Connection) -> None:
    """Keep every reply that was paid for. What documents they saw was not told then."""
    connection.exec_driver_sql("ALTER TABLE replies RENAME TO replies_of_version_1")
    METADATA.create_all(connection)
    connection.execute(
        sa.text(
            f"INSERT INTO {REPLIES.name} (asked_model, request_key, role, batch, outcome, raw, value, "  # noqa: S608 - our own names
            "replied_model, repair, input_tokens, output_tokens, stored_at) "
            "SELECT asked_model, request_key, role, '', 'replied', raw, raw, reply_model, 'none', "
            "input_tokens, output_tokens, :now FROM replies_of_version_1"
        ),
        {"now": time.time()},
    )
    connection.execute(
        sa.insert(REPLY_DOCUMENTS).from_select(
            ["asked_model", "request_key", "document_id"],
            sa.select(REPLIES.c.asked_model, REPLIES.c.request_key, sa.literal(UNKNOWN_DOCUMENT)),
        )
    )
    connection.exec_driver_sql("DROP TABLE replies_of_version_1")
