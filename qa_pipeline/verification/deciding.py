"""Decide claims by their stored scores with pure rules over frames. The first rule that applies decides.

Citations come first, then verbatim proof or a denial in one slot (a token such as a number), then fitted
thresholds of entailment. Rules skip a missing score. Deciding again with other thresholds needs no model.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import polars as pl
import polars.selectors as cs

from qa_pipeline.errors import TableError
from qa_pipeline.records import Passage
from qa_pipeline.settings.verification import Thresholds, VerificationSettings
from qa_pipeline.storage.tables import CLAIM_VERDICTS, CLAIMS
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.text.references import FOUND_BY_SEARCH, Located, locate_quote
from qa_pipeline.verification.splitting import TOO_MANY

QUOTATION = "quotation"
"""The step that compares a claim verbatim with the units of its sources."""
SIMILARITY_ONLY = (
    "Claims decided by similarity_only are not proved: over real documents this policy accepted 29.6 % of "
    "900 sentences with one thing changed and 22.3 % of 900 as they are."
)
"""The message to users of the policy. Its figures come from `quality.measure_canaries`."""
_MOST_EXAMPLES = 3  # maximum differences listed in a detail, which is a single table cell
UNDECIDED_WITHOUT_MODEL = "undecided_without_model"
REPLIES = pl.Schema(
    {
        "claim_id": pl.String(),
        "decision": pl.String(),
        "reason": pl.String(),
        "detail": pl.String(),
        "quotes": CLAIM_VERDICTS.schema["llm_quotes"],
        "model": pl.String(),
        "prompt_hash": pl.String(),
    }
)
"""Replies of a verifying model. `decision` is accept, reject, unsure, or null if the model failed.

`reason` explains a failure, or a decision that is not trusted."""
Rule = tuple[pl.Expr, pl.Expr]
"""A condition and the outcome of matching rows, a struct of verdict, decided_by, reason and detail."""


def _outcome(
    verdict: str, decided_by: str, reason: str | pl.Expr | None, detail: pl.Expr | None = None
) -> pl.Expr:
    """Return an outcome: a struct of verdict, decided_by, reason and detail."""
    return pl.struct(
        verdict=pl.lit(verdict),
        decided_by=pl.lit(decided_by),
        reason=reason if isinstance(reason, pl.Expr) else pl.lit(reason, pl.String()),
        detail=pl.lit(None, pl.String()) if detail is None else detail,
    )


def _first_of(rules: Sequence[Rule], otherwise: pl.Expr) -> pl.Expr:
    """Return the outcome of the first rule that a row meets."""
    for condition, outcome in reversed(rules):
        otherwise = pl.when(condition).then(outcome).otherwise(otherwise)
    return otherwise


def _citation_rules() -> list[Rule]:
    """Return the rules about citations: a condition, then verdict, deciding step, reason and detail."""
    status, reason = pl.col("citation_status"), pl.col("citation_reason")
    unresolved = status == "unresolved"
    return [
        (pl.col("split_reason") == TOO_MANY, _outcome("failed", "no_step", TOO_MANY)),
        (unresolved & (reason == "cited_document_without_text"), _outcome("failed", "citation", reason)),
        (unresolved & (reason == "ambiguous_citation"), _outcome("undecided", "citation", reason)),
        (unresolved, _outcome("unsupported", "citation", reason)),
        (status.is_in(["quote_not_found", "uncited"]), _outcome("unsupported", "citation", status)),
    ]


def _cascade_rules(thresholds: Thresholds, detail: pl.Expr) -> list[Rule]:
    """Return the rules in order: citations, evidence, quotation, entailment. `detail` lists the doubts."""
    lacks_evidence, denied = pl.col("evidence_quote").is_null(), pl.col("denied")
    is_searched = pl.col("citation_status") == FOUND_BY_SEARCH
    reason = denied.list.first().str.extract(r"^(\w+): ")  # "code: difference"
    return [
        *_citation_rules(),
        (is_searched & lacks_evidence, _outcome("undecided", "similarity", "no_evidence_found", detail)),
        (lacks_evidence, _outcome("failed", "no_step", "no_evidence_text")),
        (pl.col("proved_by").is_not_null(), _outcome("supported", QUOTATION, None)),
        (denied.list.len() > 0, _outcome("contradicted", QUOTATION, reason, denied.list.join("; "))),
        *_entailment_rules(thresholds),
    ]


def _decision(settings: VerificationSettings, thresholds: Thresholds) -> pl.Expr:
    """Return a struct of verdict, decided_by, reason and detail, "undecided" if no rule applies."""
    if settings.policy == "cascade":
        detail = pl.col("unproved").list.head(_MOST_EXAMPLES).list.join("; ")
        rules = _cascade_rules(thresholds, detail)
    else:  # the mean over the pair's claims of their best cosine to a chunk of the cited documents
        mean = pl.col("similarity").mean().over("pair_id")
        detail = pl.format("mean similarity of the pair {}", mean.round(3))
        step = "similarity_only"
        rules = [
            *_citation_rules(),
            (pl.col("similarity").is_null(), _outcome("failed", "no_step", "no_evidence_text")),
            (mean >= settings.similarity_pass, _outcome("supported", step, None, detail)),
            (mean < settings.similarity_fail, _outcome("unsupported", step, "dissimilar", detail)),
        ]
    return _first_of(rules, _outcome("undecided", "no_step", UNDECIDED_WITHOUT_MODEL, detail))


SideName = Literal["accept", "reject", "contradict"]
"""A side of a band: a score from (or for rejection up to) its threshold decides a claim."""
CONTRADICTION_GUARD = 0.5
"""Contradiction score from which entailment neither accepts nor rejects. No contradiction threshold is below
it, so that each threshold can be fitted separately."""


def side_scores() -> dict[SideName, pl.Expr]:
    """Return the score that each side of a band compares with its threshold.

    Entailment does not count beside a contradiction score from `CONTRADICTION_GUARD`. It does not accept a
    claim whose numbers or identifiers the evidence lacks (`scope_differs`), as it hardly depends on these.
    """
    entailment, contradiction = pl.col("entailment"), pl.col("contradiction")
    uncontradicted = pl.when(contradiction.fill_null(0.0) < CONTRADICTION_GUARD).then(entailment)
    with_all_figures = pl.when(~pl.col("scope_differs")).then(uncontradicted)
    return {"contradict": contradiction, "accept": with_all_figures, "reject": uncontradicted}


def _entailment_rules(thresholds: Thresholds) -> list[Rule]:
    """Return the rules of the fitted thresholds. They apply only to scores of their own model."""
    # null for scores of other models; a comparison with null, or without a threshold, never applies
    scores = {side: pl.when(_of_model(thresholds)).then(score) for side, score in side_scores().items()}
    detail = pl.format("entailment {}", pl.col("entailment").round(3))
    contradiction = pl.format("contradiction {}", pl.col("contradiction").round(3))
    contradicted = _outcome("contradicted", "entailment", "entailment_contradiction", contradiction)
    band = thresholds.band
    limits = (pl.lit(limit, pl.Float64()) for limit in (band.accept, band.reject, band.contradict))
    accept_from, reject_to, contradict_from = limits
    return [
        (scores["contradict"] >= contradict_from, contradicted),
        (scores["accept"] >= accept_from, _outcome("supported", "entailment", None, detail)),
        (scores["reject"] <= reject_to, _outcome("unsupported", "entailment", "not_entailed", detail)),
    ]


def scores_of_other_models(claims: pl.DataFrame, thresholds: Thresholds) -> int:
    """Count the entailment scores of models that the thresholds were not fitted for. They are ignored."""
    if not thresholds.band.decides:
        return 0
    return claims.filter(pl.col("entailment").is_not_null() & ~_of_model(thresholds)).height


def _of_model(thresholds: Thresholds) -> pl.Expr:
    """Return True for scores of the model that the thresholds were fitted for."""
    fitted_for = pl.lit(thresholds.model, pl.String())
    return (pl.col("entailment_model") == fitted_for).fill_null(value=False)


def decide_claims(
    claims: pl.DataFrame,
    pairs: pl.DataFrame | None,
    settings: VerificationSettings,
    replies: pl.DataFrame | None = None,
    thresholds: Thresholds | None = None,
) -> pl.DataFrame:
    """Decide every claim from its stored scores, without models, batch files or Dagster.

    Claims that remain open are left to a model. Doubtful evidence never accepts a claim. A score that is null
    or NaN is ignored. With `pairs` only their claims are decided. `replies` (`REPLIES`) are a model's replies
    about borderline claims. The default thresholds are `settings.fitted`.

    Raises:
        TableError: the frame lacks columns.
        SettingsError: the thresholds cannot be read.
    """
    if missing := [name for name in CLAIMS.schema if name not in claims.columns]:
        raise TableError(f"claims cannot be decided without the columns {', '.join(missing)}")
    if pairs is not None:
        claims = claims.join(pairs.select("pair_id"), on="pair_id", how="semi", maintain_order="left")
    scored = claims.with_columns(cs.float().fill_nan(None))
    thresholds = thresholds or settings.fitted
    local = scored.with_columns(outcome=_decision(settings, thresholds)).unnest("outcome")
    decided = _with_replies(local, pl.DataFrame(schema=REPLIES) if replies is None else replies)
    # a claim accepted by evidence that may be misread is left to a person
    doubtful = (pl.col("verdict") == "supported") & pl.col("evidence_doubt").is_not_null()
    detail = pl.format("the reader is not sure of its text: {}", "evidence_doubt")
    changes = {"verdict": pl.lit("undecided"), "reason": pl.lit("evidence_in_doubt"), "detail": detail}
    stored = decided.with_columns(
        *(pl.when(doubtful).then(value).otherwise(name).alias(name) for name, value in changes.items()),
        thresholds_id=pl.lit(settings.thresholds_id_of(thresholds)),
    )
    return CLAIM_VERDICTS.conform(stored.select(CLAIM_VERDICTS.schema.names()))


def borderline(claims: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the claims that the local steps left to a model, in stored order."""
    open_ids = verdicts.filter(verdict="undecided", reason=UNDECIDED_WITHOUT_MODEL)
    return claims.join(open_ids.select("claim_id"), on="claim_id", how="semi", maintain_order="left")


def _with_replies(decided: pl.DataFrame, replies: pl.DataFrame) -> pl.DataFrame:
    """Replace the verdict of each open claim with the model's reply about it (a row of `REPLIES`), if any."""
    # the local verdicts have columns of the same names
    names = {"reason": "reply_reason", "detail": "reply_detail", "quotes": "llm_quotes"}
    joined = decided.join(replies.rename(names), on="claim_id", how="left", maintain_order="left")
    is_open = (pl.col("reason") == UNDECIDED_WITHOUT_MODEL).fill_null(value=False)
    decision, problem, detail = pl.col("decision"), pl.col("reply_reason"), pl.col("reply_detail")
    local_outcome = pl.struct("verdict", "decided_by", "reason", "detail")
    is_distrusted = (decision == "accept") & problem.is_not_null()  # such as a quote that is not found
    rules = [
        (~is_open, local_outcome),
        (is_distrusted, _outcome("undecided", "llm", problem, detail)),  # left to a person
        (decision == "accept", _outcome("supported", "llm", None, detail)),
        (decision == "reject", _outcome("unsupported", "llm", "llm_rejected", detail)),
        (decision == "unsure", _outcome("unsupported", "llm", "llm_unsure", detail)),
        (problem.is_not_null(), _outcome("failed", "llm", problem, detail)),  # without a decision
    ]
    with_outcome = joined.with_columns(
        pl.when(is_open).then(pl.col("model", "prompt_hash", "llm_quotes")),
        llm_decision=pl.when(is_open).then(pl.coalesce(decision, problem)),  # or why it is missing
        merged=_first_of(rules, local_outcome),  # a claim without a reply stays open
    )
    return with_outcome.drop("verdict", "decided_by", "reason", "detail").unnest("merged")


def missing_figures(claim: Reading, texts: Iterable[Reading]) -> list[str]:
    """Return the numbers, date parts and identifiers of a claim that are missing from the texts."""
    figures = frozenset[str]().union(*(text.figures for text in texts))
    return sorted(claim.figures - figures)


def find_quote(quote: str, passages: Sequence[Passage]) -> tuple[Passage, Located] | None:
    """Find a quote in the passages verbatim, except for runs of white space."""
    for passage in passages:
        span = locate_quote(quote, passage.text)
        if span is not None and span.kind == "exact":
            return passage, span
    return None


def unfounded(
    claim: Reading, question: Reading, quotes: Sequence[str], passages: Sequence[Passage]
) -> tuple[str, str] | None:
    """Return the reason code and detail why an accept is not credible, if any.

    A number or identifier may also be in the question or in the headings of the quoted passages. A negation
    must be in a quote.
    """
    if not any(quote.strip() for quote in quotes):
        return "no_quote", "the reply accepts the claim and quotes nothing"
    language = claim.language
    texts: list[Reading] = []  # the quotes as in the passages
    headings: list[Reading] = []
    for quote in quotes:
        match = find_quote(quote, passages)
        if match is None:
            return "quote_not_found", f"not in the passages: {quote[:200]}"
        passage, span = match
        texts.append(read(passage.text[span.start : span.end], language))
        headings += (read(heading, language) for heading in (passage.title, *passage.section_path))
    missing = missing_figures(claim, [*texts, *headings, question])
    if missing:
        return "quote_lacks_figure", f"not in the quotes: {', '.join(missing)}"
    denying = lexicon(language).proof.denying
    if claim.negations and not any(text.negations or text.contains_any(denying) for text in texts):
        return "quote_lacks_negation", "the claim denies something and its quotes deny nothing"
    return None
