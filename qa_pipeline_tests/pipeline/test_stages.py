from pathlib import Path

from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import score_claims
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.tables import EMBEDDINGS
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs


def test_the_claims_of_a_batch_tell_how_many_pairs_are_done_where_no_model_reads_them(tmp_path: Path) -> None:
    frame = documents({"a.md": "The valve opens at 3 bar."})
    answered = pairs(pair("The valve opens at 3 bar.", cites="a.md"), pair("It opens.", cites="a.md"))
    progress: list[tuple[int, int]] = []
    resources = Resources(Settings(out=tmp_path), embedder=HashEmbedder())

    score_claims(
        resources,
        answered,
        frame,
        chunks(frame),
        EMBEDDINGS.empty(),
        lambda done, total: progress.append((done, total)),
    )
    assert progress == [(2, 2)]
