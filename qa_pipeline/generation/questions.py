"""Questions: those planned are asked of their chunks; each must stand alone and find its own chunk again."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.generation.offline.passages import sentences_of, units_of
from qa_pipeline.generation.planning import plan_questions
from qa_pipeline.generation.standalone import leans_on
from qa_pipeline.llm.base import LanguageModel, Reply, Request, maker, makers
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import (
    Prompt,
    delimit,
    load_prompt,
    part_text,
    render_passages,
)
from qa_pipeline.records import (
    HOP_SCOPES,
    DraftPair,
    DraftQuestion,
    PairsReply,
    Passage,
    ProgressCallback,
    Question,
    QuestionsReply,
    QuestionType,
    QuotedReply,
    StandaloneReply,
    no_progress,
    passages_by_id,
)
from qa_pipeline.retrieval.repeats import NEAR_DUPLICATE
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import HOSTED, LLMSettings
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.rows import KeptQuestionRow, QuestionRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import LINKS, QUESTIONS
from qa_pipeline.text.characters import fold
from qa_pipeline.text.doubt import blank_doubts
from qa_pipeline.text.language import QUOTED, in_other_language
from qa_pipeline.text.lexicon.languages import LANGUAGES

Retrieve = Callable[[Sequence[str], Sequence[str]], list[list[tuple[str, float]]]]
"""(questions, languages) -> chunk ids and scores for each question, best first."""

MAX_QUESTION = 500
"""Characters of a question; no person asks a longer one."""
NOT_WRITTEN, LANGUAGE_NOT_HANDLED = "not_written", "language_not_handled"
NOT_STANDALONE = "not_standalone"
OVER_LIMIT, NOT_OFFERED = "over_limit", "not_offered"
IN_DOUBT = "in_doubt"
_SHARE_IN_DOUBT = 0.8
"""Share of a chunk's text in doubt for which it is not asked: the rest is too little to ask about."""
_FEWEST_WORDS, _MOST_WORDS = 4, 60
"""Words of a sentence that may answer a question alone."""
_MEDIUM = 3  # places of a search for each target: within them it is of medium difficulty


@dataclass(frozen=True, slots=True)
class Planned:
    """The questions that one chunk, or two joined ones, are to be asked.

    Args:
        passages: the chunks.
        request: what the model is sent.
    """

    passages: tuple[Passage, ...]
    request: Request[QuestionsReply | QuotedReply]


def write_questions(
    chunks: pl.DataFrame,
    model: LanguageModel,
    retrieve: Retrieve,
    settings: GenerationSettings,
    llm: LLMSettings,
    *,
    batch: str,
    links: pl.DataFrame | None = None,
    topics: Sequence[int] | None = None,
    previous: pl.DataFrame | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Ask the chunks for the planned questions; keep those that stand alone and retrieve their own chunk.

    Questions of `previous` stay while the chunks they ask about exist, whatever has been added to the batch
    since: they were paid for, and new neighbours do not make them wrong. Where another chunk that the search
    returned is gone, the search is made again. Chunks whose earlier reply could not be used are asked again.
    Every planned question has a row, written or not.

    Args:
        chunks: CHUNKS frame of the batch.
        model: who writes.
        retrieve: the search of the batch.
        settings: how many questions of which types, and what is asked of them.
        llm: workers and seed.
        batch: its name.
        links: LINKS frame of the batch; without one no question of several hops is asked.
        topics: a number for each chunk; None where all are one topic.
        previous: the table as the last run left it.
        notify: called with the number of chunks asked.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    if settings.max_chunks is not None:  # a plan around earlier questions would ask others than a whole run
        previous = None
    valid = still_valid(previous, chunks, settings, llm, makers(model.name))
    planned = plan_requests(
        chunks,
        valid,
        settings,
        llm,
        batch=batch,
        links=links,
        topics=topics,
    )
    plans = list(planned.values())
    replies = complete_all(model, [plan.request for plan in plans], workers=llm.workers, notify=notify)
    written = [
        row for plan, reply in zip(plans, replies, strict=True) for row in _rows(plan, reply, model.name)
    ]
    _make_standalone(written, {ids: plan.passages for ids, plan in planned.items()}, model, llm)
    outdated = _with_missing_passages(valid, chunks)
    _retrieve_passages(outdated + written, dict(chunks.select("chunk_id", "title").iter_rows()), retrieve)
    asked_ids = {row["target_chunk_ids"][0] for row in valid + written}
    hashes = _prompt_hashes(chunks, settings, llm)
    not_asked = _not_asked(chunks, asked_ids, settings, hashes, batch, model.name)
    for row in written + not_asked:
        row["question_id"] = _question_id(row)
    rows = valid + written + not_asked
    return QUESTIONS.frame(_decide(_in_chunk_order(rows, chunks), round_trip=settings.require_round_trip))


def passed_over(chunks: pl.DataFrame, settings: GenerationSettings) -> dict[str, str]:
    """Return the reason for each chunk that is not asked: repeated, in doubt, or with nothing to ask."""
    is_asked = [] if settings.skip_near_duplicates else [NEAR_DUPLICATE]
    marked = chunks.filter(~pl.col("passed_over").is_in(is_asked))
    letters = pl.col("text").str.replace_all(r"(?m)^#{1,6} .*|\s", "").str.len_chars()
    doubtful = chunks.filter(pl.col("doubts").is_not_null())
    rest = _without_doubts(doubtful).select(letters).to_series()
    in_doubt = doubtful.filter(rest <= (1 - _SHARE_IN_DOUBT) * letters)["chunk_id"]
    return {**dict.fromkeys(in_doubt, IN_DOUBT), **dict(marked.select("chunk_id", "passed_over").iter_rows())}


def _without_doubts(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the chunks with blanks in place of sentences and rows in doubt: nothing is asked about them."""
    columns = ("text", "language", "doubts", "char_start")
    texts = [blank_doubts(*columns) for columns in chunks.select(columns).iter_rows()]
    return chunks.with_columns(text=pl.Series(texts, dtype=pl.String()))


def plan_requests(
    chunks: pl.DataFrame,
    valid: Sequence[QuestionRow],
    settings: GenerationSettings,
    llm: LLMSettings,
    *,
    batch: str,
    links: pl.DataFrame | None = None,
    topics: Sequence[int] | None = None,
) -> dict[tuple[str, ...], Planned]:
    """Return the open requests by chunk or chunks, best first; `valid` are rows that exist already."""
    chunks, left_out = _without_doubts(chunks), passed_over(chunks, settings)
    asked_of_chunk: dict[str, list[QuestionRow]] = defaultdict(list)
    for row in valid:
        asked_of_chunk[row["target_chunk_ids"][0]].append(row)
    passages = passages_by_id(chunks)
    to_ask = chunks.select("chunk_id", "document_id", "section_start", "text").with_columns(
        pl.Series("topic", topics or [0] * chunks.height, pl.Int64())
    )
    closed = [*left_out, *asked_of_chunk]
    to_ask = to_ask.filter(~pl.col("chunk_id").is_in(closed))
    taken = pl.DataFrame(
        [(row["target_chunk_ids"][0], row["planned_type"]) for row in valid],
        schema={"chunk_id": pl.String(), "planned_type": pl.String()},
        orient="row",
    )
    usable = ~pl.col("other_chunk_id").is_in(list(left_out))
    links = LINKS.empty() if links is None else links.filter(usable)
    plan = plan_questions(to_ask.drop("topic"), settings, taken, to_ask["topic"].to_list(), links)
    if settings.max_chunks is not None:  # after the plan, so that those asked are asked as without a limit
        drawn = draw_chunks(
            to_ask.filter(pl.col("chunk_id").is_in(plan["chunk_id"].implode())), settings.max_chunks
        )
        plan = plan.filter(pl.col("chunk_id").is_in(drawn.implode()))
    groups = plan.group_by("chunk_id", "partner_id", maintain_order=True).agg("planned_type")
    bridges: dict[tuple[str, ...], str] = {
        (first, second): bridge
        for first, second, bridge in links.select("chunk_id", "other_chunk_id", "bridge").iter_rows()
    }
    planned = {}
    for chunk_id, partner_id, types in groups.iter_rows():
        ids: tuple[str, ...] = (chunk_id,) if partner_id is None else (chunk_id, partner_id)
        targets = tuple(passages[target_id] for target_id in ids)
        request = question_request(targets, types, settings, llm, batch, bridge=bridges.get(ids))
        planned[ids] = Planned(targets, request)
    return planned


def draw_chunks(chunks: pl.DataFrame, most: int) -> pl.Series:
    """Return ids of chunks by lot, from as many documents as possible; a longer draw begins with these."""
    turn = pl.int_range(pl.len()).over("document_id")  # ids are hashes, so their order is a lot
    return chunks.sort("chunk_id").with_columns(turn=turn).sort("turn", "chunk_id")["chunk_id"].head(most)


def question_request(
    passages: Sequence[Passage],
    types: Sequence[QuestionType],
    settings: GenerationSettings,
    llm: LLMSettings,
    batch: str,
    *,
    bridge: str | None = None,
) -> Request[QuestionsReply | QuotedReply]:
    """Return the request for questions about a chunk, or two joined ones, with their answers by setting.

    Args:
        passages: the chunks, in one language.
        types: of the questions wanted.
        settings: the temperature, and whether answers come with the questions.
        llm: who is asked, seed, profile and the user's own prompts.
        batch: whom the call is for.
        bridge: what both chunks speak of.
    """
    language = passages[0].language
    prompt = _prompt(language, settings, llm)
    shown = passages
    if _asks_quoted(settings, llm):
        shown = [replace(passage, text=_numbered(passage, passages)) for passage in passages]
    values: dict[str, Any] = {
        "passages": render_passages(shown),
        "limit": str(len(types)),
        "types": "\n".join(f"- {kind}: {part_text(language, f'type_{kind}')}" for kind in types),
    }
    if bridge is not None:
        prompt, values["bridge"] = prompt.with_part(language, "bridge"), delimit(bridge, "link")
    return Request(
        role="questions",
        system=prompt.system,
        prompt=prompt.fill(**values),
        reply_model=_reply_model(settings, llm),
        temperature=settings.temperature,
        seed=llm.seed,
        language=language,
        passages=tuple(passages),
        types=tuple(types),
        limit=len(types),
        batch=batch,
        prompt_hash=_prompt(language, settings, llm).hash,
    )


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
    """Return the quotable sentences of a passage with their numbers among those of all passages."""
    numbered = enumerate(quotable(passages), start=1)
    return "\n".join(f"[{number}] {text}" for number, (of, text) in numbered if of is passage)


def answered_at_once(settings: GenerationSettings, llm: LLMSettings) -> bool:
    """Return True if questions come with their answers; rules answer from passages alone."""
    return settings.answers in ("with_questions", "quoted") and llm.provider in HOSTED


def _asks_quoted(settings: GenerationSettings, llm: LLMSettings) -> bool:
    return settings.answers == "quoted" and llm.provider in HOSTED


def _reply_model(settings: GenerationSettings, llm: LLMSettings) -> type[QuestionsReply] | type[QuotedReply]:
    if _asks_quoted(settings, llm):
        return QuotedReply
    return PairsReply if answered_at_once(settings, llm) else QuestionsReply


def _prompt(language: str, settings: GenerationSettings, llm: LLMSettings) -> Prompt:
    """Return the prompt of a language with all that is the same for every chunk, in its system part."""
    quoted = _asks_quoted(settings, llm)
    prompt = load_prompt(language, "questions_quoted" if quoted else "questions", llm)
    if settings.guidance is not None:
        prompt = prompt.with_constant(language, "guidance", guidance=settings.guidance)
    if quoted:
        return prompt
    if answered_at_once(settings, llm):
        style = part_text(language, f"style_{settings.answer_style}")
        return prompt.with_constant(language, "reply_pairs", style=style)
    return prompt.with_constant(language, "reply_questions")


def _prompt_hashes(chunks: pl.DataFrame, settings: GenerationSettings, llm: LLMSettings) -> dict[str, str]:
    languages = chunks["language"].unique().to_list()
    return {language: _prompt(language, settings, llm).hash for language in languages}


def still_valid(
    previous: pl.DataFrame | None,
    chunks: pl.DataFrame,
    settings: GenerationSettings,
    llm: LLMSettings,
    models: Collection[str],
) -> list[QuestionRow]:
    """Return earlier rows whose chunks, prompt and model (one of `models`) are unchanged."""
    if previous is None:
        return []
    languages = dict(chunks.select("chunk_id", "language").iter_rows())
    left_out = passed_over(chunks, settings)
    planned = previous.filter(pl.col("model").is_in(models), pl.col("planned_type").is_not_null())
    rows = [
        row
        for row in typed_rows(planned, QuestionRow)
        if row["target_chunk_ids"][0] in languages and row["target_chunk_ids"][0] not in left_out
    ]
    hashes = _prompt_hashes(chunks, settings, llm)
    # All questions of a request stand or fall together: they came from one reply.
    changed = {
        tuple(row["target_chunk_ids"])
        for row in rows
        if row["status"] == "failed"
        or row["prompt_hash"] != hashes[languages[row["target_chunk_ids"][0]]]
        or any(chunk_id not in languages for chunk_id in row["target_chunk_ids"])
    }
    return [row for row in rows if tuple(row["target_chunk_ids"]) not in changed]


def _with_missing_passages(rows: Iterable[QuestionRow], chunks: pl.DataFrame) -> list[QuestionRow]:
    """Return the questions for which the search returned a chunk that is gone."""
    ids = set(chunks["chunk_id"])
    return [row for row in rows if not ids.issuperset(row["passage_ids"])]


def _rows(
    planned: Planned,
    reply: Reply[QuestionsReply | QuotedReply] | ModelError,
    model: str,
) -> list[QuestionRow]:
    """Return a row for each planned question: the first draft of its type, else of another, or none."""
    request = planned.request
    drafts: dict[int, DraftQuestion] = {}
    if not isinstance(reply, ModelError):
        drafts = _fitting(request.types, _possible(planned, _drafts(planned, reply.value)))
    reason = NOT_WRITTEN if request.language in LANGUAGES else LANGUAGE_NOT_HANDLED
    rows = []
    for place, planned_type in enumerate(request.types):
        row = _dropped(
            planned.passages, request.prompt_hash, request.batch, maker(model, reply), reason=reason
        )
        row["place"], row["planned_type"] = place, planned_type
        if isinstance(reply, ModelError):
            _set_outcome(row, "failed", reply.reason, str(reply))
        elif place in drafts:
            _write(row, drafts[place], planned.passages)
        rows.append(row)
    return rows


def _drafts(planned: Planned, reply: QuestionsReply | QuotedReply) -> Sequence[DraftQuestion]:
    """Return the questions of a reply, as many as were asked for."""
    if isinstance(reply, QuestionsReply):
        return reply.questions[: planned.request.limit]
    sentences = quotable(planned.passages)
    if not (reply.question.strip() and 1 <= reply.sentence <= len(sentences)):
        return ()
    answer = sentences[reply.sentence - 1][1]
    kind = planned.request.types[0]
    return (
        DraftPair(
            quotes=[answer], question=reply.question, question_type=kind, answer=answer, coverage="full"
        ),
    )


def _write(row: QuestionRow, draft: DraftQuestion, passages: Sequence[Passage]) -> None:
    """Put a question into its row.

    Its answer is kept where it covers the question and each of its quotes is in a passage; of several hops
    each passage is quoted. Any other answer is in doubt, and drafted anew from what the search finds.
    """
    row["question"], row["question_type"] = draft.question.strip(), draft.question_type
    if isinstance(draft, DraftPair) and draft.coverage == "full" and draft.answer.strip():
        quoted = [{p.chunk_id for p in passages if is_quoted(quote, p.text)} for quote in draft.quotes]
        if all(quoted) and len(set().union(*quoted)) == len(passages):
            row["drafted_answer"] = draft.answer.strip()
            row["drafted_quotes"] = list(dict.fromkeys(draft.quotes))
    _set_outcome(row, "kept")


def is_quoted(quote: str, text: str) -> bool:
    """Return whether a text holds words as they are, whatever is between them."""
    words = " ".join(quote.split())
    return bool(words) and words in " ".join(text.split())


def _set_outcome(
    row: QuestionRow | KeptQuestionRow, status: str, reason: str | None = None, detail: str | None = None
) -> None:
    row["status"], row["reason"], row["detail"] = status, reason, detail


def _possible(planned: Planned, drafts: Sequence[DraftQuestion]) -> list[DraftQuestion]:
    """Return the drafts whose type fits the number of passages: those of hops need several, others one."""
    if len(planned.passages) > 1:
        return [draft for draft in drafts if draft.question_type in planned.request.types]
    return [draft for draft in drafts if draft.question_type not in HOP_SCOPES]


def _fitting(types: Sequence[QuestionType], drafts: Sequence[DraftQuestion]) -> dict[int, DraftQuestion]:
    """Return the draft for each planned question, by its place."""
    remaining, fitting = list(drafts), {}
    for place, question_type in enumerate(types):
        draft = next(
            (draft_left for draft_left in remaining if draft_left.question_type == question_type), None
        )
        if draft is not None:
            fitting[place] = draft
            remaining.remove(draft)
    open_places = [place for place in range(len(types)) if place not in fitting]
    return fitting | dict(zip(open_places, remaining, strict=False))


def _not_asked(
    chunks: pl.DataFrame,
    asked_ids: Collection[str],
    settings: GenerationSettings,
    hashes: Mapping[str, str],
    batch: str,
    model: str,
) -> list[QuestionRow]:
    """Return a row for each chunk without a question: repeated, over the limit, or with nothing to ask."""
    left_out = passed_over(chunks, settings)
    is_limited = settings.max_questions is not None or settings.max_chunks is not None
    beyond = OVER_LIMIT if is_limited else NOT_OFFERED
    return [
        _dropped(
            (passage,),
            hashes[passage.language],
            batch,
            model,
            reason=left_out.get(chunk_id, beyond),
        )
        for chunk_id, passage in passages_by_id(chunks).items()
        if chunk_id not in asked_ids
    ]


def _dropped(
    passages: Sequence[Passage], prompt_hash: str, batch: str, model: str, *, reason: str
) -> QuestionRow:
    """Return the row of a question that was not written."""
    return {
        **dict.fromkeys(QUESTIONS.schema, None),  # type: ignore[typeddict-item]
        "batch": batch,
        "target_chunk_ids": [passage.chunk_id for passage in passages],
        "passage_ids": [],
        "language": passages[0].language,
        "status": "dropped",
        "reason": reason,
        "prompt_hash": prompt_hash,
        "model": model,
    }


def _question_id(row: QuestionRow) -> str:
    # 1 was the round of asking: ids stay what they were, and with them the decisions of people
    parts = [row["batch"], *row["target_chunk_ids"], row["question"], 1, row["place"]]
    parts += [row["prompt_hash"], row["model"]]
    return hash_parts(*parts)[:32]


def _make_standalone(
    rows: Sequence[QuestionRow],
    passages: Mapping[tuple[str, ...], Sequence[Passage]],
    model: LanguageModel,
    llm: LLMSettings,
) -> None:
    """Have questions rewritten that lean on their passage, each once."""
    leaning = [
        row for row in _written(rows) if row["question"] and leans_on(row["question"], row["language"])
    ]
    requests = [standalone_request(row, passages[tuple(row["target_chunk_ids"])], llm) for row in leaning]
    for row, reply in zip(leaning, complete_all(model, requests, workers=llm.workers), strict=True):
        if isinstance(reply, ModelError):
            _set_outcome(row, "failed", reply.reason, str(reply))
        elif reply.value.question and reply.value.question.strip():
            row["rewritten_from"], row["question"] = row["question"], reply.value.question.strip()


def _written(rows: Iterable[QuestionRow]) -> list[KeptQuestionRow]:
    return cast("list[KeptQuestionRow]", [row for row in rows if row["question"] is not None])


def standalone_request(
    row: Question, passages: Sequence[Passage], llm: LLMSettings
) -> Request[StandaloneReply]:
    """Return the request to make a question understood alone; `row` is its row of the table."""
    prompt = load_prompt(row["language"], "standalone", llm)
    return Request(
        role="standalone",
        system=prompt.system,
        prompt=prompt.fill(passages=render_passages(passages), question=delimit(row["question"], "question")),
        reply_model=StandaloneReply,
        temperature=0.0,
        seed=llm.seed,
        language=row["language"],
        passages=tuple(passages),
        question=row["question"],
        batch=row["batch"],
        prompt_hash=prompt.hash,
    )


def _retrieve_passages(rows: Sequence[QuestionRow], titles: Mapping[str, str], retrieve: Retrieve) -> None:
    """Search for what each question asks; the title of its document, where quoted, is left out."""
    answerable = [
        row for row in _written(rows) if row["status"] != "failed" and len(row["question"]) <= MAX_QUESTION
    ]
    queries = [_without_title(row["question"], titles[row["target_chunk_ids"][0]]) for row in answerable]
    retrieved = retrieve(queries, [row["language"] for row in answerable])
    for row, passages in zip(answerable, retrieved, strict=True):
        targets = row["target_chunk_ids"]
        row["difficulty"] = _difficulty([chunk_id for chunk_id, _ in passages], targets)
        with_targets = _with_all_hops(passages, targets)
        row["passage_ids"] = [chunk_id for chunk_id, _ in with_targets]
        row["passage_scores"] = [score for _, score in with_targets]  # type: ignore[misc]  # null for a hop


def _without_title(question: str, title: str) -> str:
    return QUOTED.sub(lambda name: "" if name[0][1:-1] in title else name[0], question)


def _difficulty(retrieved_ids: Sequence[str], targets: Sequence[str]) -> str:
    """Return how hard the batch's search finds the chunks of a question, the last of them."""
    if not set(targets) <= set(retrieved_ids[: _MEDIUM * len(targets)]):
        return "hard"
    return "easy" if set(targets) == set(retrieved_ids[: len(targets)]) else "medium"


def _with_all_hops(
    passages: Sequence[tuple[str, float]], targets: Sequence[str]
) -> Sequence[tuple[str, float | None]]:
    """Put the chunks of a question of several hops in the last places, where the search finds only some.

    Such a question names where the path starts, and may name nothing of the chunks that it leads to.
    """
    retrieved_ids = [chunk_id for chunk_id, _ in passages]
    missing = [target for target in targets if target not in retrieved_ids]
    if not 0 < len(missing) < len(targets):
        return passages
    last_other = [place for place, chunk_id in enumerate(retrieved_ids) if chunk_id not in targets][
        -len(missing) :
    ]
    remaining = [passage for place, passage in enumerate(passages) if place not in last_other]
    return [*remaining, *((target, None) for target in missing)]


def _in_chunk_order(rows: Iterable[QuestionRow], chunks: pl.DataFrame) -> list[QuestionRow]:
    """Order by chunk and, within one, as written: the same whether rows are old or new."""
    order = {chunk_id: number for number, chunk_id in enumerate(chunks["chunk_id"])}
    return sorted(rows, key=lambda row: (order[row["target_chunk_ids"][0]], row["place"] or 0))


def _decide(rows: list[QuestionRow], *, round_trip: bool) -> list[QuestionRow]:
    """Keep or drop each question, earlier ones included: what was a repeat may now stand alone.

    A question that does not find its own chunks would be answered from elsewhere, or not at all.
    """
    seen: set[str] = set()
    for row in rows:
        if row["question"] is None or row["status"] == "failed":
            continue
        text = fold(row["question"]).casefold()
        reason, detail = _flaw(row["question"], row["language"])
        if reason is None and round_trip and not set(row["target_chunk_ids"]) <= set(row["passage_ids"]):
            reason = "round_trip_failed"
        elif reason is None and text in seen:
            reason = "repeated_question"
        if reason is None:
            seen.add(text)
        _set_outcome(row, "kept" if reason is None else "dropped", reason, detail)
    return rows


def _flaw(question: str, language: str) -> tuple[str | None, str | None]:
    """Return the flaw of a question, whatever its passage, as reason code and words; else nulls."""
    if len(question) > MAX_QUESTION:
        return "question_too_long", f"{len(question)} characters, at most {MAX_QUESTION}"
    leaning = leans_on(question, language)
    if leaning is not None:
        return NOT_STANDALONE, leaning
    other = in_other_language(question, language)
    return ("language_mismatch", f"in {other}, not in {language}") if other else (None, None)
