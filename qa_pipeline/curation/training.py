"""Build training examples: accepted pairs as chat messages, with their evidence and its origin.

Messages omit source marks such as `[source:guide.md]` and numbers of sources. The layouts do not show file
names, so a model would learn to invent them. The `answer` column keeps the judged text, and `evidence` has
the proof.
"""

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from qa_pipeline.prompts.loading import CLOSED_BOOK, WITH_PASSAGES, system_prompt
from qa_pipeline.records import Passage, passages_by_id
from qa_pipeline.settings.verification import TrainingSettings
from qa_pipeline.storage.hashes import draw_number
from qa_pipeline.storage.table_schema import DraftedPairRow, typed_rows
from qa_pipeline.storage.tables import (
    EVIDENCE,
    MESSAGES,
    PROVENANCE,
    STRINGS,
    TRAINING_EXAMPLES,
)
from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims, evidence_passages

Messages = list[dict[str, str]]
CountTokens = Callable[[Sequence[str]], list[int]]


class TrainableRow(DraftedPairRow):
    """A pair with the ids of its evidence chunks and of distractors, which do not prove its claims."""

    evidence_chunk_id: list[str]
    distractor_ids: list[str]


def find_proofs(claims: pl.DataFrame, claim_verdicts: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Return the evidence of supported claims, a row per quote, in the order of each answer.

    Returns:
        claim_id, pair_id, text, the evidence columns of the claims table, and the path of the document.
    """
    return (
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") == SUPPORTED)
        .select("claim_id", "pair_id", "text")
        .join(evidence_passages(claims, claim_verdicts), on="claim_id", maintain_order="left_right")
        .join(
            documents.select(pl.col("document_id").alias("evidence_document_id"), "path"),
            on="evidence_document_id",
            how="left",
            maintain_order="left",
        )
    )


def evidence_lists(proofs: pl.DataFrame) -> pl.DataFrame:
    """Group proofs by pair: pair_id and the column `evidence` of the training_examples table."""
    source = {"claim": "text", "path": "path"}
    proof = pl.struct(
        pl.col(source.get(field.name, f"evidence_{field.name}")).alias(field.name)
        for field in EVIDENCE.fields
    )
    return proofs.group_by("pair_id", maintain_order=True).agg(proof.alias("evidence"))


SEED = 0
"""Seed for the choice and order of distractors."""
HEADING_JOINT = " › "
"""Separator between the headings of a passage."""
SCORES = ("grounding", "relevance", "correctness", "completeness", "composite")
_MEASURED = ("citation_quality", "citation_precision")


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
    answer is empty without source marks. The yield funnel counts these pairs. If a pair lacks distractors,
    the layout with_distractors shows only its evidence passages.

    The frames are the complete tables of these names. `count_tokens` returns the tokens of each text.
    """
    proofs = find_proofs(claims, claim_verdicts, documents)
    rests_on = _sources(pairs, proofs, chunks)
    chosen = _capped(_trainable(pairs, verdicts), rests_on, settings.max_examples_per_document)
    rows = list(typed_rows(_with_passages(chosen, proofs, chunks, settings), TrainableRow))
    return TRAINING_EXAMPLES.conform(
        chosen.join(evidence_lists(proofs), on="pair_id", how="left", maintain_order="left")
        .join(_origins(rests_on, documents), on="pair_id", how="left", maintain_order="left")
        .join(
            assessments.select("pair_id", "judge", judged_type="question_type"),
            on="pair_id",
            how="left",
            maintain_order="left",
        )
        .with_columns(
            pl.col("evidence").fill_null([]),
            pl.col("source_uris", "licences").fill_null([]),
            *_message_columns(rows, chunks, count_tokens, settings),
            question_type=pl.coalesce("judged_type", "question_type"),
        )
        .with_columns(pl.struct(field.name for field in PROVENANCE.fields).alias("provenance"))
        .filter(pl.col("messages").is_not_null())
        .select(TRAINING_EXAMPLES.schema.names())
    )


def _trainable(pairs: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the accepted pairs without known-answer pairs, sorted by pair_id."""
    accepted = verdicts.filter(pl.col("verdict") == "accepted", pl.col("expected_verdict").is_null())
    return (
        pairs.filter(pl.col("expected_verdict").is_null())
        .drop("reason")
        .join(
            accepted.select("pair_id", *SCORES, "reason", "thresholds_id", *_MEASURED),
            on="pair_id",
            how="inner",
        )
        .sort("pair_id")
    )


def _sources(pairs: pl.DataFrame, proofs: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Return pair_id and document_id, the main document first.

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


def _capped(chosen: pl.DataFrame, rests_on: pl.DataFrame, cap: int | None) -> pl.DataFrame:
    """Keep the best `cap` pairs of each main document, and all pairs without a document."""
    if cap is None:
        return chosen
    main = rests_on.group_by("pair_id", maintain_order=True).agg(pl.col("document_id").first())
    within_cap = (
        chosen.join(main, on="pair_id", how="left")
        .sort("composite", "pair_id", descending=[True, False], nulls_last=True)
        .filter(pl.col("document_id").is_null() | (pl.int_range(pl.len()).over("document_id") < cap))
    )
    return chosen.join(within_cap, on="pair_id", how="semi", maintain_order="left")


def _origins(rests_on: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Return the known addresses and licences of the documents of each pair."""
    documents_with_origin = documents.select("document_id", "source_uri", "licence")
    return (
        rests_on.join(documents_with_origin, on="document_id", maintain_order="left")
        .group_by("pair_id", maintain_order=True)
        .agg(
            pl.col("source_uri").drop_nulls().unique().sort().alias("source_uris"),
            pl.col("licence").drop_nulls().unique().sort().alias("licences"),
        )
    )


def _with_passages(
    chosen: pl.DataFrame, proofs: pl.DataFrame, chunks: pl.DataFrame, settings: TrainingSettings
) -> pl.DataFrame:
    """Add the ids of evidence chunks and distractors, and remove source marks from answers."""
    proved = proofs.group_by("pair_id", maintain_order=True).agg(
        pl.col("evidence_chunk_id").unique(maintain_order=True)
    )
    distractors = _distractors(chosen, proofs, chunks, settings)
    return (
        chosen.join(proved, on="pair_id", how="left", maintain_order="left")
        .join(distractors, on="pair_id", how="left", maintain_order="left")
        .with_columns(
            pl.col("evidence_chunk_id", "distractor_ids").fill_null([]),
            unmarked_answer().alias("answer"),
        )
    )


def unmarked_answer() -> pl.Expr:
    """Return an expression for the answer in `pairs` without source marks or source numbers."""
    numbered = pl.col("citations").list.eval(pl.element().struct.field("number").is_not_null()).list.any()
    return (
        pl.when(numbered)
        .then(pl.col("answer").str.replace_all(rf"[ \t]*{NUMBER_MARK.pattern}", ""))
        .otherwise("answer")
        # "(?i)": the pattern attribute of a compiled expression lacks its flags
        .str.replace_all(rf"(?i)[ \t]*{SOURCE_MARK.pattern}", "")
        .str.strip_chars()
    )


def _distractors(
    chosen: pl.DataFrame, proofs: pl.DataFrame, chunks: pl.DataFrame, settings: TrainingSettings
) -> pl.DataFrame:
    """Choose distractors, passages that do not prove a pair: retrieved passages first, then random passages.

    A chunk that shares text with the evidence is excluded, such as an overlapping neighbour. Refusals are
    left out, because an unchecked chunk may contain the answer.
    """
    answered = chosen.filter(pl.col("coverage") != "none")
    retrieved = (
        answered.select("pair_id", pl.col("passage_ids").alias("chunk_id"))
        .explode("chunk_id", empty_as_null=True)
        .drop_nulls()
    )
    proof = proofs.select("pair_id", pl.col("evidence_chunk_id").alias("chunk_id")).drop_nulls().unique()
    taken = max(pl.concat([retrieved, proof])["pair_id"].value_counts()["count"].to_list(), default=0)
    drawn = _drawn(answered, chunks, settings.distractors + taken)
    candidates = pl.concat([retrieved, drawn])
    return (
        candidates.join(proof, on=["pair_id", "chunk_id"], how="anti", maintain_order="left")
        .join(
            _touching(candidates, proofs, chunks),
            on=["pair_id", "chunk_id"],
            how="anti",
            maintain_order="left",
        )
        .join(chunks.select("chunk_id"), on="chunk_id", how="semi", maintain_order="left")
        .unique(maintain_order=True)
        .group_by("pair_id", maintain_order=True)
        .agg(pl.col("chunk_id").head(settings.distractors).alias("distractor_ids"))
    )


def _touching(candidates: pl.DataFrame, proofs: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the candidates that overlap the evidence of their pair."""
    positions = chunks.select("chunk_id", "document_id", "char_start", "char_end")
    spans = proofs.select(
        "pair_id", pl.col("evidence_document_id").alias("document_id"), "evidence_start", "evidence_end"
    )
    return (
        candidates.join(positions, on="chunk_id")
        .join(spans, on=["pair_id", "document_id"])
        .filter(pl.col("char_start") < pl.col("evidence_end"), pl.col("evidence_start") < pl.col("char_end"))
        .select("pair_id", "chunk_id")
    )


def _drawn(answered: pl.DataFrame, chunks: pl.DataFrame, count: int) -> pl.DataFrame:
    """Draw `count` random chunks in the language of each pair.

    The chunks of a language form a ring in seeded order. A pair takes `count` neighbours from a seeded start.
    This avoids a cross join of pairs and chunks.
    """
    keys = pl.Series("key", [draw_number(SEED, i) for i in chunks["chunk_id"]], dtype=pl.UInt64)
    ring = (
        chunks.select("chunk_id", "language", keys)
        .sort("key", "chunk_id")
        .with_columns(pl.int_range(pl.len(), dtype=pl.UInt64).over("language").alias("slot"))
    )
    sizes = ring.group_by("language").agg(pl.len().cast(pl.UInt64).alias("size"))
    starts = pl.Series("start", [draw_number(SEED, i) for i in answered["pair_id"]], dtype=pl.UInt64)
    steps = pl.DataFrame({"step": pl.int_range(count, eager=True, dtype=pl.UInt64)})
    return (
        answered.select("pair_id", "language", starts)
        .join(sizes, on="language", maintain_order="left")
        .join(steps, how="cross", maintain_order="left_right")
        .filter(pl.col("step") < pl.col("size"))
        .with_columns(((pl.col("start") % pl.col("size") + pl.col("step")) % pl.col("size")).alias("slot"))
        .join(ring, on=["language", "slot"], maintain_order="left")
        .select("pair_id", "chunk_id")
    )


def _message_columns(
    rows: Sequence[TrainableRow], chunks: pl.DataFrame, count_tokens: CountTokens, settings: TrainingSettings
) -> Iterator[pl.Series]:
    """Yield the columns messages, tokens and passages; null if a pair does not fit."""
    passages = passages_by_id(chunks)
    choices = [_choices(row, passages, settings.layout) for row in rows]
    fitted = _fit(rows, choices, count_tokens, settings)
    yield pl.Series("messages", [messages for messages, _, _ in fitted], MESSAGES)
    yield pl.Series("tokens", [tokens for _, tokens, _ in fitted], pl.Int32())
    yield pl.Series("passages", [chunk_ids for *_, chunk_ids in fitted], STRINGS)


def _choices(row: TrainableRow, passages: dict[str, Passage], layout: str) -> list[list[Passage]]:
    """Return the possible selections of passages for the messages of a pair, the longest first.

    Every selection has all evidence passages. A refusal lacks evidence and keeps at least one passage.
    """
    if not row["answer"]:
        return []
    if layout == "closed_book":
        return [[]]
    refused = row["coverage"] == "none"
    context = _all_or_none(row["passage_ids"] if refused else row["evidence_chunk_id"], passages)
    if not context:
        return []
    others = _all_or_none(row["distractor_ids"], passages) if layout == "with_distractors" else []
    # the sort key depends only on the passage, so that removing a passage keeps the order of the others
    drawn = [
        sorted(
            [*context, *others[:count]],
            key=lambda passage: draw_number(SEED, row["pair_id"], passage.chunk_id),
        )
        for count in range(len(others), 0, -1)
    ]
    fewest = 1 if refused else len(context)
    return [*drawn, *(context[:count] for count in range(len(context), fewest - 1, -1))]


def _all_or_none(chunk_ids: Sequence[str], passages: dict[str, Passage]) -> list[Passage]:
    """Return the passages of these ids; an empty list if any is missing, as partial evidence is not proof."""
    present = [passages[chunk_id] for chunk_id in chunk_ids if chunk_id in passages]
    return present if len(present) == len(chunk_ids) else []


def _fit(
    rows: Sequence[TrainableRow],
    choices: Sequence[list[list[Passage]]],
    count_tokens: CountTokens,
    settings: TrainingSettings,
) -> list[tuple[Messages, int, list[str]] | tuple[None, None, None]]:
    """Return messages, tokens and passage ids of the first choice of each row that is short enough.

    Each choice is counted as a whole, because token counts of parts do not add up in every tokenizer.
    """
    fitted: list[tuple[Messages, int, list[str]] | tuple[None, None, None]] = [(None,) * 3] * len(rows)
    waiting = [(index, 0) for index, choice in enumerate(choices) if choice]
    while waiting:
        rendered = [_messages(rows[index], choices[index][tried], settings) for index, tried in waiting]
        tokens = count_tokens(
            ["\n".join(message["content"] for message in messages) for messages in rendered]
        )
        too_long = []
        for (index, tried), messages, count in zip(waiting, rendered, tokens, strict=True):
            if count <= settings.max_tokens:
                chunk_ids = [passage.chunk_id for passage in choices[index][tried]]
                fitted[index] = (messages, count, chunk_ids)
            elif tried + 1 < len(choices[index]):
                too_long.append((index, tried + 1))
        waiting = too_long
    return fitted


def _messages(row: TrainableRow, passages: Sequence[Passage], settings: TrainingSettings) -> Messages:
    kind = WITH_PASSAGES if passages else CLOSED_BOOK
    return [
        {"role": "system", "content": settings.system_prompt or system_prompt(row["language"], kind)},
        {"role": "user", "content": user_message(passages, row["question"])},
        {"role": "assistant", "content": row["answer"]},
    ]


def user_message(passages: Sequence[Passage], question: str) -> str:
    """Build the user message: the passages between `<passages>` tags, then the question.

    Closing tags inside a passage are altered.
    """
    if not passages:
        return question
    block = "\n\n".join(marked_passage(number, passage) for number, passage in enumerate(passages, 1))
    return f"<passages>\n{block.replace('</passages>', '</ passages>')}\n</passages>\n\n{question}"


def marked_passage(number: int, passage: Passage) -> str:
    """Format a passage as its number, title and headings, followed by its text."""
    path = passage.section_path
    head = path if path[:1] == (passage.title,) else (passage.title, *path)
    return f"[{number}] {' '.join(HEADING_JOINT.join(head).split())}\n{passage.text}"
