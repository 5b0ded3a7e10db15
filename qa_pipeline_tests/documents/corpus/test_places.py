from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.corpus.files import stored_path
from qa_pipeline.documents.corpus.places import Entry, sort_out

NAMES = st.binary(min_size=1, max_size=12) | st.sampled_from([b"a", b"a.zip", b"b.ZIP", b".zip", b"c.md"])
ENTRIES = st.lists(
    st.builds(Entry, NAMES, st.booleans(), st.none() | st.just("is a link")),
    max_size=8,
    unique_by=lambda entry: entry.raw,
)


@given(ENTRIES)
def test_every_entry_is_a_batch_refused_or_loose_and_batches_differ_by_name(entries: list[Entry]) -> None:
    found = sort_out(entries)
    assert len(set(found.names)) == len(found.names)
    if len({stored_path(entry.raw) for entry in entries}) == len(entries):
        assert len(found.names) + len(found.refused) + len(found.loose) == len(entries)


def test_a_folder_keeps_its_name_when_an_archive_wants_it_too() -> None:
    found = sort_out(
        [Entry(b"a.zip", False), Entry(b"a", True), Entry(b"b.ZIP", False), Entry(b"b.zip", False)]
    )
    assert found.names == ("a", "b")
    assert list(found.refused) == ["a.zip", "b.zip"]
