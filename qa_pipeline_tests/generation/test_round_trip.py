from typing import Any

import polars as pl
import pytest

from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.generation.round_trip import make_round_trips
from qa_pipeline.llm.base import Request
from qa_pipeline.records import AnswerReply, CompareReply, Comparison
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline_tests.curation import rows
from qa_pipeline_tests.curation.test_ledger import settle
from qa_pipeline_tests.support.scripted import ScriptedModel

QUOTE = "The library opens at nine."
ANSWER = "It opens at nine."
FRAMES = {
    "pairs": rows.pairs(
        rows.pair("p", question="When does it open?", answer=ANSWER, passage_ids=["x", "c", "d", "e"]),
        rows.pair("i", origin="imported"),
        rows.pair("r", coverage="none"),
    ),
    "claims": rows.claims(rows.claim("p", evidence_quote=QUOTE), rows.claim("i")),
    "claim_verdicts": rows.claim_verdicts(
        rows.claim_verdict("p", "supported"), rows.claim_verdict("i", "supported")
    ),
}
CHUNKS = rows.chunks(
    rows.chunk("c", f"{QUOTE} It closes at five."),
    rows.chunk("d", f"Hours: {QUOTE}"),
    rows.chunk("e", "The library closes at five."),
    rows.chunk("x", "The museum opens at ten."),
)


def trips(
    model: ScriptedModel | None = None, frames: dict[str, pl.DataFrame] = FRAMES, *, only_hops: bool = False
) -> pl.DataFrame:
    return make_round_trips(
        frames["pairs"],
        frames["claims"],
        frames["claim_verdicts"],
        CHUNKS,
        accept_grounding=1.0,
        only_hops=only_hops,
        model=model,
        llm=LLMSettings(),
    )


class Plays:
    """Solves and compares as told, and remembers what it was shown."""

    def __init__(self, solved: str | None, *agreement: str) -> None:
        self.solved, self.agreement = solved, agreement

    def __call__(self, request: Request[Any]) -> AnswerReply | CompareReply:
        if request.role == "solve":
            coverage = "none" if self.solved is None else "full"
            return AnswerReply(coverage=coverage, answer=self.solved or "-", used_chunks=[], citations=[])
        found = enumerate(self.agreement, start=1)
        return CompareReply(comparisons=[Comparison(answer=n, reasoning="", agreement=a) for n, a in found])


def test_only_generated_answers_that_are_proved_are_questioned_again_and_none_without_a_model() -> None:
    found = trips()
    assert found.select("pair_id", "status", "agrees", "model").rows() == [("p", "not_asked", None, None)]


def test_what_rules_proved_is_not_solved_again() -> None:
    proved = FRAMES["claim_verdicts"].with_columns(decided_by=pl.lit("quotation"))
    model = ScriptedModel(Plays(None))
    found = trips(model, {**FRAMES, "claim_verdicts": proved})
    assert not model.asked
    assert found.select("status", "agrees").row(0) == ("checked", None)


def test_the_solver_sees_the_quotes_alone() -> None:
    model = ScriptedModel(Plays(ANSWER))
    trips(model)
    (solve,) = model.asked
    assert (QUOTE in solve.prompt, "closes at five" in solve.prompt) == (True, False)


@pytest.mark.parametrize(
    ("solved", "agreement", "outcome"),
    [
        (ANSWER, (), True),
        ("it opens at nine", (), True),
        (None, (), False),
        ("At nine in the morning.", ("same",), True),
        ("At ten.", ("different",), False),
        ("At nine.", ("unsure",), None),
        ("At nine.", (), None),
    ],
)
def test_what_is_said_in_other_words_is_compared_and_what_nobody_knows_is_null(
    solved: str | None, agreement: tuple[str, ...], outcome: bool | None
) -> None:
    model = ScriptedModel(Plays(solved, *agreement))
    found = trips(model)
    assert found["agrees"].to_list() == [outcome]
    assert found["status"].to_list() == ["checked"]
    assert [request.role for request in model.asked].count("compare") <= 1


@pytest.mark.parametrize("role", ["solve", "compare"])
def test_a_reply_that_cannot_be_read_is_a_failure_with_its_reason(role: str) -> None:
    plays = Plays("At nine.", "same")
    error = UnreadableReplyError("not_json", "x")
    found = trips(ScriptedModel(lambda request: error if request.role == role else plays(request)))
    assert found.select("status", "reason", "agrees").row(0)[:2] == ("failed", "not_json")


@pytest.mark.parametrize(
    ("plays", "verdict", "reason"),
    [
        (Plays(ANSWER), "accepted", "passed"),
        (Plays("At ten.", "different"), "needs_review", "solver_disagrees"),
        (Plays("At nine.", "unsure"), "accepted", "passed"),
    ],
)
def test_a_pair_that_the_solver_does_not_confirm_waits_for_a_person(
    plays: Plays, verdict: str, reason: str
) -> None:
    judged, found = rows.assessments(rows.assessment("p")), trips(ScriptedModel(plays))
    frames = {**FRAMES, "assessments": judged, "refusals": rows.refusals(), "round_trips": found}
    decided = settle(frames).filter(pl.col("pair_id") == "p")
    assert decided.select("verdict", "reason").row(0) == (verdict, reason)


HOP_FRAMES = {
    "pairs": rows.pairs(
        rows.pair("p", question_type="multi_hop", hops=2, answer=ANSWER, passage_ids=["c", "x"]),
        rows.pair("q", answer=ANSWER),
    ),
    "claims": rows.claims(
        rows.claim("p", evidence_quote=QUOTE),
        rows.claim("p", 1, evidence_chunk_id="x", evidence_quote="The museum opens at ten."),
        rows.claim("q", evidence_quote=QUOTE),
    ),
    "claim_verdicts": rows.claim_verdicts(
        rows.claim_verdict("p", "supported"), rows.claim_verdict("p", "supported", 1),
        rows.claim_verdict("q", "supported"),
    ),
}  # fmt: skip


class FromOne(Plays):
    """Answers from the passage that holds `needed`, and from nothing else."""

    def __init__(self, needed: str, *agreement: str) -> None:
        super().__init__("The same.", *agreement)
        self.needed = needed

    def __call__(self, request: Request[Any]) -> AnswerReply | CompareReply:
        if request.role == "solve" and len(request.passages) == 1 and self.needed not in request.prompt:
            return AnswerReply(coverage="none", answer="-", used_chunks=[], citations=[])
        return super().__call__(request)


@pytest.mark.parametrize(
    ("plays", "fewer_chunks_answer", "verdict", "reason"),
    [
        (FromOne("nowhere", "same"), False, "accepted", "passed"),
        (FromOne("closes at five", "same", "same"), True, "rejected", "fewer_chunks_answer"),
        (FromOne("closes at five", "same", "different"), False, "accepted", "passed"),
        (FromOne("closes at five", "same", "unsure"), None, "needs_review", "hops_unproved"),
    ],
)
def test_two_hops_are_accepted_only_where_neither_chunk_alone_answers(
    plays: Plays, fewer_chunks_answer: bool | None, verdict: str, reason: str
) -> None:
    model = ScriptedModel(plays)
    found = trips(model, HOP_FRAMES, only_hops=True)
    assert found.select("status", "fewer_chunks_answer").rows() == [
        ("checked", fewer_chunks_answer),
        ("not_asked", None),
    ]
    judged = rows.assessments(rows.assessment("p"), rows.assessment("q"))
    decided = settle({**HOP_FRAMES, "assessments": judged, "refusals": rows.refusals(), "round_trips": found})
    assert decided.select("verdict", "reason").rows() == [(verdict, reason), ("accepted", "passed")]


def test_without_a_model_two_hops_are_unproved_and_a_proof_in_one_chunk_is_none() -> None:
    assert trips(None, HOP_FRAMES)["fewer_chunks_answer"].to_list() == [None, None]
    in_one = rows.claims(rows.claim("p", evidence_quote=QUOTE), rows.claim("p", 1, evidence_quote=QUOTE))
    assert trips(None, {**HOP_FRAMES, "claims": in_one})["fewer_chunks_answer"].to_list() == [True]
