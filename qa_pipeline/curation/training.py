"""Training examples: accepted pairs as chat messages, with their proof and where it comes from.

Messages carry no source marks such as `[source:guide.md]`, nor numbers that stand for sources: no layout
shows file names, so a model could only learn to make them up. The `answer` column keeps the text as it was
judged; the proof is in `evidence`.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import polars as pl

from qa_pipeline.prompts.loading import system_prompt
from qa_pipeline.records import Passage, passages_by_id
from qa_pipeline.settings.verification import TrainingSettings
from qa_pipeline.tables import EVIDENCE, LAYOUTS, MESSAGE_COLUMNS, MESSAGES, PROVENANCE, TRAINING_EXAMPLES
from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims, evidence_pieces

Messages = list[dict[str, str]]


class Fitted(NamedTuple):
    """Messages that keep to the length, and how long they are."""

    messages: Messages
    tokens: int


class TokenCounter(Protocol):
    """Counts the tokens of texts."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""


@dataclass(frozen=True, slots=True)
class Example:
    """What the layouts of one pair are made of.

    `context` must be shown unless `context_droppable` (the passages of a refusal prove nothing alone).
    """

    pair_id: str
    system: str
    question: str
    answer: str
    context: tuple[Passage, ...] = ()
    distractors: tuple[Passage, ...] = ()
    context_droppable: bool = False


@dataclass(frozen=True, slots=True)
class _Draft:
    """One layout of one pair; `droppable` passages go from the last to the first."""

    example: Example
    kept: tuple[Passage, ...] = ()
    droppable: tuple[Passage, ...] = ()
    fewest: int = 0
    shuffle_seed: int | None = None


def seeded_hash(seed: int, *parts: str) -> int:
    """A number of 64 bits from a seed and strings: stable across machines and library versions."""
    text = "\x1f".join([str(seed), *parts])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def lay_out(
    examples: Sequence[Example], counter: TokenCounter, *, max_tokens: int, seed: int
) -> dict[str, list[Fitted | None]]:
    """Build every layout of every example; None where a layout cannot be had.

    Args:
        examples: what to lay out.
        counter: counts tokens.
        max_tokens: longest example allowed, all messages together.
        seed: decides the order of passages among distractors.
    """
    return {
        "closed_book": _fit([_closed_book(one) for one in examples], counter, max_tokens),
        "with_context": _fit([_with_context(one) for one in examples], counter, max_tokens),
        "with_distractors": _fit([_with_distractors(one, seed) for one in examples], counter, max_tokens),
    }


def _closed_book(example: Example) -> _Draft | None:
    return _Draft(example) if example.answer else None


def _with_context(example: Example) -> _Draft | None:
    """The proof's passages, all of them; a refusal's passages, at least one."""
    if not (example.answer and example.context):
        return None
    if example.context_droppable:
        return _Draft(example, droppable=example.context, fewest=1)
    return _Draft(example, kept=example.context)


def _with_distractors(example: Example, seed: int) -> _Draft | None:
    """The proof's passages among others: without any other it would be a second copy of with_context."""
    if not (example.answer and example.context and example.distractors):
        return None
    return _Draft(example, kept=example.context, droppable=example.distractors, fewest=1, shuffle_seed=seed)


def _fit(drafts: Sequence[_Draft | None], counter: TokenCounter, max_tokens: int) -> list[Fitted | None]:
    """Drop the last droppable passage of what is too long, and count again, until all fit or give up.

    Counting whole examples again is exact for every tokenizer; sums over parts are not.
    """
    fitted: list[Fitted | None] = [None] * len(drafts)
    waiting = [(place, draft) for place, draft in enumerate(drafts) if draft is not None]
    while waiting:
        rendered = [_messages(draft) for _, draft in waiting]
        tokens = counter.count([_whole(messages) for messages in rendered])
        too_long = []
        for (place, draft), messages, count in zip(waiting, rendered, tokens, strict=True):
            if count <= max_tokens:
                fitted[place] = Fitted(messages, count)
            elif len(draft.droppable) > draft.fewest:
                too_long.append((place, replace(draft, droppable=draft.droppable[:-1])))
        waiting = too_long
    return fitted


def _messages(draft: _Draft) -> Messages:
    example = draft.example
    passages = [*draft.kept, *draft.droppable]
    if draft.shuffle_seed is not None:
        passages = _shuffled(passages, draft.shuffle_seed, example.pair_id)
    user = "\n\n".join([*(_marked(n, one) for n, one in enumerate(passages, 1)), example.question])
    return [
        {"role": "system", "content": example.system},
        {"role": "user", "content": user},
        {"role": "assistant", "content": example.answer},
    ]


def _marked(number: int, passage: Passage) -> str:
    """A passage as an application shows it: number, title and headings on one line, then its text."""
    path = passage.section_path
    head = path if path[:1] == (passage.title,) else (passage.title, *path)
    return f"[{number}] {' '.join(' › '.join(head).split())}\n{passage.text}"


def _shuffled(passages: Iterable[Passage], seed: int, pair_id: str) -> list[Passage]:
    """An order that depends on each passage alone, so that dropping one moves no other."""
    return sorted(passages, key=lambda passage: seeded_hash(seed, pair_id, passage.chunk_id))


def _whole(messages: Messages) -> str:
    return "\n".join(message["content"] for message in messages)


def find_proofs(claims: pl.DataFrame, claim_verdicts: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Supported claims in the order of each answer, a row for each piece of evidence they rest on.

    Returns:
        claim_id, pair_id, text, the evidence columns of the claims table, and path, that of the document.
    """
    return (
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") == SUPPORTED)
        .select("claim_id", "pair_id", "text")
        .join(evidence_pieces(claims, claim_verdicts), on="claim_id", maintain_order="left_right")
        .join(
            documents.select(pl.col("document_id").alias("evidence_document_id"), "path"),
            on="evidence_document_id",
            how="left",
            maintain_order="left",
        )
    )


def evidence_lists(proofs: pl.DataFrame) -> pl.DataFrame:
    """One row for each pair that has a proof: pair_id and evidence, a list as training_examples holds it."""
    source = {"claim": "text", "path": "path"}
    proof = pl.struct(
        pl.col(source.get(field.name, f"evidence_{field.name}")).alias(field.name)
        for field in EVIDENCE.fields
    )
    return proofs.group_by("pair_id", maintain_order=True).agg(proof.alias("evidence"))


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
    counter: TokenCounter,
    settings: TrainingSettings,
) -> pl.DataFrame:
    """Turn accepted pairs into examples, in the order of their ids.

    A layout with passages that cannot be had (no passage, no distractor, longer than `max_tokens`) is null in
    its column and in tokens. A pair whose question and answer alone are too long, or whose answer is empty
    without its source marks, fits no layout and gets no row: trainers cannot read a null. The yield funnel
    counts it.

    Args:
        pairs: the pairs table.
        verdicts: the verdicts table; rows are filtered here, whatever the caller filtered.
        claims: the claims table.
        claim_verdicts: the claim_verdicts table.
        assessments: the assessments table; names the judge.
        chunks: the chunks table.
        documents: the documents table; paths, addresses and licences.
        counter: counts tokens.
        settings: system prompt, length, distractors, cap and seed.

    Returns:
        The training_examples table.
    """
    proofs = find_proofs(claims, claim_verdicts, documents)
    rests_on = _sources(pairs, proofs, chunks)
    chosen = _capped(trainable(pairs, verdicts), rests_on, settings.max_examples_per_document)
    examples = _examples(chosen, proofs, chunks, settings)
    return TRAINING_EXAMPLES.conform(
        chosen.join(evidence_lists(proofs), on="pair_id", how="left", maintain_order="left")
        .join(_origins(rests_on, documents), on="pair_id", how="left", maintain_order="left")
        .join(assessments.select("pair_id", "judge"), on="pair_id", how="left", maintain_order="left")
        .with_columns(
            pl.col("evidence").fill_null([]),
            pl.col("source_uris", "licences").fill_null([]),
            *_layout_columns(examples, counter, settings),
        )
        .with_columns(pl.struct(field.name for field in PROVENANCE.fields).alias("provenance"))
        .filter(pl.col("messages").is_not_null())
        .select(TRAINING_EXAMPLES.schema.names())
    )


def trainable(pairs: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Pairs that may train: accepted, and no known-answer pair by either table; sorted by pair_id."""
    accepted = verdicts.filter(pl.col("verdict") == "accepted", pl.col("expected_verdict").is_null())
    return (
        pairs.filter(pl.col("expected_verdict").is_null())
        .join(accepted.select("pair_id", "composite", "thresholds_id", *_MEASURED), on="pair_id", how="inner")
        .sort("pair_id")
    )


def _sources(pairs: pl.DataFrame, proofs: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Documents a pair rests on, the main one first: those of its proof, for refusals those it was shown."""
    proved = proofs.select("pair_id", pl.col("evidence_document_id").alias("document_id")).drop_nulls()
    shown = (
        pairs.filter(pl.col("coverage") == "none")
        .select("pair_id", pl.col("passage_ids").alias("chunk_id"))
        .explode("chunk_id", empty_as_null=True)
        .join(chunks.select("chunk_id", "document_id"), on="chunk_id", maintain_order="left")
        .select("pair_id", "document_id")
    )
    return pl.concat([proved, shown]).unique(maintain_order=True)


def _capped(chosen: pl.DataFrame, rests_on: pl.DataFrame, cap: int | None) -> pl.DataFrame:
    """Keep the best `cap` pairs of each main document; a pair of no document is not counted."""
    if cap is None:
        return chosen
    main = rests_on.group_by("pair_id", maintain_order=True).agg(pl.col("document_id").first())
    kept = (
        chosen.join(main, on="pair_id", how="left")
        .sort("composite", "pair_id", descending=[True, False], nulls_last=True)
        .filter(pl.col("document_id").is_null() | (pl.int_range(pl.len()).over("document_id") < cap))
    )
    return chosen.join(kept, on="pair_id", how="semi", maintain_order="left")


def _origins(rests_on: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Addresses and licences of the documents a pair rests on; an unknown one is absent."""
    known = documents.select("document_id", "source_uri", "licence")
    return (
        rests_on.join(known, on="document_id", maintain_order="left")
        .group_by("pair_id", maintain_order=True)
        .agg(
            pl.col("source_uri").drop_nulls().unique().sort().alias("source_uris"),
            pl.col("licence").drop_nulls().unique().sort().alias("licences"),
        )
    )


def _examples(
    chosen: pl.DataFrame, proofs: pl.DataFrame, chunks: pl.DataFrame, settings: TrainingSettings
) -> list[Example]:
    """The parts of each chosen pair's messages, in order."""
    passages = passages_by_id(chunks)
    proved = proofs.group_by("pair_id", maintain_order=True).agg(
        pl.col("evidence_chunk_id").unique(maintain_order=True)
    )
    distractors = _distractors(chosen, proofs, chunks, settings)
    # "(?i)": the compiled pattern keeps its flag apart from its text
    numbered = pl.col("citations").list.eval(pl.element().struct.field("number").is_not_null()).list.any()
    marks = rf"(?i)[ \t]*{SOURCE_MARK.pattern}"
    rows = (
        chosen.join(proved, on="pair_id", how="left", maintain_order="left")
        .join(distractors, on="pair_id", how="left", maintain_order="left")
        .with_columns(
            pl.col("evidence_chunk_id", "distractor_ids").fill_null([]),
            pl.when(numbered)
            .then(pl.col("answer").str.replace_all(rf"[ \t]*{NUMBER_MARK.pattern}", ""))
            .otherwise("answer")
            .str.replace_all(marks, "")
            .str.strip_chars()
            .alias("answer"),
        )
    )
    return [_example(row, passages, settings) for row in rows.iter_rows(named=True)]


def _example(row: dict[str, Any], passages: dict[str, Passage], settings: TrainingSettings) -> Example:
    refused = row["coverage"] == "none"
    return Example(
        pair_id=row["pair_id"],
        system=settings.system_prompt or system_prompt(row["language"]),
        question=row["question"],
        answer=row["answer"],
        context=_all_or_none(row["passage_ids"] if refused else row["evidence_chunk_id"], passages),
        distractors=_all_or_none(row["distractor_ids"], passages),
        context_droppable=refused,
    )


def _all_or_none(chunk_ids: Sequence[str | None], passages: dict[str, Passage]) -> tuple[Passage, ...]:
    """The passages of these ids; none if one does not exist, for a part of a proof proves nothing."""
    found = tuple(passages[chunk_id] for chunk_id in chunk_ids if chunk_id in passages)
    return found if len(found) == len(chunk_ids) else ()


def _distractors(
    chosen: pl.DataFrame, proofs: pl.DataFrame, chunks: pl.DataFrame, settings: TrainingSettings
) -> pl.DataFrame:
    """Passages that prove nothing of a pair: retrieved ones first, then others of its language by seed.

    A chunk that shares text with the proof, as neighbours do where chunks overlap, is none.

    Refusals get none: a chunk nobody weighed may hold the answer that the example says does not exist.
    """
    answered = chosen.filter(pl.col("coverage") != "none")
    retrieved = (
        answered.select("pair_id", pl.col("passage_ids").alias("chunk_id"))
        .explode("chunk_id", empty_as_null=True)
        .drop_nulls()
    )
    proof = proofs.select("pair_id", pl.col("evidence_chunk_id").alias("chunk_id")).drop_nulls().unique()
    taken = max(pl.concat([retrieved, proof])["pair_id"].value_counts()["count"].to_list(), default=0)
    drawn = _drawn(answered, chunks, settings.distractors + taken, settings.seed)
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
    """Those candidates that hold a part of a pair's evidence."""
    places = chunks.select("chunk_id", "document_id", "char_start", "char_end")
    spans = proofs.select(
        "pair_id", pl.col("evidence_document_id").alias("document_id"), "evidence_start", "evidence_end"
    )
    return (
        candidates.join(places, on="chunk_id")
        .join(spans, on=["pair_id", "document_id"])
        .filter(pl.col("char_start") < pl.col("evidence_end"), pl.col("evidence_start") < pl.col("char_end"))
        .select("pair_id", "chunk_id")
    )


def _drawn(answered: pl.DataFrame, chunks: pl.DataFrame, count: int, seed: int) -> pl.DataFrame:
    """Draw `count` chunks of its language for each pair, without looking at every pair with every chunk.

    The chunks of a language stand in a ring in seeded order; a pair takes its run from a seeded place.
    """
    keys = pl.Series("key", [seeded_hash(seed, i) for i in chunks["chunk_id"]], dtype=pl.UInt64)
    ring = (
        chunks.select("chunk_id", "language", keys)
        .sort("key", "chunk_id")
        .with_columns(pl.int_range(pl.len(), dtype=pl.UInt64).over("language").alias("slot"))
    )
    sizes = ring.group_by("language").agg(pl.len().cast(pl.UInt64).alias("size"))
    starts = pl.Series("start", [seeded_hash(seed, i) for i in answered["pair_id"]], dtype=pl.UInt64)
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


def _layout_columns(
    examples: Sequence[Example], counter: TokenCounter, settings: TrainingSettings
) -> list[pl.Series]:
    """A column of messages for each layout, and tokens with a field for each."""
    laid_out = lay_out(examples, counter, max_tokens=settings.max_tokens, seed=settings.seed)
    rows = [
        dict(zip(LAYOUTS, fitted, strict=True))
        for fitted in zip(*(laid_out[layout] for layout in LAYOUTS), strict=True)
    ]
    tokens = [{layout: one and one.tokens for layout, one in row.items()} for row in rows]
    return [
        *(
            pl.Series(name, [one and one.messages for one in laid_out[layout]], dtype=MESSAGES)
            for layout, name in MESSAGE_COLUMNS.items()
        ),
        pl.Series("tokens", tokens, dtype=TRAINING_EXAMPLES.schema["tokens"]),
    ]
