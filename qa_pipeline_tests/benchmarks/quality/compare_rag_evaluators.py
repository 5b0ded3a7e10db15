"""The same rows and the same model replies through our metrics, Ragas and DeepEval: how far values differ.

    python -m qa_pipeline_tests.benchmarks.quality.compare_rag_evaluators WORK --python INTERPRETER
        [--rows 60]

INTERPRETER is that of an environment of its own with `ragas==0.2.15`, `langchain-community<0.4` and
`deepeval==4.3.1`: what they pin cannot be installed beside this project. Rows and verdicts are drawn from a
seed; each system asks in its own words and gets the reply that says the same. Statements are those of the
row; some the local steps of verification decide before anybody is asked, in agreement with the reply.
"""

import argparse
import asyncio
import json
import math
import os
import random
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
NAMES = ("Ann", "Bo", "Cilla", "David", "Eva", "Fredrik", "Greta", "Hans")
PLACES = ("the mill", "the bakery", "the harbour", "the library", "the bridge")
COMPARED = {
    ("faithfulness", "ragas"): "equal",
    (
        "faithfulness",
        "deepeval",
    ): "equal where there are statements; an answer without any is 1 there, unknown here",
    ("context_precision_ranked", "ragas"): "equal; the divisor there is 1e-10 larger",
    ("context_precision_ranked", "deepeval"): "equal",
    ("context_recall", "ragas"): "equal",
    ("context_recall", "deepeval"): "equal",
    ("answer_relevance", "ragas"): "equal",
    (
        "hallucination",
        "deepeval",
    ): "1 - ours since DeepEval 4 (share of contexts not contradicted); a refusal is unknown here",
}
"""What is compared, and what is to be expected."""


def main() -> None:
    """Draw rows, have all three measure them, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--python", type=Path, help="interpreter with ragas and deepeval")
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument(
        "--theirs", action="store_true", help="measure WORK/rows.json by them, in this process"
    )
    given = parser.parse_args()
    if given.theirs:
        rows = json.loads((given.work / "rows.json").read_text(encoding="utf-8"))
        found = {"ragas": _ragas(rows), "deepeval": _deepeval(rows)}
        (given.work / "theirs.json").write_text(json.dumps(found), encoding="utf-8")
        return
    given.work.mkdir(parents=True, exist_ok=True)
    rows = list(_rows(given.rows))
    ours = _ours(rows)
    (given.work / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    quiet = {
        "RAGAS_DO_NOT_TRACK": "true",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "DEEPEVAL_DISABLE_DOTENV": "1",
        "PATH": os.environ["PATH"],
        "HOME": str(given.work),
    }
    command = [str(given.python), str(Path(__file__).resolve()), str(given.work.resolve()), "--theirs"]
    subprocess.run(command, check=True, env=quiet, cwd=given.work)
    theirs = json.loads((given.work / "theirs.json").read_text(encoding="utf-8"))
    _print(ours, theirs)


def _print(ours: dict[str, list[float | None]], theirs: dict[str, dict[str, list[float | None]]]) -> None:
    print("| metric | system | rows | unknown in both | unknown in one | largest difference | expected |")
    print("|---|---|---|---|---|---|---|")
    for (metric, system), expected in COMPARED.items():
        pairs = list(zip(ours[metric], theirs[system][metric], strict=True))
        known = [(one, two) for one, two in pairs if one is not None and two is not None]
        flip = system == "deepeval" and metric == "hallucination"
        worst = max(abs(one - (1 - two if flip else two)) for one, two in known)
        neither = sum(one is None and two is None for one, two in pairs)
        single = len(pairs) - len(known) - neither
        print(f"| {metric} | {system} | {len(pairs)} | {neither} | {single} | {worst:.1e} | {expected} |")


def _rows(count: int) -> Iterator[Row]:
    """Answers of statements that contexts state, word by word or otherwise, or do not speak of."""
    draw = random.Random(0)
    for number in range(count):
        facts = [
            (
                f"{name} painted {place} in {1800 + number}.",
                f"In {1800 + number} {place} was painted by {name}.",
            )
            for name, place in zip(draw.sample(NAMES, 4), draw.sample(PLACES, 4), strict=True)
        ]
        foreign = [
            f"Number {number} of the {place[4:]} has {one} windows." for one, place in enumerate(PLACES, 2)
        ]
        contexts = [fact[0] for fact in facts[: draw.randint(1, 4)]]
        chosen = [
            (draw.choice(facts[at]), 1) if draw.random() < 0.6 else (foreign[at], 0)
            for at in range(min(len(contexts), draw.randint(1, 4)))
        ]
        refuses = number % 20 == 7
        statements = [] if refuses else chosen
        truths = [(fact[0], int(fact[0] in contexts)) for fact in facts[: draw.randint(1, 4)]]
        truths += [(foreign[-1], 0)] if draw.random() < 0.5 else []
        query = f"Who painted what in {1800 + number}?"
        questions = [
            f"{word} painted in {1800 + number}?" for word in draw.sample(["Who", "What was", *NAMES], 3)
        ]
        yield {
            "query": query,
            "answer": "I do not know." if refuses else " ".join(text for text, _ in statements),
            "contexts": contexts,
            "reference": " ".join(text for text, _ in truths),
            "statements": statements,
            "truths": truths,
            "useful": [draw.choice([0, 1]) if number % 6 else number // 6 % 2 for _ in contexts],
            "contradicted": [draw.choice([0, 1]) for _ in contexts],
            "questions": questions,
            "noncommittal": int(refuses or draw.random() < 0.1),
        }


def _ours(rows: list[Row]) -> dict[str, list[float | None]]:
    """Our values; the vectors of questions are put into the rows."""
    from qa_pipeline.evaluation.metrics.registry import chosen_metrics
    from qa_pipeline.evaluation.running import evaluate
    from qa_pipeline.llm.base import Request
    from qa_pipeline.records import BackQuestionsReply, ContextReply, RelevanceReply, ReplyModel
    from qa_pipeline_tests.evaluation.metrics.frames import context, means_at, rows_of
    from qa_pipeline_tests.fakes import HashEmbedder
    from qa_pipeline_tests.support.scripted import ScriptedModel
    from qa_pipeline_tests.verdict_replies import deciding

    said = {text: verdict for row in rows for text, verdict in (*row["statements"], *row["truths"])}
    by_query = {row["query"]: row for row in rows}
    by_answer = {row["answer"]: row for row in rows}
    verify = deciding(lambda claim: "accept" if said.get(claim) else "reject")

    def reply(request: Request[Any]) -> ReplyModel:
        if request.reply_model is BackQuestionsReply:
            row = by_answer[request.answer or ""]
            return BackQuestionsReply(noncommittal=bool(row["noncommittal"]), questions=row["questions"])
        if request.reply_model not in (ContextReply, RelevanceReply):
            return verify(request)
        row = by_query[request.question or ""]
        place = row["contexts"].index(request.passages[0].text)
        if request.reply_model is ContextReply:
            word = "yes" if row["contradicted"][place] else "no"
            return ContextReply.model_validate({"reasoning": "", "contradicts": word})
        return RelevanceReply(reasoning="", relevant=[1] if row["useful"][place] else [])

    embedder = HashEmbedder()
    for row in rows:
        texts = [row["query"], *row["questions"]]
        row["vectors"] = dict(zip(texts, embedder.encode(texts).astype(float).tolist(), strict=True))
    frame = rows_of(
        *(
            {
                **{name: row[name] for name in ("query", "answer", "reference")},
                "contexts": [context(text) for text in row["contexts"]],
                "true_claims": [{"claim": text, "source": None} for text, _ in row["truths"]],
            }
            for row in rows
        )
    )
    names = list(dict.fromkeys(metric for metric, _ in COMPARED))
    with tempfile.TemporaryDirectory() as folder:
        model = ScriptedModel(reply)
        means = means_at(Path(folder), verifier=model, judge=model)
        signals, values = evaluate(frame, chosen_metrics(names), means)
    decided = signals["statements"].explode().struct.field("decided_by").drop_nulls().value_counts(sort=True)
    print("statements decided by", dict(decided.iter_rows()), "\n")
    return {name: values[name].to_list() for name in names}


def _ragas_replies(row: Row) -> dict[str, list[Row]]:
    """What each metric of Ragas is told, in order."""
    verdicts = [{"statement": text, "reason": "", "verdict": one} for text, one in row["statements"]]
    held = [{"statement": text, "reason": "", "attributed": one} for text, one in row["truths"]]
    asked = [{"question": one, "noncommittal": row["noncommittal"]} for one in row["questions"]]
    return {
        "faithfulness": [
            {"statements": [text for text, _ in row["statements"]]},
            {"statements": verdicts},
        ],
        "context_precision_ranked": [{"reason": "", "verdict": one} for one in row["useful"]],
        "context_recall": [{"classifications": held}],
        "answer_relevance": asked,
    }


def _ragas_models() -> tuple[Any, Any]:
    """A language model that gives the replies it is made with, and an embedding model of known vectors."""
    from langchain_core.outputs import Generation, LLMResult
    from ragas.embeddings.base import BaseRagasEmbeddings
    from ragas.llms.base import BaseRagasLLM

    class Canned(BaseRagasLLM):  # type: ignore[misc]
        """Gives the replies of one row to one metric, in order."""

        def __init__(self, replies: list[Row]) -> None:
            super().__init__()
            self.replies = iter(replies)

        def generate_text(self, *_: Any, **__: Any) -> Any:
            return LLMResult(generations=[[Generation(text=json.dumps(next(self.replies)))]])

        async def agenerate_text(self, *_: Any, **__: Any) -> Any:
            return self.generate_text()

        def is_finished(self, response: Any) -> bool:
            return bool(response)

    class Stored(BaseRagasEmbeddings):  # type: ignore[misc]
        """The vectors that we used."""

        def __init__(self, vectors: dict[str, list[float]]) -> None:
            super().__init__()
            self.vectors = vectors

        def embed_query(self, text: str) -> list[float]:
            return self.vectors[text]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.vectors[text] for text in texts]

        aembed_query = aembed_documents = None

    return Canned, Stored


def _ragas(rows: list[Row]) -> dict[str, list[float | None]]:
    """What Ragas makes of the rows."""
    from ragas.dataset_schema import SingleTurnSample
    from ragas.metrics import (
        Faithfulness,
        LLMContextPrecisionWithReference,
        LLMContextRecall,
        ResponseRelevancy,
    )

    canned, stored = _ragas_models()
    metrics = {
        "faithfulness": Faithfulness,
        "context_precision_ranked": LLMContextPrecisionWithReference,
        "context_recall": LLMContextRecall,
        "answer_relevance": ResponseRelevancy,
    }
    found: dict[str, list[float | None]] = {name: [] for name in metrics}
    for row in rows:
        sample = SingleTurnSample(
            user_input=row["query"],
            response=row["answer"],
            retrieved_contexts=row["contexts"],
            reference=row["reference"],
        )
        for name, kind in metrics.items():
            metric = kind(llm=canned(_ragas_replies(row)[name]))
            if name == "answer_relevance":
                metric.embeddings = stored(row["vectors"])
            value = float(asyncio.run(metric.single_turn_ascore(sample)))
            found[name].append(_known(value))
    return found


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _deepeval(rows: list[Row]) -> dict[str, list[float | None]]:
    """What DeepEval makes of the rows."""
    warnings.simplefilter("ignore", DeprecationWarning)
    from deepeval.metrics import (
        ContextualPrecisionMetric,
        ContextualRecallMetric,
        FaithfulnessMetric,
        HallucinationMetric,
    )
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase

    class Canned(DeepEvalBaseLLM):  # type: ignore[misc]
        """Gives the verdicts of one row, whatever it is asked in."""

        def __init__(self, verdicts: list[int], claims: list[str]) -> None:
            self.verdicts, self.claims = verdicts, claims
            super().__init__("canned")

        def load_model(self) -> Any:
            return self

        def generate(self, prompt: str, schema: Any = None) -> Any:
            del prompt
            if "truths" in schema.model_fields:
                return schema(truths=["A truth."])
            if "claims" in schema.model_fields:
                return schema(claims=self.claims)
            return schema.model_validate(
                {
                    "verdicts": [
                        {"verdict": "yes" if one else "no", "reason": "", "expected_output": ""}
                        for one in self.verdicts
                    ]
                }
            )

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            return self.generate(prompt, schema)

        def get_model_name(self) -> str:
            return "canned"

    metrics: dict[str, tuple[Any, Callable[[Row], list[int]]]] = {
        "faithfulness": (FaithfulnessMetric, lambda row: [one for _, one in row["statements"]]),
        "context_precision_ranked": (ContextualPrecisionMetric, lambda row: row["useful"]),
        "context_recall": (ContextualRecallMetric, lambda row: [one for _, one in row["truths"]]),
        "hallucination": (HallucinationMetric, lambda row: [1 - one for one in row["contradicted"]]),
    }
    found: dict[str, list[float | None]] = {name: [] for name in metrics}
    for row in rows:
        case = LLMTestCase(
            input=row["query"],
            actual_output=row["answer"],
            expected_output=row["reference"],
            retrieval_context=row["contexts"],
            context=row["contexts"],
        )
        for name, (kind, verdicts) in metrics.items():
            model = Canned(verdicts(row), [text for text, _ in row["statements"]])
            metric = kind(model=model, include_reason=False, async_mode=False)
            found[name].append(float(metric.measure(case, _show_indicator=False)))
    return found


if __name__ == "__main__":
    main()
