"""Triples of a knowledge graph: what a model reads from a chunk, accepted only where its words prove it.

Nothing of the pipeline rests on them. A triple is accepted if its quote stands in the chunk and its subject
and object stand in the quote, the subject else in the title or headings above; others stay, with a reason.
"""

from collections.abc import Iterator

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.prompts.loading import load_prompt, render_passages
from qa_pipeline.records import (
    DraftTriple,
    Passage,
    ProgressCallback,
    TriplesReply,
    no_progress,
    passages_by_id,
)
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.text.injection import hold_injections, redact_injections
from qa_pipeline.verification.citations import locate_quote

TRIPLES = pl.Schema(
    {
        "batch": pl.String(),
        "document_id": pl.String(),
        "chunk_id": pl.String(),
        "subject": pl.String(),
        "predicate": pl.String(),
        "object": pl.String(),
        "quote": pl.String(),
        "start": pl.Int64(),
        "end": pl.Int64(),
        "status": pl.String(),
        "reason": pl.String(),
        "detail": pl.String(),
        "model": pl.String(),
    }
)
"""A triple, or a chunk whose reply failed. `quote` is the document's own text from `start` to `end` where the
status is accepted; what is rejected has the words of the reply and no place. Reasons: quote_not_found,
subject_not_in_quote, object_not_in_quote, empty_field, repeated; of a chunk injection, or an error's."""
_VERBATIM = ("exact", "spelling")


def write_triples(
    chunks: pl.DataFrame, model: LanguageModel, llm: LLMSettings, notify: ProgressCallback = no_progress
) -> pl.DataFrame:
    """Return the triples of each chunk (`TRIPLES`), in the order of chunks and replies.

    Args:
        chunks: CHUNKS frame.
        model: who is asked, once for each chunk.
        llm: workers and seed.
        notify: called with the number of chunks asked.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    passages = passages_by_id(chunks)
    rows = chunks.select("batch", "document_id", "chunk_id", "char_start").rows(named=True)
    requests = [triples_request(passages[row["chunk_id"]], llm, row["batch"]) for row in rows]
    replies = complete_all(model, requests, workers=llm.workers, notify=notify)
    triples: list[dict[str, object]] = []
    for row, reply in zip(rows, replies, strict=True):
        passage = passages[row["chunk_id"]]
        place = {name: row[name] for name in ("batch", "document_id", "chunk_id")}
        if isinstance(reply, ModelError):
            triples.append({**place, "status": "failed", "reason": reply.reason, "detail": str(reply)})
        elif hold_injections([passage]):
            triples.append({**place, "status": "failed", "reason": "injection", "model": reply.model})
        else:
            checked = _checked(reply.value.triples, passage, row["char_start"])
            triples += ({**place, **triple, "model": reply.model} for triple in checked)
    return pl.DataFrame(triples, schema=TRIPLES)


def triples_request(passage: Passage, llm: LLMSettings, batch: str) -> Request[TriplesReply]:
    """Return the request that asks which triples a passage states."""
    prompt = load_prompt(passage.language, "triples", llm)
    return Request(
        role="evaluate",
        system=prompt.system,
        prompt=prompt.fill(passages=render_passages([redact_injections(passage)])),
        reply_model=TriplesReply,
        temperature=0.0,
        seed=llm.seed,
        language=passage.language,
        passages=(passage,),
        batch=batch,
        prompt_hash=prompt.hash,
    )


def _checked(drafts: list[DraftTriple], passage: Passage, offset: int) -> Iterator[dict[str, object]]:
    """Yield each triple with its place in the document, or the reason why it is rejected."""
    seen: set[tuple[str, ...]] = set()
    for draft in drafts:
        fields = {name: " ".join(value.split()) for name, value in draft.model_dump().items()}
        key = tuple(_folded(fields[name]) for name in ("subject", "predicate", "object"))
        located = locate_quote(draft.quote, passage.text, language=passage.language)
        quote = passage.text[located.start : located.end] if located else ""
        above = " ".join((passage.title, *passage.section_path))
        if not all(fields.values()):
            reason = "empty_field"
        elif located is None or located.kind not in _VERBATIM:
            reason = "quote_not_found"
        elif key[0] not in _folded(quote) and key[0] not in _folded(above):
            reason = "subject_not_in_quote"
        elif key[2] not in _folded(quote):
            reason = "object_not_in_quote"
        elif key in seen:
            reason = "repeated"
        else:
            seen.add(key)
            span = {"start": offset + located.start, "end": offset + located.end}
            yield {**fields, "quote": quote, **span, "status": "accepted"}
            continue
        yield {**fields, "status": "rejected", "reason": reason}


def _folded(text: str) -> str:
    """Return a text with a space around each word, so that no word is looked for inside another."""
    words = "".join(sign if sign.isalnum() else " " for sign in text.casefold()).split()
    return f" {' '.join(words)} "
