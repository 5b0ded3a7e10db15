"""The shipped code location and runs of it, without the embedding model, which takes seconds to load.

As a program it makes all batches of QA_PIPELINE_CORPUS.
"""

from qa_pipeline.definitions import build_definitions
from qa_pipeline.defs.running import run_batches
from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import load_settings
from qa_pipeline_tests.fakes import HashEmbedder


def hashed_resources() -> Resources:
    """Parts as the settings of the environment name them, but for the embedding model."""
    return Resources(load_settings(), embedder=HashEmbedder())


def make_batches() -> None:
    """Run all batches; one that fails ends the program with an error."""
    resources = hashed_resources()
    outcomes = run_batches(resources, open_corpus(resources.settings.corpus).find_batches().names)
    failed = [outcome for outcome in outcomes if outcome.outcome not in ("succeeded", "unchanged")]
    if failed:
        raise SystemExit(str(failed))


if __name__ == "__main__":
    make_batches()
else:
    defs = build_definitions(load_settings(), resources=hashed_resources())
    for sensor in defs.sensors or ():
        sensor._min_interval = 5  # of its 30 seconds the tests would wait out most
