"""Verify and evaluate answers, and generate questions, from Python without a workspace.

Slow modules are imported inside the functions that use them.
"""

import functools
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import polars as pl

from qa_pipeline.curation import training
from qa_pipeline.curation.ledger import in_words, support_level
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation import labelled_files, running
from qa_pipeline.evaluation.answered_questions import RagRow, read_rag_rows
from qa_pipeline.evaluation.metrics.base import Setup, Undecided
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.llm.factory import Function, FunctionModel
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.llm import HOSTED
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline.storage import row_files, tables
from qa_pipeline.storage.parquet import read_earlier
from qa_pipeline.text.refusals import is_refusal
from qa_pipeline.verification import verify as verification
from qa_pipeline.verification.outcomes import ground_pairs
from qa_pipeline.verification.refusals import judge_refusals

AnyModel = str | Function | LanguageModel
"""A name (`gemini/NAME` or `openai/NAME`), a function from prompt to reply, or a model of this package."""
BATCH = "documents"
_VERDICTS = {
    "grounded": "accepted",
    "rejected": "rejected",
    "undecided": "needs_review",
    "failed": "failed",
    "no_claims": "failed",
    "correct_refusal": "accepted",
    "refused_answerable": "rejected",
    "unproved_refusal": "needs_review",
}
"""The ledger's verdict for each outcome of source verification, for pairs without a judge."""


def language_model(model: AnyModel | None) -> LanguageModel | None:
    """Return the language model for a name, function or model; None stays None.

    Raises `InputError` for another kind of argument or a verifier that is switched off, `SettingsError` for
    invalid settings, and `KeyRejectedError` without an API key.
    """
    if model is None or hasattr(model, "complete"):
        return model  # type: ignore[return-value]
    if callable(model):
        return FunctionModel(model)
    provider, _, name = model.partition("/") if isinstance(model, str) else ("", "", "")
    if provider not in HOSTED or not name:
        raise InputError(
            f"model is {model!r}; give PROVIDER/NAME with one of {', '.join(HOSTED)}, a function from prompt "
            "to reply, or None"
        )
    # settings below `llm.verifier` take precedence over the name
    verifier = Resources(load_settings(llm={"provider": provider, "model": name})).reviewer("verifier")
    if verifier is None:
        raise InputError(f"model {model!r}: the settings switch the verifier off; set llm.verifier.provider")
    return verifier


@dataclass(frozen=True, slots=True)
class Evidence:
    """The passage that a claim was compared with.

    `context` is the 0-based index of a context; `start` and `end` are character offsets in it.
    """

    context: int
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A checkable statement of an answer, `answer[start:end]`.

    `verdict` is supported, contradicted, unsupported, undecided or failed. `decided_by` is the step that
    decided, such as quotation (word for word) or llm. `differences` explain why the contexts do not prove it.
    """

    text: str
    start: int
    end: int
    verdict: str
    decided_by: str
    reason: str | None
    detail: str | None
    differences: tuple[str, ...]
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying an answer.

    `verdict` is accepted, rejected, needs_review or failed. An answer is accepted if every claim is
    supported, or if a refusal is right. It needs review while a claim or refusal is undecided, and failed
    means that verification did not complete. `grounding` is the share of supported claims, with its 95 %
    interval (Wilson). Both are unset for a refusal, or without claims.
    """

    question: str
    answer: str
    contexts: tuple[str, ...]
    language: str
    verdict: str
    reason: str
    detail: str | None
    grounding: float | None
    grounding_interval: tuple[float, float] | None
    support_level: str | None
    claims: tuple[Claim, ...]

    @property
    def explanation(self) -> str:
        """Return the verdict and its reason as a sentence."""
        return f"{self.verdict.replace('_', ' ')}: {in_words(self.reason, self.detail)}"


def verify(
    question: str,
    answer: str,
    contexts: Sequence[str | Mapping[str, Any]],
    *,
    language: str | None = None,
    model: AnyModel | None = None,
) -> Verification:
    """Verify an answer against the passages it should be based on.

    Rules accept claims that the passages state and reject those they contradict. A model, if given, is asked
    about the other claims, which otherwise stay undecided. Embedding similarity never accepts a claim.

    Args:
        question: the question; a sentence that answers another question is not accepted.
        answer: the answer's sentences; source marks such as [1] are removed.
        contexts: texts, or mappings with `text` and optional `headings` (the title first).
        language: en, sv or de; detected by default.
        model: decides the claims that the rules leave open. It is a name such as
            "gemini/gemini-3-flash-preview" or "openai/NAME", a function from prompt to reply, or a language
            model of this package.

    Raises:
        InputError: question, answer or contexts are missing, empty or of the wrong type.
        SettingsError: the model's name is invalid.
        ModelError: the model cannot answer any request.
    """
    values = {"query": question, "answer": answer, "contexts": contexts, "language": language}
    row = labelled_files.check(values, RagRow)
    if isinstance(row, row_files.Fault):
        raise InputError(row.detail)
    if not (row["answer"] or "").strip():
        raise InputError("answer is missing or empty; give the text to verify")
    passages = row["contexts"] or ()
    texts = tuple(context["text"] or "" for context in passages)
    if not any(text.strip() for text in texts):
        raise InputError("contexts are missing or empty; give the passages that should support the answer")
    headings = tuple(tuple(context["headings"] or ()) for context in passages)
    # contexts without headings and plain texts give equal statements
    known_headings = headings if any(headings) else ()
    statement = verification.Statement(row["answer"], texts, row["language"], row["query"], known_headings)
    return _verified(statement, language_model(model))


@functools.cache
def _settings() -> Settings:
    return running.with_claims_split_by_rules(Settings())


def _verified(statement: verification.Statement, model: LanguageModel | None) -> Verification:
    """Verify an answer as the only pair of a batch: a refusal as a whole, another answer by its claims."""
    settings = _settings()
    pairs = verification.statement_pairs([statement])
    is_refused = is_refusal(statement.text)
    if is_refused:
        pairs = pairs.with_columns(coverage=pl.lit("none"))
        verified = verification.Verified(tables.CLAIMS.empty(), tables.CLAIM_VERDICTS.empty())
    else:
        models = verification.VerificationModels(settings.verification, verifier=model, llm=settings.llm)
        verified = verification.verify([statement], models)
    accept_grounding = settings.verification.accept_grounding
    grounded = ground_pairs(pairs, verified.claims, verified.verdicts, accept_grounding=accept_grounding)
    pair = grounded.with_columns(support_level()).row(0, named=True)
    # a refusal has the outcome "refusal", and without claims no reason, detail or grounding
    outcome = _refusal_outcome(statement, pairs, settings) if is_refused else pair["outcome"]
    is_proved = outcome == "grounded"
    interval = (pair["grounding_low"], pair["grounding_high"])
    return Verification(
        question=statement.question,
        answer=statement.text,
        contexts=statement.passages,
        language=statement.language,
        verdict=_VERDICTS[outcome],
        reason="passed" if is_proved else pair["reason"] or outcome,
        detail=None if is_proved else pair["detail"],
        grounding=pair["grounding"],
        grounding_interval=None if pair["grounding"] is None else interval,
        support_level=pair["support_level"],
        claims=tuple(map(_claim, verified.claims_with_verdicts().iter_rows(named=True))),
    )


def _refusal_outcome(statement: verification.Statement, pairs: pl.DataFrame, settings: Settings) -> str:
    """Return the outcome of a refusal, such as refused_answerable if its contexts answer the question."""
    rows = [
        {"chunk_id": str(index), "section_path": [], "text": text, "language": statement.language}
        for index, text in enumerate(statement.passages)
    ]
    chunks = pl.DataFrame(rows, schema_overrides={"section_path": tables.STRINGS})
    outcomes = judge_refusals(pairs, chunks, load_embedder(settings.embedding))["outcome"]
    return str(outcomes.item())


def _claim(row: labelled_files.Row) -> Claim:
    context, *span = (row[f"evidence_{name}"] for name in ("passage", "start", "end", "quote"))
    evidence = None if context is None else Evidence(context, *span)
    names = ("text", "start", "end", "verdict", "decided_by", "reason", "detail")
    fields = {name: row[name] for name in names}
    return Claim(**fields, differences=tuple(row["unproved"] or ()), evidence=evidence)


@dataclass(frozen=True)
class Report:
    """An evaluation, as `eval run` writes it.

    `document` is the content of report.json, `scores` of rows.parquet and `statements` of statements.parquet.
    `left_out` lists rows that could not be read: file, reason, rows, first_row and detail.
    """

    document: dict[str, Any]
    scores: pl.DataFrame
    statements: pl.DataFrame
    left_out: pl.DataFrame

    @property
    def summary(self) -> pl.DataFrame:
        """Return a row per metric: mean, 95 % interval, numbers of known and unknown rows, and direction."""
        names = ("mean", "low", "high", "known", "unknown", "direction")
        return pl.DataFrame(
            [
                {"metric": name, **{column: metric[column] for column in names}}
                for name, metric in self.document["metrics"].items()
            ],
            schema_overrides=dict.fromkeys(("mean", "low", "high"), pl.Float64()),
        )


def evaluate(
    data: str | Path | Sequence[str | Path] | pl.DataFrame | Iterable[Mapping[str, Any]],
    *,
    metrics: Sequence[str] | Literal["all"] | None = None,
    model: AnyModel | None = None,
    undecided: Undecided = "similarity",
    name: str | None = None,
) -> Report:
    """Evaluate answered questions.

    Args:
        data: rows, as a Polars frame or mappings, or the path of a file, a folder or a release, or a list of
            paths. docs/evaluation.md lists the fields.
        metrics: names of metrics; by default the eight of the summary.
        model: decides and judges where the local steps cannot; see `verify`.
        undecided: how to score undecided statements: by similarity to the contexts, or as unknown.
        name: name of the data set in the report; by default from the file names, or "data".

    Raises:
        InputError: the data has only unusable rows, or a metric is unknown.
        ModelError: the model cannot answer any further request.
    """
    from qa_pipeline.evaluation import report, report_folder
    from qa_pipeline.evaluation.metrics import registry

    names: Iterable[str] = registry.METRICS if metrics == "all" else metrics or registry.SUMMARY
    chosen = registry.chosen_metrics([*names])
    decider = language_model(model)
    labelled = _read_rows(data)
    rows = labelled.items
    with TemporaryDirectory() as work:
        folder = Path(work)
        resources = Resources(running.with_claims_split_by_rules(load_settings(out=folder)))
        setup = Setup(resources, verifier=decider, judge=decider, undecided=undecided)
        counts = running.evaluate_into(folder, rows, chosen, setup)
        model_name = None if decider is None else decider.name
        settings = {"model": model_name, "undecided": undecided, "split_claims": "rules"}
        about = report.About(
            report.dataset_name(rows, name), report_folder.dataset_sha256(rows), labelled.left_out, settings
        )
        document = report_folder.write_report(folder, chosen, counts, about)
        scores = pl.read_parquet(folder / "rows.parquet")
        statements = pl.read_parquet(folder / "statements.parquet")
    return Report(document, scores, statements, labelled.left_out)


def _read_rows(data: Any) -> labelled_files.Labelled:
    """Return the rows of files, of a frame or of mappings; see `evaluate`."""
    if isinstance(data, str | Path):
        data = [data]
    has_items = isinstance(data, list | tuple) and len(data) > 0
    if has_items and all(isinstance(path, str | Path) for path in data):
        return read_rag_rows([Path(path) for path in data])
    rows: Iterable[Any] = data.iter_rows(named=True) if isinstance(data, pl.DataFrame) else data
    file_rows = (row_files.FileRow(number, row) for number, row in enumerate(rows, start=1))
    return labelled_files.usable_rows(file_rows, RagRow, Path("data"))  # shown as the name of the file


def generate(documents: Path | str | Sequence[str], *, model: AnyModel | None = None) -> pl.DataFrame:
    """Generate questions and answers about documents, then verify and judge them as a run does.

    Args:
        documents: the path of a file or folder, or a list of texts (Markdown or plain).
        model: writes, verifies and judges; by default the offline rules, which do not judge. A function's
            replies are not stored; replies of named models are, as by `qa-pipeline run`.

    Returns:
        A row per pair, accepted pairs first, with question, answer, language, question_type, verdict, reason
        and detail. `evidence` is as in the table training_examples. Rows without a verdict follow; their
        reason and detail explain why a part of a document yielded no pair.

    Raises:
        InputError: a document does not exist, or every document is unreadable.
        ModelError: the model cannot answer any further request.
    """
    from qa_pipeline.defs.running import run_batches

    with TemporaryDirectory() as work:
        corpus, out = Path(work) / "corpus", Path(work) / "out"
        _gather(documents, corpus / BATCH)
        resources = Resources(load_settings(corpus=str(corpus), out=out), model=language_model(model))
        (outcome,) = run_batches(resources, [BATCH])
        needed = ("documents", "pairs", "claims", "claim_verdicts", "verdicts", "questions")
        stored = {
            name: read_earlier(resources.layout.table(name, BATCH), tables.TABLES[name]) for name in needed
        }
    frames = {name: frame for name, frame in stored.items() if frame is not None}
    is_complete = len(frames) == len(needed)  # a failed run lacks tables
    documents_read = frames.get("documents", tables.DOCUMENTS.empty())
    if not is_complete or "parsed" not in documents_read["status"]:
        unread = "; ".join(documents_read["detail"].drop_nulls())
        problem = outcome.error or unread or ", ".join(outcome.failed_gates)
        raise InputError(f"nothing could be generated: {problem}")
    return pl.concat([_generated_pairs(frames), _dropped_questions(frames["questions"])], how="diagonal")


def _generated_pairs(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the generated pairs of a batch with verdict and evidence, accepted pairs first."""
    proofs = training.find_proofs(frames["claims"], frames["claim_verdicts"], frames["documents"])
    verdicts = frames["verdicts"].select("pair_id", "verdict", "reason", "detail")
    pairs = frames["pairs"].filter(origin="generated")
    return (
        pairs.select("pair_id", "question", "answer", "language", "question_type")
        .join(verdicts, on="pair_id", maintain_order="left")
        .join(training.evidence_lists(proofs), on="pair_id", how="left", maintain_order="left")
        .sort(pl.col("verdict") != "accepted", maintain_order=True)
    )


def _dropped_questions(questions: pl.DataFrame) -> pl.DataFrame:
    """Return the questions that were not kept, a row per chunk, question and reason."""
    reason_in_words = pl.col("reason").map_elements(in_words, pl.String)
    dropped = questions.filter(pl.col("status") != "kept")
    dropped = dropped.with_columns(chunk_id=pl.col("target_chunk_ids").list.first())
    return dropped.unique(["chunk_id", "question", "reason"], maintain_order=True).select(
        "question", "language", "question_type", "reason", detail=pl.coalesce("detail", reason_in_words)
    )


def _gather(documents: Path | str | Sequence[str], folder: Path) -> None:
    """Copy documents, or write texts, into a batch folder."""
    if isinstance(documents, str | Path):
        path = Path(documents)
        if path.is_dir():
            shutil.copytree(path, folder)
        elif path.is_file():
            folder.mkdir(parents=True)
            shutil.copyfile(path, folder / path.name)
        else:
            raise InputError(f"{path} does not exist; name a file or folder, or give a list of texts")
        return
    folder.mkdir(parents=True)
    if not documents or not all(isinstance(text, str) for text in documents):
        raise InputError("documents must be a path or a list of texts")
    for number, text in enumerate(documents, start=1):
        (folder / f"text-{number:06}.md").write_text(text, "utf-8")
