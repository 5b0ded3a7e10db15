"""Which documents a person means who wants one forgotten.

What belongs here: from a name to ids, earlier versions included. What does not: deleting (`llm/store/`).
"""

from qa_pipeline.errors import InputError
from qa_pipeline.layout import Layout
from qa_pipeline.llm.database import Database
from qa_pipeline.llm.store.document_names import versions_of
from qa_pipeline.llm.store.maintenance import known_documents
from qa_pipeline.showing import find_document

_SHORTEST_ID = 6


def find_versions(layout: Layout, database: Database, name: str) -> set[str]:
    """Ids of the document and of the earlier versions that were read under its path.

    Args:
        layout: the output folder, whose tables hold what was read last.
        database: the store, which knows what was read before.
        name: an id, the beginning of one, a path, or batch and path.

    Raises:
        InputError: no document is called so, or several are.
        ReplyStoreError: the store cannot be used.
    """
    try:
        row = find_document(layout, name, [path.stem for path in layout.tables("documents")]).document
    except InputError as error:
        gone = _gone(database, name)
        if not gone:
            raise InputError(f"{error}; no stored reply saw one of that name either") from error
        return gone
    earlier = versions_of(database, f"{row['batch']}/{row['path']}")
    return {row["document_id"], *(document for document, _, _ in earlier)}


def _gone(database: Database, name: str) -> set[str]:
    """Documents that no table has any more: by their path then, or by the beginning of an id."""
    found = versions_of(database, name)
    places = {(batch, path) for _, batch, path in found}
    if len(places) > 1:
        told = ", ".join(sorted(f"{batch}/{path}" for batch, path in places)[:5])
        raise InputError(f"{len(places)} documents were called {name!r}: {told}; give batch and path")
    by_id = known_documents(database, name) if len(name) >= _SHORTEST_ID else []
    if len(by_id) > 1:
        raise InputError(f"{len(by_id)} documents have an id that begins with {name!r}; give more of it")
    return {document for document, _, _ in found} | set(by_id)
