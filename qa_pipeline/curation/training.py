"""Build training examples: accepted pairs as chat messages, with their evidence and its origin.

Messages omit source marks such as `[source:guide.md]` and numbers of sources. The layouts do not show file
names, so a model would learn to invent them. The `answer` column keeps the judged text, and `evidence` has
the proof.
"""

from collections.abc import Callable, Container, Iterator, Sequence

import polars as pl

from qa_pipeline.prompts.loading import CLOSED_BOOK, WITH_PASSAGES, part_text
from qa_pipeline.records import Passage, passages_by_id
from qa_pipeline.settings.verification import TrainingSettings
from qa_pipeline.storage.hashes import draw_number
from qa_pipeline.storage.table_schema import DraftedPairRow, typed_rows
from qa_pipeline.storage.tables import EVIDENCE, MESSAGES, PROVENANCE, STRINGS, TRAINING_EXAMPLES
from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims, evidence_passages, join_by_pair

Messages = list[dict[str, str]]
CountTokens = Callable[[Sequence[str]], list[int]]


class TrainableRow(DraftedPairRow):
    """A pair with the ids of its evidence chunks and of distractors, which do not prove its claims."""

    evidence_chunk_ids: list[str]
    distractor_ids: list[str]


def find_proofs(claims: pl.DataFrame, claim_verdicts: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Return the evidence of supported claims, a row per quote, in the order of each answer.

    Returns:
        claim_id, pair_id, text, the evidence columns of the claims table, and the path of the document.
    """
    paths = documents.select("path", evidence_document_id="document_id")
    return (
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") == SUPPORTED)
        .select("claim_id", "pair_id", "text")
        .join(evidence_passages(claims, claim_verdicts), on="claim_id", maintain_order="left_right")
        .join(paths, on="evidence_document_id", how="left", maintain_order="left")
    )


def evidence_lists(proofs: pl.DataFrame) -> pl.DataFrame:
    """Group proofs by pair: pair_id and the column `evidence` of the training_examples table."""
    column_of = {"claim": "text", "path": "path"}  # the other fields have the prefix evidence_
    proof = pl.struct(
        pl.col(column_of.get(field.name, f"evidence_{field.name}")).alias(field.name)
        for field in EVIDENCE.fields
    )
    return proofs.group_by("pair_id", maintain_order=True).agg(proof.alias("evidence"))


SEED = 0  # of the order of passages
HEADING_JOINT = " › "
"""Separator between the headings of a passage."""
SCORES = ("grounding", "relevance", "correctness", "completeness", "composite")


def build_training_examples(
    *,
    pairs: pl.DataFrame,
    verdicts: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    assessments: pl.DataFrame,
    chunks: pl.DataFrame,
    documents: pl.DataFrame,
    count_tokens: CountTokens,
    settings: TrainingSettings,
) -> pl.DataFrame:
    """Turn accepted pairs into training examples, sorted by pair_id.

    A pair is left out if its passages are missing or it is longer than `max_tokens`. The same applies if its
    answer is empty without source marks. The yield funnel counts these pairs. The layout with_distractors
    shows only the evidence passages if a pair lacks distractors.

    The frames are the complete tables of these names. `count_tokens` returns the tokens of each text.
    """
    proofs = find_proofs(claims, claim_verdicts, documents)
    chosen = _trainable(pairs, verdicts)
    rows = list(typed_rows(_with_passages(chosen, proofs, settings), TrainableRow))  # in the same order
    return TRAINING_EXAMPLES.conform(
        join_by_pair(
            chosen,
            evidence_lists(proofs),
            _origins(_documents_of_pairs(pairs, proofs, chunks), documents),
            assessments.select("pair_id", "judge", judged_type="question_type"),
        )
        .with_columns(
            pl.col("evidence", "source_uris", "licences").fill_null([]),
            *_message_columns(rows, chunks, count_tokens, settings),
            question_type=pl.coalesce("judged_type", "question_type"),  # the judge corrects the type
        )
        # the columns of PROVENANCE (origin, judge, licences and so on) are in the joined frames
        .with_columns(pl.struct(field.name for field in PROVENANCE.fields).alias("provenance"))
        .filter(pl.col("messages").is_not_null())
        .select(TRAINING_EXAMPLES.schema.names())
    )


def _trainable(pairs: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the accepted pairs without known-answer pairs, sorted by pair_id."""
    accepted = verdicts.filter(pl.col("verdict") == "accepted", pl.col("expected_verdict").is_null())
    decided = accepted.select("pair_id", *SCORES, "reason", "thresholds_id", "citation_quality")
    return (
        pairs.filter(pl.col("expected_verdict").is_null())
        .drop("reason")  # of the draft; the reason of the verdict replaces it
        .join(decided, on="pair_id", how="inner")
        .sort("pair_id")
    )


def _documents_of_pairs(pairs: pl.DataFrame, proofs: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Return pair_id and document_id, a row per pair and document.

    The documents are those of the evidence, or for a refusal those of its passages.
    """
    proved = proofs.select("pair_id", pl.col("evidence_document_id").alias("document_id")).drop_nulls()
    passages = (
        pairs.filter(pl.col("coverage") == "none")
        .select("pair_id", pl.col("passage_ids").alias("chunk_id"))
        .explode("chunk_id", empty_as_null=True)
        .join(chunks.select("chunk_id", "document_id"), on="chunk_id", maintain_order="left")
        .select("pair_id", "document_id")
    )
    return pl.concat([proved, passages]).unique(maintain_order=True)


def _origins(documents_of_pairs: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Return the known addresses and licences of the documents of pairs, a row per pair with documents."""
    origins = documents.select("document_id", "source_uri", "licence")
    return (
        documents_of_pairs.join(origins, on="document_id", maintain_order="left")
        .group_by("pair_id", maintain_order=True)
        .agg(pl.col("source_uri", "licence").drop_nulls().unique().sort())
        .rename({"source_uri": "source_uris", "licence": "licences"})
    )


def _with_passages(chosen: pl.DataFrame, proofs: pl.DataFrame, settings: TrainingSettings) -> pl.DataFrame:
    """Add the ids of evidence chunks and distractors to pairs, and remove source marks from their answers."""
    proved = proofs.group_by("pair_id", maintain_order=True).agg(
        evidence_chunk_ids=pl.col("evidence_chunk_id").unique(maintain_order=True)
    )
    distractors = _distractors(chosen, proofs, settings.distractors)
    return join_by_pair(chosen, proved, distractors).with_columns(
        pl.col("evidence_chunk_ids", "distractor_ids").fill_null([]), answer=unmarked_answer()
    )


def unmarked_answer() -> pl.Expr:
    """Return an expression for the answer in `pairs` without source marks or source numbers."""
    has_number = pl.element().struct.field("number").is_not_null()  # of a citation
    is_numbered = pl.col("citations").list.eval(has_number).list.any()
    # "[1]" in an answer without numbered citations belongs to its text
    return (
        pl.when(is_numbered)
        .then(pl.col("answer").str.replace_all(rf"[ \t]*{NUMBER_MARK.pattern}", ""))
        .otherwise("answer")
        # "(?i)": the pattern attribute of a compiled expression lacks its flags
        .str.replace_all(rf"(?i)[ \t]*{SOURCE_MARK.pattern}", "")
        .str.strip_chars()
    )


def _distractors(chosen: pl.DataFrame, proofs: pl.DataFrame, count: int) -> pl.DataFrame:
    """Choose the first `count` retrieved passages of each pair that do not prove its claims, a row per pair.

    Refusals are left out: they lack proofs, so any of their passages may contain the answer.
    """
    retrieved = (
        chosen.filter(pl.col("coverage") != "none")
        .select("pair_id", chunk_id="passage_ids")
        .explode("chunk_id", empty_as_null=True)
    )
    proving = proofs.select("pair_id", chunk_id="evidence_chunk_id")
    return (
        retrieved.join(proving, on=["pair_id", "chunk_id"], how="anti", maintain_order="left")
        .group_by("pair_id", maintain_order=True)
        .agg(pl.col("chunk_id").head(count).alias("distractor_ids"))
    )


def _message_columns(
    rows: Sequence[TrainableRow], chunks: pl.DataFrame, count_tokens: CountTokens, settings: TrainingSettings
) -> Iterator[pl.Series]:
    """Yield the columns messages, tokens and passages, in the order of `rows`; null if a pair is left out."""
    passages = passages_by_id(chunks)
    ids_by_row = [_passage_ids(row, settings.layout, passages) for row in rows]
    conversations = [
        _messages(row, [passages[chunk_id] for chunk_id in chunk_ids if chunk_id in passages], settings)
        for row, chunk_ids in zip(rows, ids_by_row, strict=True)
    ]
    # whole texts are counted, because token counts of parts do not add up in every tokenizer
    texts = ["\n".join(message["content"] for message in messages) for messages in conversations]
    token_counts = count_tokens(texts)
    values: list[tuple[Messages, int, list[str]] | tuple[None, None, None]] = []
    for row, messages, tokens, chunk_ids in zip(rows, conversations, token_counts, ids_by_row, strict=True):
        has_answer = bool(row["answer"])  # an answer of source marks alone is empty without them
        has_passages = bool(chunk_ids) or settings.layout == "closed_book"
        passages_exist = passages.keys() >= {*chunk_ids}
        is_kept = has_answer and has_passages and passages_exist and tokens <= settings.max_tokens
        values.append((messages, tokens, chunk_ids) if is_kept else (None, None, None))
    schema = {"messages": MESSAGES, "tokens": pl.Int32(), "passages": STRINGS}
    yield from pl.DataFrame(values, schema=schema, orient="row")  # a frame yields its columns


def _passage_ids(row: TrainableRow, layout: str, existing_ids: Container[str]) -> list[str]:
    """Return the ids of the passages to show. A refusal shows the passages that were retrieved for it."""
    if layout == "closed_book":
        return []
    is_refusal = row["coverage"] == "none"  # the documents do not answer the question
    context = row["passage_ids"] if is_refusal else row["evidence_chunk_ids"]
    distractors = [chunk_id for chunk_id in row["distractor_ids"] if chunk_id in existing_ids]
    if layout == "with_context" or not distractors:
        return context
    # shuffled, so that the position of a passage does not show that it is evidence
    return sorted([*context, *distractors], key=lambda chunk_id: draw_number(SEED, row["pair_id"], chunk_id))


def _messages(row: TrainableRow, passages: Sequence[Passage], settings: TrainingSettings) -> Messages:
    kind = WITH_PASSAGES if passages else CLOSED_BOOK
    return [
        {"role": "system", "content": settings.system_prompt or part_text(row["language"], kind)},
        {"role": "user", "content": user_message(passages, row["question"])},
        {"role": "assistant", "content": row["answer"]},
    ]


def user_message(passages: Sequence[Passage], question: str) -> str:
    """Build the user message: the passages between `<passages>` tags, then the question.

    Closing tags inside a passage are altered.
    """
    if not passages:
        return question
    numbered = enumerate(passages, start=1)
    texts = (f"[{number}] {heading_of(passage)}\n{passage.text}" for number, passage in numbered)
    block = "\n\n".join(texts)
    return f"<passages>\n{block.replace('</passages>', '</ passages>')}\n</passages>\n\n{question}"


def heading_of(passage: Passage) -> str:
    """Return the title and headings of a passage in one line, such as "Manual › Valves"."""
    path = passage.section_path
    names = path if path[:1] == (passage.title,) else (passage.title, *path)  # the title only once
    return " ".join(HEADING_JOINT.join(names).split())
