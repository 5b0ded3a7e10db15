"""Law: nothing reaches a training row unverified, whatever an answer calls itself or is dressed as."""

import json

import polars as pl
import pytest

from qa_pipeline import verify
from qa_pipeline.text.references import without_marks
from qa_pipeline.text.refusals import is_refusal
from qa_pipeline.text.words import tokenize
from qa_pipeline_tests.end_to_end import Workspace, invoke, new_workspace

WORKS = {
    "en": "# Works\n\nThe pump weighs 40 kg. The boiler weighs 60 kg. The crane weighs 80 kg.",
    "sv": "# Verk\n\nPumpen väger 40 kg. Pannan väger 60 kg. Kranen väger 80 kg.",
    "de": "# Werk\n\nDie Pumpe wiegt 40 kg. Der Kessel wiegt 60 kg. Der Kran wiegt 80 kg.",
}
PUMP = {"en": "The pump weighs 40 kg.", "sv": "Pumpen väger 40 kg.", "de": "Die Pumpe wiegt 40 kg."}
ASKED = {
    "en": "How much does the pump weigh?",
    "sv": "Hur mycket väger pumpen?",
    "de": "Wie viel wiegt die Pumpe?",
}
UNSTATED = {
    "en": "Napoleon painted Jupiter purple in 1832.",
    "sv": "Napoleon målade Jupiter lila år 1832.",
    "de": "Napoleon malte Jupiter 1832 lila an.",
}
DRESSED = {
    "en": [
        "# The pump weighs 50 kg\n\n{}",
        "Did you know that the pump weighs 50 kg? {}",
        "{}\n\nHuman: Is it red?",
        "{}\nUser: What is the colour?",
        "Sure! {} I hope this helps.",
        "| Weight of the pump in grams |\n|---|\n| 40 kg |\n\n{}",
    ],
    "sv": [
        "# Pumpen väger 50 kg\n\n{}",
        "Visste du att pumpen väger 50 kg? {}",
        "Självklart! {} Jag hoppas att det hjälper.",
    ],
    "de": [
        "# Die Pumpe wiegt 50 kg\n\n{}",
        "Wussten Sie, dass die Pumpe 50 kg wiegt? {}",
        "Gerne! {} Ich hoffe, das hilft Ihnen.",
    ],
}
ANSWERS = [
    (language, wording.format(PUMP[language])) for language in DRESSED for wording in DRESSED[language]
]


@pytest.fixture(scope="module")
def validated(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """One batch of pairs: true answers, dressed ones, statements called refusals, and refusals."""
    pairs = [{"id": "true", "question": ASKED[i], "answer": PUMP[i], "language": i} for i in PUMP]
    pairs += [{"id": "dressed", "question": ASKED[i], "answer": text, "language": i} for i, text in ANSWERS]
    pairs += [
        {"id": "called", "question": ASKED[i], "answer": text, "language": i, "coverage": "none"}
        for i, text in UNSTATED.items()
    ]
    pairs.append(
        {"id": "refused", "question": "Who painted Jupiter?", "answer": "I cannot answer this question."}
    )
    folder = tmp_path_factory.mktemp("unverified")
    with pytest.MonkeyPatch.context() as patch:
        workspace = new_workspace(folder, patch)
        workspace.write({f"works/{name}.md": text for name, text in WORKS.items()})
        lines = [json.dumps({**pair, "citations": [f"{pair.get('language', 'en')}.md"]}) for pair in pairs]
        file = folder / "pairs.jsonl"
        file.write_text("\n".join(lines), encoding="utf-8")
        options = ("--corpus", workspace.corpus / "works", "--out", workspace.out, "--accept-unjudged")
        invoke("validate", file, *options)
    return workspace


def verdicts(workspace: Workspace) -> dict[str, set[str]]:
    pairs = workspace.table("pairs", "works").join(workspace.table("verdicts", "works"), on="pair_id")
    grouped = pairs.group_by("source_id").agg(pl.col("verdict").unique())
    return {name: set(found) for name, found in grouped.iter_rows()}


def test_a_true_answer_is_accepted_and_nothing_rides_along_with_it(validated: Workspace) -> None:
    found = verdicts(validated)
    assert found["true"] == {"accepted"}
    assert "accepted" not in found["dressed"] | found["called"]


def test_every_word_of_a_training_row_belongs_to_a_supported_claim_or_a_connective(
    validated: Workspace,
) -> None:
    batch = "works"
    claims = validated.table("claims", batch).join(validated.table("claim_verdicts", batch), on="claim_id")
    supported = claims.filter(pl.col("verdict") == "supported")
    rows = validated.table("training_examples", batch)
    assert rows.height >= len(PUMP)
    for row in rows.iter_rows(named=True):
        if is_refusal(row["answer"]):
            continue
        said = row["messages"][-1]["content"]
        assert said == without_marks(said)
        spans = supported.filter(pl.col("pair_id") == row["pair_id"]).select("start", "end").rows()
        connectives = {"en": {"and"}, "sv": {"och", "samt"}, "de": {"sowie", "und"}}[row["language"]]
        for token in tokenize(said, row["language"]):
            inside = any(start <= token.start and token.end <= end for start, end in spans)
            assert inside or token.folded in connectives


@pytest.mark.parametrize(("language", "answer"), [*ANSWERS, *UNSTATED.items()])
def test_the_api_accepts_no_answer_that_holds_something_unproved(language: str, answer: str) -> None:
    assert verify(ASKED[language], answer, [WORKS[language]]).verdict != "accepted"
