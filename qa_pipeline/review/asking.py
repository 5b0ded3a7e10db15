"""A question to a batch: searched, answered, then verified by the stages of the pipeline, step by step.

The offline rules answer only what
they would ask themselves, so for other questions the answer is made of sentences of the passages: those that
source verification finds to answer the question, or else the refusal text.
"""

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.curation.ledger import build_verdicts
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import InputError
from qa_pipeline.generation.answer_quality import mark_flawed
from qa_pipeline.generation.offline.passages import Sentence, split_into_sentences
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import STAGES, StageRun
from qa_pipeline.records import Passage, passages_by_id
from qa_pipeline.review.answering import Searchable, draft_rows, open_batch
from qa_pipeline.review.jobs import Jobs
from qa_pipeline.review.pair import (
    AnswerPiece,
    ClaimView,
    Dimension,
    Support,
    answer_pieces,
    claim_views,
    dimensions_of,
    support_of,
)
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import rewrite, version_of
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.rows import ChunkRow, PairRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import (
    ASSESSMENTS,
    CLAIM_VERDICTS,
    CLAIMS,
    DECISIONS,
    EMBEDDINGS,
    PAIRS,
    STORED,
)
from qa_pipeline.text.language import piece_language
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline.verification.outcomes import SUPPORTED

ASKED = "asked"
"""For whom the calls are, in the store of replies: what people ask is no cost of a batch."""
MOST_CHARACTERS = 1_000
"""Characters of a question; a longer text is a document to be read and no question."""
_WAIT_MINUTES = 0.5
"""A person waits no longer for a model server that is away; a run, beside which nobody sits, may."""
_MOST_OPEN = 4
"""Batches whose search stays in memory; its word index takes seconds to build for a large one."""
_MOST_TRIED = 16
"""Sentences held against the question, the most similar first: each costs about 25 ms."""
_MOST_SENTENCES = 3
"""Sentences of an answer made of them; what further ones add is more of the same."""
_NEARLY = 0.1
"""Cosine by which a further sentence may be less similar to the question than the best one."""


@dataclass(frozen=True, slots=True)
class Place:
    """A batch that can be asked.

    Args:
        key: its name in forms and addresses.
        batch: its name.
        layout: the output folder of its tables.
        title: what people call it, the name of an uploaded document.
    """

    key: str
    batch: str
    layout: Layout
    title: str

    @property
    def is_upload(self) -> bool:
        """Return whether it is an uploaded document."""
        return self.key != f"batch:{self.batch}"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as far as it was verified.

    Args:
        place: what was asked.
        pair: question and answer.
        passages: what the answer was drafted from, best first.
        documents: the documents of the passages.
        claims: the claims; none before they were verified.
        pieces: the answer, cut where claims begin and end.
        verdict: the row of the ledger that the pair would be; None before claims were verified.
        nearest: of a refusal that another sentence of the batch speaks against, that sentence.
        assessment: what the judge says; None before it was asked, and of an answer that does not come to it.
    """

    place: Place
    pair: PairRow
    passages: list[ChunkRow]
    documents: pl.DataFrame
    claims: list[ClaimView]
    pieces: list[AnswerPiece]
    verdict: dict[str, Any] | None = None
    nearest: str | None = None
    assessment: dict[str, Any] | None = None

    @property
    def is_refusal(self) -> bool:
        """Return whether it says that the batch has no answer."""
        return self.pair["coverage"] == "none"

    @property
    def support(self) -> Support:
        """Return how well the sentences are supported."""
        return support_of(
            sum(claim.verdict == SUPPORTED for claim in self.claims),
            len(self.claims),
            is_refusal=self.is_refusal,
        )

    @property
    def dimensions(self) -> list[Dimension]:
        """Return the scores of the judge."""
        return dimensions_of(self.assessment)

    @property
    def problem(self) -> str | None:
        """Return why there is no answer, in words."""
        reason = self.pair["reason"]
        return (
            None
            if self.pair["status"] == "drafted" or reason is None
            else in_words(reason, self.pair["detail"])
        )


class OpenBatches:
    """Batches that are searched, the latest in memory; read again once their files have changed.

    Args:
        resources: settings and models.
    """

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        self._open: OrderedDict[tuple[Layout, str], tuple[object, Searchable, pl.DataFrame]] = OrderedDict()

    def open(self, place: Place) -> tuple[Searchable, pl.DataFrame]:
        """Return what is searched and the vectors of its chunks.

        Raises:
            InputError: the batch cannot be searched.
        """
        layout, batch = place.layout, place.batch
        version = version_of(layout.index(batch)), version_of(layout.table("chunks", batch))
        entry = self._open.pop((layout, batch), None)
        if entry is None or entry[0] != version:
            searchable = open_batch(self.resources, layout, batch)
            entry = version, searchable, read_table(layout.table(EMBEDDINGS.name, batch), EMBEDDINGS)
        self._open[layout, batch] = entry
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return entry[1:]


class Asking:
    """Answers what people ask in the app, and remembers it for a while.

    Args:
        resources: settings and models, which load when they are first used.
    """

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        self.batches = OpenBatches(resources)
        self.jobs = Jobs()
        """Questions and documents to ask: all use the models of `resources`."""


def impatient(settings: Settings) -> Settings:
    """Return settings under which a model server that is away is waited for as long as a person waits."""
    minutes = min(settings.llm.wait_minutes, _WAIT_MINUTES)
    return settings.model_copy(update={"llm": settings.llm.model_copy(update={"wait_minutes": minutes})})


def checked_question(text: str) -> str:
    """Return a question on one line.

    Raises:
        InputError: it is empty or too long.
    """
    question = " ".join(text.split())
    if not question:
        raise InputError("the question is empty; write one")
    if len(question) > MOST_CHARACTERS:
        raise InputError(
            f"the question has {len(question):,} characters; at most {MOST_CHARACTERS:,} are read; upload a "
            "longer text as a document"
        )
    return question


def answer_question(batches: OpenBatches, place: Place, question: str) -> Iterator[Answer]:
    """Yield the draft of an answer, then what the local steps decide of it, what a model does, and the judge.

    Raises:
        QAPipelineError: the batch cannot be searched, or the model cannot be asked.
    """
    resources, settings = batches.resources, batches.resources.settings
    searchable, embeddings = batches.open(place)
    main = searchable.documents["language"].drop_nulls().mode().sort()
    detected = piece_language(question, main[0] if main.len() else "en")
    language = detected if detected in LANGUAGES else "en"
    near = _Near.of(place, searchable, embeddings, question, language)
    pair = _draft(resources, near, question, language)
    yield near.answer(pair)
    if pair["status"][0] != "drafted":
        return
    tables = {"pairs": pair, **near.tables}
    if pair["coverage"][0] == "none":
        every = {"pairs": pair, "chunks": searchable.chunks, "embeddings": embeddings}
        searched = STAGES["refusals"].run(StageRun(resources, ASKED, every))
        answerable = searched.filter(pl.col("outcome") == "refused_answerable")["best_sentence"]
        yield near.answer(pair, nearest=answerable.first())
        return
    claims = STAGES["claims"].run(StageRun(resources, ASKED, tables))
    decided = verify_claims(claims, pair, near.documents, near.chunks, settings.verification)
    yield near.answer(pair, claims, decided, _ledger(resources, pair, claims, decided))
    if "undecided" in decided["verdict"] and resources.reviewer("verifier") is not None:
        inputs = {"claims": claims, "decisions": DECISIONS.empty(), **tables}
        decided = STAGES["claim_verdicts"].run(StageRun(resources, ASKED, inputs))
        yield near.answer(pair, claims, decided, _ledger(resources, pair, claims, decided))
    inputs = {"claims": claims, "claim_verdicts": decided, "pairs": pair, "chunks": near.chunks}
    judged = STAGES["assessments"].run(StageRun(resources, ASKED, inputs))
    yield near.answer(pair, claims, decided, _ledger(resources, pair, claims, decided, judged), judged=judged)


def pair_line(answer: Answer) -> dict[str, Any]:
    """Return a line of a pairs file: question and answer with the documents and words that it cites."""
    paths = dict(answer.documents.select("document_id", "path").iter_rows())
    citations = [
        {"document": paths[citation["document_id"]], "quote": citation["quote"]}
        for citation in answer.pair["citations"]
        if citation["document_id"] is not None
    ]
    pair = answer.pair
    return {
        "question": pair["question"],
        "answer": pair["answer"],
        "language": pair["language"],
        "coverage": pair["coverage"],
        "citations": citations,
    }


def add_pair(answer: Answer, who: str) -> bool:
    """Add an answer to the pairs that the next run of its batch reads besides those of its folder.

    Args:
        answer: the answer.
        who: the person who wants it, named in the line.

    Returns:
        Whether it is new; False where it was added before.

    Raises:
        StorageError: it cannot be written.
    """
    place = answer.place
    path = place.layout.added_pairs(place.batch)
    line = pair_line(answer)
    name = hash_parts(line["question"], line["answer"])[:32]
    cited = {citation["document_id"] for citation in answer.pair["citations"]}
    of_cited = answer.documents.filter(pl.col("document_id").is_in([*cited]))
    # so that pairs of a document that has to be forgotten can be told
    contents = of_cited["content_sha256"].drop_nulls().to_list()
    fields = {"id": name, **line, "added_by": who, "cited_contents": contents}
    added = json.dumps(fields, ensure_ascii=False).encode() + b"\n"
    is_new = True

    def with_pair(written: bytes) -> bytes:
        nonlocal is_new
        is_new = f'"id": "{name}"'.encode() not in written
        return written + added if is_new else written

    rewrite(path, with_pair)
    return is_new


@dataclass(frozen=True)
class _Near:
    """The documents in which passages were retrieved for a question, and their tables."""

    place: Place
    searchable: Searchable
    retrieved: list[tuple[str, float]]
    documents: pl.DataFrame
    chunks: pl.DataFrame
    embeddings: pl.DataFrame

    @classmethod
    def of(
        cls, place: Place, searchable: Searchable, embeddings: pl.DataFrame, question: str, language: str
    ) -> "_Near":
        """Search a batch for a question."""
        (retrieved,) = searchable.retrieve([{"query": question, "language": language}])
        names = [name for name, _ in retrieved]
        chosen = searchable.chunks.filter(pl.col("chunk_id").is_in(names))["document_id"].unique()
        of_these = pl.col("document_id").is_in(chosen.implode())
        chunks = searchable.chunks.filter(of_these)
        near = embeddings.join(chunks, on="chunk_id", how="semi", maintain_order="left")
        return cls(place, searchable, retrieved, searchable.documents.filter(of_these), chunks, near)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables by name, as stages read them."""
        return {"documents": self.documents, "chunks": self.chunks, "embeddings": self.embeddings}

    @property
    def passages(self) -> dict[str, Passage]:
        """Return the retrieved passages by id, best first."""
        every = passages_by_id(self.chunks)
        return {name: every[name] for name, _ in self.retrieved}

    def answer(
        self,
        pair: pl.DataFrame,
        claims: pl.DataFrame | None = None,
        verdicts: pl.DataFrame | None = None,
        verdict: dict[str, Any] | None = None,
        nearest: str | None = None,
        judged: pl.DataFrame | None = None,
    ) -> Answer:
        """Return the answer as pages show it."""
        row = next(typed_rows(pair, PairRow))
        claims, verdicts = (
            table.empty() if frame is None else frame
            for table, frame in ((CLAIMS, claims), (CLAIM_VERDICTS, verdicts))
        )
        by_id = {chunk["chunk_id"]: chunk for chunk in typed_rows(self.chunks, ChunkRow)}
        paths = dict(self.documents.select("document_id", "path").iter_rows())
        views = list(claim_views(claims, verdicts, by_id, paths))
        return Answer(
            place=self.place,
            pair=row,
            passages=[by_id[name] for name in row["passage_ids"]],
            documents=self.documents,
            claims=views,
            pieces=list(answer_pieces(row["answer"] or "", views)),
            verdict=verdict,
            nearest=nearest,
            assessment=judged.row(0, named=True) if judged is not None and judged.height else None,
        )


def _ledger(
    resources: Resources,
    pair: pl.DataFrame,
    claims: pl.DataFrame,
    verdicts: pl.DataFrame,
    judged: pl.DataFrame | None = None,
) -> dict[str, Any]:
    """Return the row of the ledger that the pair would be, were it one of a batch."""
    others = ("twins", "refusals", "contradictions", "round_trips", "judge_canaries", "decisions")
    decided = build_verdicts(
        pairs=pair,
        claims=claims,
        claim_verdicts=verdicts,
        assessments=ASSESSMENTS.empty() if judged is None else judged,
        **{name: STORED[name].empty() for name in others},
        verification=resources.settings.verification,
        judging=resources.settings.judging,
    )
    return decided.row(0, named=True)


def _draft(resources: Resources, near: _Near, question: str, language: str) -> pl.DataFrame:
    """Return the row of the pairs table that answers a question."""
    model = resources.generator or _rules()
    asked = [{"query": question, "language": language, "category": None}]
    pair = draft_rows(resources, model, near.searchable, asked, [near.retrieved], ASKED)
    if not model.name.startswith(_rules().name) or pair["coverage"][0] != "none":
        return pair
    return _from_sentences(resources, near, pair)


def _rules() -> LanguageModel:
    from qa_pipeline.generation.offline.provider import ExtractiveModel

    return ExtractiveModel()


def _from_sentences(resources: Resources, near: _Near, refused: pl.DataFrame) -> pl.DataFrame:
    """Return the refusal of the rules with the sentences of its passages that answer in its place, if any do.

    A sentence answers where source verification finds question and sentence supported together, and where
    it is as similar to the question as the guard asks of passages.
    """
    row = next(typed_rows(refused, PairRow))
    settings, passages = resources.settings, near.passages
    candidates = [
        (name, line)
        for name, passage in passages.items()
        for line in split_into_sentences(passage)
        if line.text[0].isupper() or line.text[0].isdigit()  # the rest of a sentence says nothing by itself
    ]
    vectors = resources.embedder.encode([row["question"] or "", *(line.text for _, line in candidates)])
    similarity = vectors[1:] @ vectors[0]
    likely = [
        place
        for place in np.argsort(-similarity, kind="stable")[:_MOST_TRIED].tolist()
        if similarity[place] >= settings.generation.guard.similarity
    ]
    owners = dict(near.chunks.select("chunk_id", "document_id").iter_rows())
    tried = PAIRS.frame([_quoting(row, [candidates[place]], passages, owners) for place in likely])
    checks = settings.generation.answer_checks
    # the question is a person's, and answered as it is; what is looked at is whether a sentence stands alone
    of_questions = ("unclear_question", "not_standalone", "copied_passage", "repeats_question")
    checks = checks.model_copy(update={"ignore": (*checks.ignore, *of_questions)})
    tried = mark_flawed(tried, near.chunks, checks)
    claims = STAGES["claims"].run(StageRun(resources, ASKED, {"pairs": tried, **near.tables}))
    verdicts = verify_claims(claims, tried, near.documents, near.chunks, settings.verification)
    proved = (
        claims.join(verdicts.select("claim_id", "verdict"), on="claim_id")
        .group_by("pair_id")
        .agg((pl.col("verdict") == "supported").all().alias("is_proved"))
        .filter("is_proved")
    )
    chosen = [
        place
        for place, pair_id in zip(likely, tried["pair_id"], strict=True)
        if pair_id in proved["pair_id"].to_list()
    ]
    best = [place for place in chosen if similarity[place] >= similarity[chosen[0]] - _NEARLY]
    if not best:
        return refused
    return PAIRS.frame(
        [_quoting(row, [candidates[place] for place in best[:_MOST_SENTENCES]], passages, owners)]
    )


def _quoting(
    row: PairRow, sentences: list[tuple[str, Sentence]], passages: dict[str, Passage], owners: dict[str, str]
) -> PairRow:
    """Return a pair with sentences of passages as its answer."""
    numbers = {name: number for number, name in enumerate(passages, start=1)}
    answer = " ".join(dict.fromkeys(line.text for _, line in sentences))
    return {
        **row,
        "pair_id": hash_parts(ASKED, row["question"] or "", answer)[:32],
        "answer": answer,
        "coverage": "full",
        "used_chunk_ids": list(dict.fromkeys(name for name, _ in sentences)),
        "citations": [
            {
                "raw": f"[c{numbers[name]}]",
                "document_id": owners[name],
                "chunk_id": name,
                "quote": passages[name].text[line.start : line.end],
                "number": None,
                "resolution": "chunk",
            }
            for name, line in sentences
        ],
    }
