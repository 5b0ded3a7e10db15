"""Questions of three hops, from linked documents to a verdict."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.generation.multihop import link_chunks
from qa_pipeline.llm.base import Request
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import run_batches
from qa_pipeline.records import (
    AnswerReply,
    CompareReply,
    Comparison,
    DraftCitation,
    DraftPair,
    PairsReply,
    RecallReply,
)
from qa_pipeline.settings.generation import MixSettings
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import STORED
from qa_pipeline_tests.curation import rows
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.support.scripted import ScriptedModel, ScriptedReply
from qa_pipeline_tests.verdict_replies import deciding, scored_reply

CORPUS: dict[str, dict[str, str]] = {
    "en": {
        "Bridges": "The engineer Elsa Lindqvist drew the North Bridge over the harbour.",
        "Engineers": "As a girl, the engineer Elsa Lindqvist was trained at the Varberg Institute.",
        "Schools": "In 1893 a merchant founded the school called Varberg Institute.",
    },
    "sv": {
        "Broar": "Ingenjören Elsa Lindqvist ritade bron över hamnen.",
        "Ingenjörer": "Den unga ingenjören Elsa Lindqvist utbildades vid Varbergs Institut.",
        "Skolor": "År 1893 grundade en köpman skolan Varbergs Institut.",
    },
    "de": {
        "Brücken": "Die Nordbrücke zeichnete damals Elsa Lindqvist.",
        "Frauen": "Das bekannte Varberg Institut besuchte damals Elsa Lindqvist.",
        "Schulen": "Im Jahr 1893 gründete ein Kaufmann das bekannte Varberg Institut.",
    },
}
QUESTIONS = {
    "en": "Who founded the school at which the engineer who drew the North Bridge was trained?",
    "sv": "Vem grundade skolan där ingenjören som ritade bron över hamnen utbildades?",
    "de": "Wer gründete das Institut, das besuchte, wer die Nordbrücke zeichnete?",
}
BRIDGES = {
    "en": ["Elsa Lindqvist", "Varberg Institute"],
    "sv": ["Elsa Lindqvist", "Varbergs Institut"],
    "de": ["Elsa Lindqvist", "Varberg Institut"],
}


def linked(texts: Sequence[str], language: str = "en") -> pl.DataFrame:
    """The chains of chunks, each of a document of its own."""
    made = [
        rows.chunk(
            f"c{n}", text, document_id=f"d{n}", title=f"T{n}", section_path=[f"S{n}"], language=language
        )
        for n, text in enumerate(texts)
    ]
    return link_chunks(rows.chunks(*made)).filter(pl.col("hops") == 3)


@pytest.mark.parametrize("language", CORPUS)
def test_three_documents_that_two_names_join_are_one_chain_in_each_order(language: str) -> None:
    first, middle, last = CORPUS[language].values()
    orders = {(first, middle, last): BRIDGES[language], (last, middle, first): BRIDGES[language][::-1]}
    for texts, bridges in orders.items():
        (chain,) = linked(texts, language).to_dicts()
        ids = [chain[name] for name in ("chunk_id", "through_chunk_id", "other_chunk_id")]
        assert (ids, chain["bridges"], chain["scope"]) == (["c0", "c1", "c2"], bridges, "across")
    (turned,) = linked((middle, last, first), language).to_dicts()
    assert (turned["chunk_id"], turned["through_chunk_id"], turned["other_chunk_id"]) == ("c1", "c0", "c2")


FIRST, MIDDLE, LAST = CORPUS["en"].values()
NOT_CHAINED = {
    "no middle": [FIRST, LAST],
    "a middle that lacks the second name": [FIRST, "Once the engineer Elsa Lindqvist was in Paris.", LAST],
    "a name that a third document has": [FIRST, MIDDLE, LAST, "A street was named after Elsa Lindqvist."],
    "a name that a third document has within another": [
        FIRST,
        MIDDLE,
        LAST,
        "A street is called Professor Elsa Lindqvist Street.",
    ],
    "a name that goes on": [
        "The bridge was paid for by the Missouri Department of Health.",
        "It hired the Missouri Department of Traffic and the Varberg Institute.",
        LAST,
    ],
    "a name that began before": [
        "The bridge stands in South Carolina.",
        "Once the University of South Carolina bought the Varberg Institute.",
        LAST,
    ],
    "one word": [
        "The bridge was drawn by Lindqvist.",
        "As a girl, Lindqvist was at Varberg.",
        "Trains go to Varberg.",
    ],
    "words that are common elsewhere": [
        "This answer is one of the Open Issues.",
        "See the Open Issues and the Rejected Ideas.",
        "They are among the Rejected Ideas.",
        "No open issues and no rejected ideas are left.",
    ],
    "names in two sentences": [FIRST, "We met Elsa Lindqvist. We saw the Varberg Institute.", LAST],
    "ends that share another name": [
        f"{FIRST} It was paid for by the Ekman Fund.",
        MIDDLE,
        f"{LAST} It was paid for by the Ekman Fund.",
    ],
    "a name that is part of the other": [
        "The bridge was drawn by Elsa Lindqvist.",
        "Today Elsa Lindqvist has an Elsa Lindqvist Prize.",
        "Each May someone gets the Elsa Lindqvist Prize.",
    ],
}


@pytest.mark.parametrize("texts", NOT_CHAINED.values(), ids=NOT_CHAINED)
def test_there_is_no_chain_where_a_link_is_missing_common_or_ambiguous(texts: list[str]) -> None:
    assert linked([FIRST, MIDDLE, LAST]).height == 1
    assert linked(texts).is_empty()


class Chainer:
    """Asks about all that it is shown, and answers only where the whole chain is shown.

    Args:
        language: of the corpus.
        quoted: how many of the passages its draft of an answer quotes, the first ones.
        needed: how many of the facts it needs to answer.
    """

    def __init__(self, language: str, quoted: int = 3, needed: int = 3) -> None:
        self.question, self.facts = QUESTIONS[language], list(CORPUS[language].values())
        self.quoted, self.needed = quoted, needed

    def __call__(self, request: Request[Any]) -> ScriptedReply:
        match request.role:
            case "questions":
                return PairsReply(questions=self._pairs(request))
            case "answer" | "solve":
                return self._answer(request)
            case "recall":
                return RecallReply(answer=None)
            case "compare":
                return CompareReply(comparisons=[Comparison(answer=1, reasoning="", agreement="same")])
            case "verify":
                return deciding(lambda claim: "accept" if claim in self.facts else "reject")(request)
            case "judge":
                return scored_reply(0.9)
        raise AssertionError(request.role)

    def _pairs(self, request: Request[Any]) -> list[DraftPair]:
        text = "\n".join(passage.text for passage in request.passages)
        facts = [fact for fact in self.facts if fact in text]
        if len(facts) < 3:
            return []
        pair = DraftPair(
            quotes=facts[: self.quoted],
            question=self.question,
            question_type=request.types[0],
            answer=" ".join(facts[: self.quoted]),
            coverage="full",
        )
        return [pair]

    def _answer(self, request: Request[Any]) -> AnswerReply:
        shown = {
            fact: number
            for number, passage in enumerate(request.passages, start=1)
            for fact in self.facts
            if fact in passage.text
        }
        if len(shown) < self.needed:
            return AnswerReply(citations=[], answer="-", coverage="none")
        used = [fact for fact in self.facts if fact in shown][: self.quoted]
        citations = [DraftCitation(passage=shown[fact], quote=fact) for fact in used]
        return AnswerReply(citations=citations, answer=" ".join(used), coverage="full")


def run_corpus(
    folder: Path, language: str, *, left_out: str = "", max_hops: int = 3, **model: int
) -> tuple[dict[str, pl.DataFrame], ScriptedModel]:
    """Run the documents of a language as a batch; return its tables, and the model with what it was asked."""
    for title, text in CORPUS[language].items():
        file = folder / "corpus" / "coast" / f"{title}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        if title != left_out:
            file.write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
    mix = {**dict.fromkeys(MixSettings().weights, 0.0), "cross_document": 1.0}
    settings = load_settings(
        corpus=folder / "corpus",
        out=folder / "out",
        llm={"provider": "openai", "model": "scripted", "budget": {"max_calls": 100}},
        generation={"mix": mix, "max_hops": max_hops, "questions_per_chunk": 1},
        canaries={"enabled": False},
        quality={"min_pass_rate": 0.0},
    )
    scripted = ScriptedModel(Chainer(language, **model))
    resources = Resources(settings, embedder=HashEmbedder(), model=scripted)
    run_batches(resources, ["coast"])
    names = ("links", "questions", "pairs", "round_trips", "claims", "claim_verdicts", "verdicts")
    return {name: read_table(resources.layout.table(name, "coast"), STORED[name]) for name in names}, scripted


def outcome(tables: dict[str, pl.DataFrame]) -> tuple[str, str]:
    """The verdict of the only pair, which is of three hops, and its reason."""
    assert tables["pairs"]["hops"].to_list() == [3]
    verdict, reason = tables["verdicts"].select("verdict", "reason").row(0)
    return verdict, reason


@pytest.mark.parametrize("language", CORPUS)
def test_a_question_of_three_documents_is_accepted_where_no_two_of_them_answer_it(
    language: str, tmp_path: Path
) -> None:
    tables, model = run_corpus(tmp_path, language)
    (question,) = tables["questions"].filter(pl.col("status") == "kept").to_dicts()
    assert (question["question"], question["question_type"]) == (QUESTIONS[language], "cross_document")
    assert outcome(tables) == ("accepted", "passed")
    assert tables["claims"]["evidence_quote"].to_list() == list(CORPUS[language].values())
    assert set(tables["claims"]["evidence_chunk_id"]) == set(question["target_chunk_ids"])
    assert tables["claim_verdicts"]["verdict"].to_list() == ["supported"] * 3
    assert tables["round_trips"]["fewer_chunks_answer"].to_list() == [False]
    solved = [{passage.text for passage in one.passages} for one in model.asked if one.role == "solve"]
    assert [len(shown) for shown in solved] == [2, 2, 2]
    assert len(set.union(*solved)) == 3
    (request,) = (one for one in model.asked if one.role == "questions" and len(one.passages) == 3)
    assert [name for name in BRIDGES[language] if f"\n{name}\n" in request.prompt] == BRIDGES[language]


@pytest.mark.parametrize("language", CORPUS)
def test_no_question_of_three_hops_is_asked_without_the_middle_document(
    language: str, tmp_path: Path
) -> None:
    tables, model = run_corpus(tmp_path, language, left_out=list(CORPUS[language])[1])
    assert tables["links"].is_empty()
    assert (tables["pairs"].height, model.asked) == (0, [])
    assert set(tables["questions"]["reason"]) == {"not_offered"}


@pytest.mark.parametrize("language", CORPUS)
def test_an_answer_that_cites_two_of_three_passages_is_rejected(language: str, tmp_path: Path) -> None:
    tables, model = run_corpus(tmp_path, language, quoted=2)
    assert tables["questions"]["drafted_answer"].null_count() == tables["questions"].height
    assert [request.role for request in model.asked].count("answer") == 1
    assert outcome(tables) == ("rejected", "passage_not_cited")
    assert tables["pairs"]["detail"].to_list() == ["2 of the 3 passages that it needs"]
    assert "verify" not in {request.role for request in model.asked}


def test_a_question_that_two_of_three_passages_answer_is_rejected(tmp_path: Path) -> None:
    tables, _ = run_corpus(tmp_path, "en", needed=2)
    assert outcome(tables) == ("rejected", "fewer_chunks_answer")


def test_no_chain_is_asked_where_the_settings_allow_two_hops(tmp_path: Path) -> None:
    tables, model = run_corpus(tmp_path, "en", max_hops=2)
    assert sorted(tables["links"]["hops"]) == [2, 2, 3]
    assert [len(request.passages) for request in model.asked] == [2, 2]
    assert tables["pairs"].is_empty()
