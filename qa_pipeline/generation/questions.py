"""Write the planned questions. Each must be self-contained and retrieve its own chunk."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import cast

import polars as pl

from qa_pipeline import records
from qa_pipeline.errors import ModelError
from qa_pipeline.generation.answer_quality import unclear_words
from qa_pipeline.generation.requests import (
    QuestionsRequest,
    is_quoted,
    passed_over,
    plan_requests,
    questions_prompt,
    quotable,
    standalone_request,
)
from qa_pipeline.llm.base import LanguageModel, Reply, complete_all, maker, makers
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.table_schema import KeptQuestionRow, QuestionRow, typed_rows
from qa_pipeline.storage.tables import QUESTIONS
from qa_pipeline.text.language import QUOTED, in_other_language
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.text.words import fold

Retrieve = Callable[[Sequence[str], Sequence[str]], list[list[tuple[str, float]]]]
"""(questions, languages) -> chunk ids and scores for each question, best first."""

MAX_QUESTION = 500
"""Maximum characters of a question. People do not ask longer questions."""
NOT_WRITTEN, LANGUAGE_NOT_HANDLED = "not_written", "language_not_handled"
NOT_STANDALONE = "not_standalone"
OVER_LIMIT, NOT_OFFERED = "over_limit", "not_offered"
"""Reasons of a usable chunk without a planned question: a limit of the settings was reached, or no type of
`generation.mix` suits the chunk, such as two-hop types without a link to another chunk."""
_ROUND = 1  # once the round of asking; kept in ids, which must not change since decisions refer to them
_MEDIUM = 3  # results per target; a question that finds its targets among them is of medium difficulty


def write_questions(
    chunks: pl.DataFrame,
    model: LanguageModel,
    retrieve: Retrieve,
    settings: GenerationSettings,
    llm: LLMSettings,
    *,
    batch: str,
    links: pl.DataFrame | None = None,
    previous: pl.DataFrame | None = None,
    notify: records.ProgressCallback = records.no_progress,
) -> pl.DataFrame:
    """Ask for the planned questions, and keep questions that are self-contained and retrieve their chunk.

    Questions of `previous` are kept while their chunks exist, even if the batch has grown: they are paid for.
    If a retrieved chunk other than these is gone, the search is repeated. Failed requests are asked again. A
    trial of a few chunks (`max_chunks`) ignores `previous`: it asks the same as a first run of all chunks,
    which can reuse its replies. Without `links` questions of several hops are not asked. Every planned
    question has a row, written or not. Raises a PermanentModelError if the model cannot answer more requests.
    """
    if settings.max_chunks is not None:  # questions of an earlier run would change the plan
        previous = None
    existing = still_valid(previous, chunks, settings, llm, makers(model.name))
    requests = plan_requests(chunks, existing, settings, llm, batch=batch, links=links)
    replies = complete_all(model, requests, workers=llm.workers, notify=notify)
    planned = [
        row
        for request, reply in zip(requests, replies, strict=True)
        for row in _planned_rows(request, reply, model.name)
    ]
    # the calls below that return nothing change the rows in place: wording, then passages, then status
    _make_standalone(planned, requests, model, llm)
    order = {chunk_id: number for number, chunk_id in enumerate(chunks["chunk_id"])}
    # an existing question is searched for again if a retrieved chunk is gone (its target chunks exist)
    to_search = [row for row in existing if set(row["passage_ids"]) - order.keys()] + planned
    _retrieve_passages(to_search, dict(chunks.select("chunk_id", "title").iter_rows()), retrieve)
    # a question about two chunks counts for its first chunk, under which it was planned
    asked_ids = {row["target_chunk_ids"][0] for row in existing + planned}
    new = planned + _skipped_rows(chunks, asked_ids, settings, llm, batch, model.name)
    for row in new:  # `place` is the number of a question in its request, null for a skipped chunk
        parts = [row["batch"], *row["target_chunk_ids"], row["question"], _ROUND, row["place"]]
        row["question_id"] = hash_parts(*parts, row["prompt_hash"], row["model"])[:32]
    rows = sorted(existing + new, key=lambda row: (order[row["target_chunk_ids"][0]], row["place"] or 0))
    _decide(rows, must_find_chunks=settings.require_round_trip)
    return QUESTIONS.frame(rows)


def still_valid(
    previous: pl.DataFrame | None,
    chunks: pl.DataFrame,
    settings: GenerationSettings,
    llm: LLMSettings,
    models: Collection[str],
) -> list[QuestionRow]:
    """Return earlier rows whose chunks, prompt and model (one of `models`) are unchanged.

    All questions of a request are kept or dropped together, since they came from a single reply.
    """
    if previous is None:
        return []
    left_out, hashes = passed_over(chunks), _prompt_hashes(chunks, settings, llm)
    languages = dict(chunks.select("chunk_id", "language").iter_rows())
    # rows of skipped chunks have no planned type
    planned = previous.filter(pl.col("model").is_in(models), pl.col("planned_type").is_not_null())
    rows = list(typed_rows(planned, QuestionRow))
    changed = set[tuple[str, ...]]()  # requests to repeat; the chunks of a request identify it
    for row in rows:
        chunk_ids = row["target_chunk_ids"]  # the request was planned under the first, in its language
        has_chunks = languages.keys() >= set(chunk_ids)
        has_prompt = has_chunks and row["prompt_hash"] == hashes[languages[chunk_ids[0]]]
        if row["status"] == "failed" or not has_prompt or chunk_ids[0] in left_out:
            changed.add(tuple(chunk_ids))
    return [row for row in rows if tuple(row["target_chunk_ids"]) not in changed]


def _prompt_hashes(chunks: pl.DataFrame, settings: GenerationSettings, llm: LLMSettings) -> dict[str, str]:
    """Return the hash of the prompt for questions, by language of the chunks."""
    return {code: questions_prompt(code, settings, llm).hash for code in chunks["language"].unique()}


def _planned_rows(
    request: QuestionsRequest,
    reply: Reply[records.QuestionsReply | records.QuotedReply] | ModelError,
    model: str,
) -> list[QuestionRow]:
    """Return a row for each planned question. Drafts fill rows in order; the other rows stay dropped."""
    reason = NOT_WRITTEN if request.language in LANGUAGES else LANGUAGE_NOT_HANDLED
    drafts = [] if isinstance(reply, ModelError) else _drafts(request, reply.value)
    writer = maker(model, reply)
    rows = []
    for position, planned_type in enumerate(request.types):
        row = _unwritten_row(request.passages, request.prompt_hash, request.batch, writer, reason=reason)
        row["place"], row["planned_type"] = position, planned_type  # position in the request
        if isinstance(reply, ModelError):
            _set_outcome(row, "failed", reply.reason, str(reply))
        elif position < len(drafts):
            _write(row, drafts[position], request.passages)
        rows.append(row)
    return rows


def _drafts(
    request: QuestionsRequest, reply: records.QuestionsReply | records.QuotedReply
) -> list[records.DraftQuestion]:
    """Return the questions of a reply, up to the limit, whose type suits the number of passages shown."""
    if isinstance(reply, records.QuestionsReply):
        drafts = reply.questions[: request.limit]
        if len(request.passages) > 1:  # two linked chunks: the planned types need both
            return [draft for draft in drafts if draft.question_type in request.types]
        # a single chunk cannot answer a question of two hops
        return [draft for draft in drafts if draft.question_type not in records.HOP_SCOPES]
    sentences = quotable(request.passages)  # the reply is a question with the number of its sentence
    if not (reply.question.strip() and 1 <= reply.sentence <= len(sentences)):
        return []
    _, answer = sentences[reply.sentence - 1]
    kind = request.types[0]
    draft = records.DraftPair(
        question=reply.question, question_type=kind, answer=answer, quotes=[answer], coverage="full"
    )
    return [draft]


def _write(row: QuestionRow, draft: records.DraftQuestion, passages: Sequence[records.Passage]) -> None:
    """Put a question into its row.

    Its answer is kept if it covers the question and each quote is in a passage. For several hops each passage
    must be quoted. Other answers are doubtful, and are drafted again from the search results.
    """
    row["question"], row["question_type"] = draft.question.strip(), draft.question_type
    if isinstance(draft, records.DraftPair) and draft.coverage == "full" and draft.answer.strip():
        # for each quote, the chunks that contain it
        quoted = [{p.chunk_id for p in passages if is_quoted(quote, p.text)} for quote in draft.quotes]
        if all(quoted) and len(set().union(*quoted)) == len(passages):
            row["drafted_answer"] = draft.answer.strip()
            row["drafted_quotes"] = list(dict.fromkeys(draft.quotes))
    _set_outcome(row, "kept")


def _set_outcome(
    row: QuestionRow | KeptQuestionRow, status: str, reason: str | None = None, detail: str | None = None
) -> None:
    row["status"], row["reason"], row["detail"] = status, reason, detail


def _skipped_rows(
    chunks: pl.DataFrame,
    asked_ids: Collection[str],
    settings: GenerationSettings,
    llm: LLMSettings,
    batch: str,
    model: str,
) -> list[QuestionRow]:
    """Return a row for each chunk without a planned question, with the reason that the plan left it out."""
    left_out, hashes = passed_over(chunks), _prompt_hashes(chunks, settings, llm)
    is_limited = settings.max_questions is not None or settings.max_chunks is not None
    unplanned = OVER_LIMIT if is_limited else NOT_OFFERED
    return [
        _unwritten_row(
            [passage], hashes[passage.language], batch, model, reason=left_out.get(chunk_id, unplanned)
        )
        for chunk_id, passage in records.passages_by_id(chunks).items()
        if chunk_id not in asked_ids
    ]


def _unwritten_row(
    passages: Sequence[records.Passage], prompt_hash: str, batch: str, model: str, *, reason: str
) -> QuestionRow:
    """Return the row of a question that was not written, with the status "dropped"."""
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


def _make_standalone(
    rows: Sequence[QuestionRow], requests: Sequence[QuestionsRequest], model: LanguageModel, llm: LLMSettings
) -> None:
    """Rewrite each question that depends on its passage. An empty reply leaves the question as it is."""
    passages_of = {tuple(p.chunk_id for p in request.passages): request.passages for request in requests}
    unclear = [row for row in _with_question(rows) if unclear_words(row["question"], row["language"])]
    to_ask = [standalone_request(row, passages_of[tuple(row["target_chunk_ids"])], llm) for row in unclear]
    for row, reply in zip(unclear, complete_all(model, to_ask, workers=llm.workers), strict=True):
        if isinstance(reply, ModelError):
            _set_outcome(row, "failed", reply.reason, str(reply))
        elif reply.value.question and reply.value.question.strip():
            row["rewritten_from"], row["question"] = row["question"], reply.value.question.strip()


def _with_question(rows: Iterable[QuestionRow]) -> list[KeptQuestionRow]:
    """Return the rows whose question was written."""
    return cast("list[KeptQuestionRow]", [row for row in rows if row["question"] is not None])


def _retrieve_passages(rows: Sequence[QuestionRow], title_of: Mapping[str, str], retrieve: Retrieve) -> None:
    """Search for each question, without its quoted document title, and set its passages and difficulty."""
    written = (row for row in _with_question(rows) if row["status"] != "failed")
    answerable = [row for row in written if len(row["question"]) <= MAX_QUESTION]
    queries = [_without_title(row["question"], title_of[row["target_chunk_ids"][0]]) for row in answerable]
    retrieved = retrieve(queries, [row["language"] for row in answerable])
    for row, passages in zip(answerable, retrieved, strict=True):
        targets = row["target_chunk_ids"]
        best_ids = [chunk_id for chunk_id, _ in passages[: _MEDIUM * len(targets)]]
        is_easy = set(targets) == set(best_ids[: len(targets)])  # its targets rank first
        is_medium = set(targets) <= set(best_ids)
        row["difficulty"] = "easy" if is_easy else "medium" if is_medium else "hard"
        with_targets = _with_all_hops(passages, targets)
        row["passage_ids"] = [chunk_id for chunk_id, _ in with_targets]
        row["passage_scores"] = [score for _, score in with_targets]  # type: ignore[misc]  # null: a missing hop


def _without_title(question: str, title: str) -> str:
    # [1:-1]: without quotation marks
    return QUOTED.sub(lambda quoted: "" if quoted[0][1:-1] in title else quoted[0], question)


def _with_all_hops(
    passages: Sequence[tuple[str, float]], targets: Sequence[str]
) -> Sequence[tuple[str, float | None]]:
    """Put missing chunks of a multi-hop question last, if the search finds only some of them.

    Such a question may mention only one of its chunks, which leads to the others.
    """
    retrieved_ids = [chunk_id for chunk_id, _ in passages]
    missing = [target for target in targets if target not in retrieved_ids]
    finds_only_some = 0 < len(missing) < len(targets)
    if not finds_only_some:
        return passages
    others = [chunk_id for chunk_id in retrieved_ids if chunk_id not in targets]
    replaced = others[-len(missing) :]  # the worst results make room
    remaining = [(chunk_id, score) for chunk_id, score in passages if chunk_id not in replaced]
    return [*remaining, *((target, None) for target in missing)]


def _decide(rows: Iterable[QuestionRow], *, must_find_chunks: bool) -> None:
    """Keep or drop each question. An existing question is decided again, as its duplicate may be gone.

    A question that does not find its own chunks would be answered from other chunks, or not at all.
    """
    kept_texts: set[str] = set()
    for row in _with_question(rows):
        if row["status"] == "failed":
            continue  # its rewrite failed, and the next run asks again
        text = fold(row["question"]).casefold()
        finds_its_chunks = set(row["target_chunk_ids"]) <= set(row["passage_ids"])
        reason, detail = _flaw(row["question"], row["language"])
        if reason is None and must_find_chunks and not finds_its_chunks:
            reason = "round_trip_failed"
        elif reason is None and text in kept_texts:
            reason = "repeated_question"
        if reason is None:
            kept_texts.add(text)
        _set_outcome(row, "kept" if reason is None else "dropped", reason, detail)


def _flaw(question: str, language: str) -> tuple[str | None, str | None]:
    """Return reason code and words of a question's flaw, independent of its passage, else nulls."""
    if len(question) > MAX_QUESTION:
        return "question_too_long", f"{len(question)} characters, at most {MAX_QUESTION}"
    if unclear := unclear_words(question, language):
        return NOT_STANDALONE, unclear
    other = in_other_language(question, language)
    return ("language_mismatch", f"in {other}, not in {language}") if other else (None, None)
