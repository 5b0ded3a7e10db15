"""How near `qa-pipeline estimate` comes to the tokens of a scripted run.

Usage: python -m qa_pipeline_tests.benchmarks.quality.measure_estimate [--hashed] CORPUS [BATCH ...]

Each batch of the corpus is estimated before it runs: cold, in an empty output folder, and warm, after the
batches before it have run there. A scripted model then runs it from end to end; it counts a token for every
four characters, and its replies quote the passages. `--hashed` takes hashed words in place of the embedding
model, which is many times faster and finds fewer questions again.

Prints one JSON line: estimated by actual tokens, for each batch after the first and over all of them.
"""

import math
import re
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.calls import calls_frame
from qa_pipeline.models.base import Embedder
from qa_pipeline.pipeline.estimate import Estimate, estimate_run
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import run_batches
from qa_pipeline.records import CallRecord, PairsReply, Usage
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.tables import LLM_CALLS
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verdict_replies import claims_in, scored_reply

NAME = "openai/scripted"
_SHOWN = re.compile(r"<sentence-(\d+)-\w+>\n(.*?)\n</sentence", re.DOTALL)
_SENTENCE = re.compile(r"[^\s][^\n]*?[.!?](?=\s|$)", re.MULTILINE)


class ScriptedReplies:
    """Quotes the passages, and notes what each call took."""

    name = NAME

    def __init__(self) -> None:
        self.calls: list[CallRecord] = []

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        value = request.reply_model.model_validate(_REPLIES[request.role](request))
        raw = value.model_dump_json()
        usage = Usage(tokens(request.system) + tokens(request.prompt), tokens(raw))
        asked = (request.batch, request.role, NAME, NAME, request.key, time.time())
        record = CallRecord(uuid.uuid4().hex, "measure", *asked, 0.0, 1, "replied", usage=usage)
        self.calls.append(record)
        return Reply(value, raw, NAME, usage, calls=(record,))


def tokens(text: str) -> int:
    """As many servers for tests count."""
    return math.ceil(len(text) / 4)


def _questions(request: Request[Any]) -> dict[str, Any]:
    asked = [
        {"question": f"What is said where it reads “{one[:120]}”?", "question_type": "fact_single"}
        | ({"quotes": [one], "answer": one, "coverage": "full"} if request.reply_model is PairsReply else {})
        for one in _sentences(request)
    ]
    return {"questions": asked[: request.limit]}


def _answer(request: Request[Any]) -> dict[str, Any]:
    wanted = _words(request.question or "")
    found = [
        (n, one) for n in range(1, len(request.passages) + 1) for one in _of(request.passages[n - 1].text)
    ]
    number, best = max(found, key=lambda pair: len(wanted & _words(pair[1])))
    return {
        "coverage": "full",
        "answer": best,
        "used_chunks": [number],
        "citations": [{"passage": number, "quote": best}],
    }


def _split(request: Request[Any]) -> dict[str, Any]:
    sentences = _SHOWN.findall(request.prompt)
    return {"claims": [{"sentence": int(n), "quote": one, "claim": one} for n, one in sentences]}


def _verify(request: Request[Any]) -> dict[str, Any]:
    shown = _words(" ".join(passage.text for passage in request.passages))
    best = max(_sentences(request), key=lambda one: len(_words(one) & shown), default="")
    held = {number: _words(claim) <= shown for number, claim in claims_in(request.prompt)}
    return {
        "verdicts": [
            {
                "claim": number,
                "reasoning": f"All words are there: {there}.",
                "quotes": [best] if there else [],
                "decision": "accept" if there else "reject",
            }
            for number, there in held.items()
        ]
    }


def _judge(request: Request[Any]) -> dict[str, Any]:
    reason = f"The answer of {len(request.answer or '')} characters quotes its passage."
    return scored_reply(0.9, reason, completeness=0.8).model_dump()


_REPLIES = {"questions": _questions, "answer": _answer, "split": _split, "verify": _verify, "judge": _judge}


def _sentences(request: Request[Any]) -> list[str]:
    return [one for passage in request.passages for one in _of(passage.text)]


def _of(text: str) -> list[str]:
    return _SENTENCE.findall(text) or [" ".join(text.split())[:200]]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def settings_for(corpus: str, out: Path) -> Settings:
    """A hosted model in every role."""
    llm = {"provider": "openai", "model": "scripted", "budget": {"max_calls": 10**9}}
    return load_settings(corpus=corpus, out=out, llm=llm, quality={"min_pass_rate": 0.0})


def estimated(settings: Settings, batch: str, embedder: Embedder | None) -> Estimate:
    """An estimate as the command makes it."""
    resources = Resources(settings, embedder=embedder)
    return estimate_run(resources, [batch], now=time.time())


def run(settings: Settings, batch: str, embedder: Embedder | None) -> list[CallRecord]:
    """Run a batch, and note its calls as a run with a store of replies does."""
    model = ScriptedReplies()
    resources = Resources(settings, embedder=embedder, model=model)
    for outcome in run_batches(resources, [batch]):
        if outcome.error and "gate" not in outcome.error:
            sys.exit(f"{batch}: {outcome.error}")
    frame = calls_frame(model.calls, keep_prompts=False)
    write_table(resources.layout.table(LLM_CALLS.name, batch), frame, LLM_CALLS)
    return model.calls


def took(calls: Sequence[CallRecord]) -> int:
    """Tokens of all calls."""
    return sum((call.usage.input_tokens or 0) + (call.usage.output_tokens or 0) for call in calls)


def measure(corpus: str, wanted: list[str], embedder: Embedder | None) -> None:
    """Measure; the first batch only teaches."""
    batches = wanted or sorted(path.name for path in Path(corpus).iterdir() if path.is_dir())
    sums = {"actual": 0, "cold": 0, "warm": 0}
    by_batch = {}
    with tempfile.TemporaryDirectory() as folder:
        warm = settings_for(corpus, Path(folder) / "warm")
        run(warm, batches[0], embedder)
        for batch in batches[1:]:
            cold = settings_for(corpus, Path(folder) / "cold" / batch)
            guessed = {
                "cold": estimated(cold, batch, embedder).total.tokens,
                "warm": estimated(warm, batch, embedder).total.tokens,
            }
            calls = run(warm, batch, embedder)
            actual = took(calls)
            by_batch[batch] = {name: round(tokens / actual, 3) for name, tokens in guessed.items()}
            by_batch[batch]["calls"] = len(calls)
            sums = {"actual": sums["actual"] + actual, **{k: sums[k] + guessed[k] for k in guessed}}
    together = {name: round(sums[name] / sums["actual"], 3) for name in sums if name != "actual"}
    print_json({"estimated_by_actual": together, "actual_tokens": sums["actual"], "batches": by_batch})


def main() -> None:
    """Measure the batches of a corpus."""
    parser = parser_of(__doc__)
    parser.add_argument("corpus")
    parser.add_argument("batches", nargs="*")
    parser.add_argument("--hashed", action="store_true", help="hashed words in place of the embedding model")
    options = parser.parse_args()
    measure(options.corpus, options.batches, HashEmbedder() if options.hashed else None)


if __name__ == "__main__":
    main()
