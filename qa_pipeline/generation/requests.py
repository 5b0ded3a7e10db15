"""Plan the questions of a batch, and build the requests to write, guard, answer and compare them.

A slot is a question to be written about a chunk. Slots are ordered by turns: every section gets its first
question before any gets a second. A limit on questions cuts this list. Types are assigned to the slots by
largest remainder (Hamilton's method), scarce types first. Table questions are only asked of chunks with a
table, and two-hop questions (about two chunks) of chunks with a link.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.generation.multihop import LINKS
from qa_pipeline.generation.passages import sentences_of, units_of
from qa_pipeline.llm.base import ReplyT, Request
from qa_pipeline.prompts.loading import Delimited, Prompt, delimit, load_prompt, part_text, render_passages
from qa_pipeline.records import (
    HOP_SCOPES,
    PairsReply,
    Passage,
    Question,
    QuestionsReply,
    QuestionType,
    QuotedReply,
    Role,
    StandaloneReply,
    passages_by_id,
)
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import HOSTED, LLMSettings
from qa_pipeline.storage.table_schema import QuestionRow
from qa_pipeline.text.doubt import blank_doubts


def request_about(
    row: Question,
    role: Role,
    prompt: Prompt,
    reply_model: type[ReplyT],
    llm: LLMSettings,
    passages: Sequence[Passage] | None = None,
    *,
    label: str = "question",  # of the question in the prompt
    temperature: float = 0.0,
    answer: str | None = None,  # of the row, for providers that work on texts
    **values: Delimited,  # further untrusted texts of the prompt
) -> Request[ReplyT]:
    """Return a request about the question of a row, to be answered with `reply_model`."""
    if passages is not None:
        values["passages"] = render_passages(passages)
    return Request(
        role=role,
        system=prompt.system,
        prompt=prompt.fill(question=delimit(row["question"], label), **values),
        reply_model=reply_model,
        temperature=temperature,
        language=row["language"],
        passages=tuple(passages or ()),
        question=row["question"],
        answer=answer,
        batch=row["batch"],
        prompt_hash=prompt.hash,
    )


QuestionsRequest = Request[QuestionsReply | QuotedReply]
IN_DOUBT = "in_doubt"
_SHARE_IN_DOUBT = 0.8  # share of doubtful text at which a chunk is skipped, because the rest is too short
_FEWEST_WORDS, _MOST_WORDS = 4, 60  # minimum and maximum words of a sentence that may answer a question alone


def passed_over(chunks: pl.DataFrame) -> dict[str, str]:
    """Return the reason for each skipped chunk: repeated, doubtful or without usable content."""
    marked = chunks.filter(pl.col("passed_over").is_not_null())
    letters = pl.col("text").str.replace_all(r"(?m)^#{1,6} .*|\s", "").str.len_chars()  # without headings
    doubtful = chunks.filter(pl.col("doubts").is_not_null())
    letters_left = _without_doubts(doubtful).select(letters).to_series()  # in certain text
    in_doubt = doubtful.filter(letters_left <= (1 - _SHARE_IN_DOUBT) * letters)["chunk_id"]
    return {**dict.fromkeys(in_doubt, IN_DOUBT), **dict(marked.select("chunk_id", "passed_over").iter_rows())}


def _without_doubts(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the chunks with spaces in place of doubtful sentences and rows."""
    columns = ("text", "language", "doubts", "char_start")
    texts = [blank_doubts(*row) for row in chunks.select(columns).iter_rows()]
    return chunks.with_columns(text=pl.Series(texts, dtype=pl.String()))


def plan_requests(
    chunks: pl.DataFrame,
    existing: Sequence[QuestionRow],
    settings: GenerationSettings,
    llm: LLMSettings,
    *,
    batch: str,
    links: pl.DataFrame | None = None,
) -> list[QuestionsRequest]:
    """Return a request per planned chunk or pair of chunks, best first.

    Skipped chunks have no request. Chunks with `existing` rows only occur as the other chunk of a link.
    """
    skipped = list(passed_over(chunks))
    chunks = _without_doubts(chunks)
    planned_before = [(row["target_chunk_ids"][0], row["planned_type"]) for row in existing]
    taken = pl.DataFrame(planned_before, {"chunk_id": pl.String(), "planned_type": pl.String()}, orient="row")
    to_ask = chunks.filter(~pl.col("chunk_id").is_in([*skipped, *taken["chunk_id"]]))
    # links to skipped chunks are dropped here; links from chunks that are not in `to_ask` have no effect
    links = LINKS.to_frame() if links is None else links.filter(~pl.col("other_chunk_id").is_in(skipped))
    plan = plan_questions(to_ask, settings, taken, links)
    if settings.max_chunks is not None:  # drawn chunks get the same questions as in the plan of all chunks
        planned = to_ask.filter(pl.col("chunk_id").is_in(plan["chunk_id"].implode()))
        drawn = draw_chunks(planned, settings.max_chunks)
        plan = plan.filter(pl.col("chunk_id").is_in(drawn.implode()))
    passages = passages_by_id(chunks)
    columns = ("chunk_id", "other_chunk_id", "bridge")
    bridge_of = {(first, second): bridge for first, second, bridge in links.select(columns).iter_rows()}
    # a row for each request, with the types of its questions; about a single chunk, `other_chunk_id` is null
    groups = plan.group_by("chunk_id", "other_chunk_id", maintain_order=True).agg("planned_type")
    requests = []
    for chunk_id, other_chunk_id, types in groups.iter_rows():
        targets = [passages[target] for target in (chunk_id, other_chunk_id) if target is not None]
        bridge = bridge_of.get((chunk_id, other_chunk_id))
        requests.append(question_request(targets, types, settings, llm, batch, bridge=bridge))
    return requests


def draw_chunks(chunks: pl.DataFrame, most: int) -> pl.Series:
    """Return random chunk ids from as many documents as possible. A longer draw begins with the same ids."""
    turn = pl.int_range(pl.len()).over("document_id")  # ids are hashes, so their order is random
    return chunks.sort("chunk_id").with_columns(turn=turn).sort("turn", "chunk_id")["chunk_id"].head(most)


def question_request(
    passages: Sequence[Passage],
    types: Sequence[QuestionType],
    settings: GenerationSettings,
    llm: LLMSettings,
    batch: str,
    *,
    bridge: str | None = None,
) -> QuestionsRequest:
    """Return the request for questions about a chunk or two linked chunks, with answers if configured.

    `bridge` is the name or heading that both chunks mention.
    """
    language, visible = passages[0].language, passages
    reply_model: type[QuestionsReply] | type[QuotedReply] = QuestionsReply
    if _asks_quoted(settings, llm):
        reply_model = QuotedReply
        visible = [replace(passage, text=_numbered(passage, passages)) for passage in passages]
    elif answered_at_once(settings, llm):
        reply_model = PairsReply
    base = questions_prompt(language, settings, llm)  # the same for every chunk of a language
    template = base.template
    values: dict[str, str | Delimited] = {
        "passages": render_passages(visible),
        "limit": str(len(types)),
        "types": "\n".join(f"- {kind}: {part_text(language, f'type_{kind}')}" for kind in types),
    }
    if bridge is not None:
        template += f"\n\n{part_text(language, 'bridge')}"
        values["bridge"] = delimit(bridge, "link")
    return Request(
        role="questions",
        system=base.system,
        prompt=Prompt(base.system, template).fill(**values),
        reply_model=reply_model,
        temperature=settings.temperature,
        language=language,
        passages=tuple(passages),
        types=tuple(types),
        limit=len(types),
        batch=batch,
        prompt_hash=base.hash,
    )


def questions_prompt(language: str, settings: GenerationSettings, llm: LLMSettings) -> Prompt:
    """Return the prompt for questions in a language. Text that all chunks share is in its system part."""
    quoted = _asks_quoted(settings, llm)
    prompt = load_prompt(language, "questions_quoted" if quoted else "questions", llm)
    if settings.guidance is not None:
        prompt = prompt.with_part(language, "guidance", guidance=settings.guidance)
    if quoted:  # the answer is a sentence of the passage, so it needs no style
        return prompt
    if answered_at_once(settings, llm):
        style = part_text(language, f"style_{settings.answer_style}")
        return prompt.with_part(language, "reply_pairs", style=style)
    return prompt.with_part(language, "reply_questions")


def answered_at_once(settings: GenerationSettings, llm: LLMSettings) -> bool:
    """Return True if questions come with their answers. Rules answer only from passages."""
    return settings.answers in ("with_questions", "quoted") and llm.provider in HOSTED


def _asks_quoted(settings: GenerationSettings, llm: LLMSettings) -> bool:
    """Return True if a model chooses the sentence that answers before it writes the question."""
    return settings.answers == "quoted" and llm.provider in HOSTED


def quotable(passages: Sequence[Passage]) -> list[tuple[Passage, str]]:
    """Return the sentences and list items that may answer a question alone, each with its passage."""
    sentences = (
        (passage, sentence.text)
        for passage in passages
        for unit in units_of(passage.text)
        if unit.kind in ("prose", "item")
        for sentence in sentences_of(unit, passage)
    )
    return [
        (passage, text)
        for passage, text in sentences
        if _FEWEST_WORDS <= len(text.split()) <= _MOST_WORDS and not text.endswith((":", "?"))
    ]


def _numbered(passage: Passage, passages: Sequence[Passage]) -> str:
    """Return the quotable sentences of a passage, numbered across all passages."""
    numbered = enumerate(quotable(passages), start=1)
    return "\n".join(f"[{number}] {text}" for number, (owner, text) in numbered if owner is passage)


def is_quoted(quote: str, text: str) -> bool:
    """Return True if a text contains a quote verbatim, except for white space."""
    words = " ".join(quote.split())
    return bool(words) and words in " ".join(text.split())


def standalone_request(
    row: Question, passages: Sequence[Passage], llm: LLMSettings
) -> Request[StandaloneReply]:
    """Return the request to rewrite the question of a row so that it can be understood alone."""
    prompt = load_prompt(row["language"], "standalone", llm)
    return request_about(row, "standalone", prompt, StandaloneReply, llm, passages)


PLAN = pl.Schema(dict.fromkeys(("chunk_id", "planned_type", "other_chunk_id"), pl.String()))
"""A row for each planned question. Only a question of two hops has another chunk, to which a link leads."""
SECTION = ("document_id", "section_start")  # the columns that identify a section of a batch
_SUMMARY_CHARACTERS = 400  # minimum characters of a passage that is worth summing up
_ROWS = r"(?m)^.*\S \| \S.*$"  # a row of a table in document text
_ITEMS = r"(?m)^\s*(?:[-*•]|\d{1,3}[.)]|[a-z]\)) \S"
_OFFERED: Mapping[QuestionType, pl.Expr] = {
    "summary": pl.col("text").str.len_chars() >= _SUMMARY_CHARACTERS,
    "procedure": pl.col("text").str.count_matches(_ITEMS) >= 2,
    "table": pl.col("text").str.count_matches(_ROWS) >= 2,
    **{kind: pl.col(scope).is_not_null() for kind, scope in HOP_SCOPES.items()},
}
"""The condition on a chunk for each restricted question type. Other types suit every chunk."""


def plan_questions(
    chunks: pl.DataFrame, settings: GenerationSettings, taken: pl.DataFrame, links: pl.DataFrame
) -> pl.DataFrame:
    """Assign the remaining questions of a batch to chunks and types.

    `taken` has chunk_id and planned_type of existing questions, which count in the mix and the limit. `links`
    is a frame of `LINKS`. Returns a frame of `PLAN`, best slots first. Slots beyond the limit and two-hop
    questions without a link have no row.
    """
    linked = _with_linked_chunks(chunks.select("chunk_id", *SECTION, "text"), links)
    slots = _ordered(linked, settings.questions_per_chunk)  # a row for each slot, with its chunk
    if settings.max_questions is not None:
        slots = slots.head(max(0, settings.max_questions - taken.height))
    taken_by_type = dict(taken.group_by("planned_type").len().iter_rows())
    types = deal_types(slots, settings.mix, taken_by_type)
    no_chunk = pl.lit(None, pl.String())
    planned = slots.with_columns(pl.Series("planned_type", types, pl.String()), other_chunk_id=no_chunk)
    # further questions of a type about a chunk get its next linked chunk, in rotation
    index_in_type = pl.int_range(pl.len()).over("chunk_id", "planned_type")
    for kind, scope in HOP_SCOPES.items():
        linked_chunk = pl.col(scope).list.get(index_in_type % pl.col(scope).list.len())
        other = pl.when(pl.col("planned_type") == kind).then(linked_chunk).otherwise("other_chunk_id")
        planned = planned.with_columns(other_chunk_id=other)
    is_hop = pl.col("planned_type").is_in(list(HOP_SCOPES))
    return planned.filter(~is_hop | pl.col("other_chunk_id").is_not_null()).select(PLAN.names()).cast(PLAN)


def _with_linked_chunks(chunks: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Add the columns "within" and "across": the list of the linked chunks of this scope, null if empty."""
    for scope in HOP_SCOPES.values():
        linked = (
            links.filter(pl.col("scope") == scope)
            .group_by("chunk_id", maintain_order=True)
            .agg(pl.col("other_chunk_id").alias(scope))
        )
        chunks = chunks.join(linked, on="chunk_id", how="left", maintain_order="left")
    return chunks


def _ordered(chunks: pl.DataFrame, per_chunk: int) -> pl.DataFrame:
    """Return every slot with its chunk: the first of each section, then the second, ordered by hashes."""
    numbers = pl.DataFrame({"number": range(per_chunk)})  # of the slot in its chunk
    slots = chunks.join(numbers, how="cross")
    in_section = slots.sort("number", "chunk_id").with_columns(turn=pl.int_range(pl.len()).over(*SECTION))
    return in_section.sort("turn", "chunk_id", "number")


def deal_types(
    slots: pl.DataFrame, weights: Mapping[QuestionType, float], taken: Mapping[str, int]
) -> list[QuestionType]:
    """Return a type for each slot, close to the mix. `taken` counts the existing questions by type.

    A slot gets the scarcest type that suits its chunk and has open slots, if possible one that the chunk
    lacks. If no suitable type has open slots, it gets the type that exceeds its quota least, relative to its
    weight. This, too, is a type that the chunk lacks, unless it has all.
    """
    if slots.is_empty():
        return []
    types = [kind for kind, weight in weights.items() if weight > 0]
    conditions = [_OFFERED.get(kind, pl.repeat(value=True, n=pl.len())).alias(kind) for kind in types]
    is_offered = slots.select(conditions)  # a row per slot, a column per type
    shares = np.array([weights[kind] for kind in types])
    quotas = _quotas(shares, [taken.get(kind, 0) for kind in types], len(slots))
    open_slots = dict(zip(types, quotas, strict=True))  # by type; negative once it exceeds its quota
    offers = is_offered.sum().row(0, named=True)  # the number of slots that suit each type
    scarce_first = sorted(types, key=lambda kind: offers[kind])
    dealt: list[QuestionType] = []
    used: dict[str, set[QuestionType]] = defaultdict(set)  # types by chunk
    for chunk_id, offered in zip(slots["chunk_id"], is_offered.iter_rows(named=True), strict=True):
        suitable = [kind for kind in scarce_first if offered[kind]] or scarce_first  # else any type
        unused = [kind for kind in suitable if kind not in used[chunk_id]] or suitable
        # unused types come first, so a chunk repeats a type only if its unused types have no open slots
        below_quota = [kind for kind in (*unused, *suitable) if open_slots[kind] > 0]
        # open slots of types above their quota are negative, so the maximum is the least excess
        least_exceeded = max(unused, key=lambda kind: open_slots[kind] / weights[kind])
        kind = below_quota[0] if below_quota else least_exceeded
        used[chunk_id].add(kind)
        open_slots[kind] -= 1
        dealt.append(kind)
    return dealt


def _quotas(weights: npt.NDArray[np.float64], taken: Sequence[int], slots: int) -> list[int]:
    """Return the number of slots of each type, so that existing and new questions together match the mix."""
    wanted = weights / weights.sum() * (slots + sum(taken))  # questions of each type, existing ones included
    missing = np.maximum(wanted - np.array(taken), 0.0)
    exact = missing / missing.sum() * slots
    quotas = np.floor(exact).astype(int)
    largest_remainders = np.argsort(quotas - exact, kind="stable")[: slots - quotas.sum()]
    quotas[largest_remainders] += 1
    return [int(quota) for quota in quotas]
