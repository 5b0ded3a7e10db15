"""What an accepted row costs in calls and tokens, by stage, with the scripted server or one of your own.

    python -m qa_pipeline_tests.benchmarks.quality.measure_price [CORPUS] [--server URL --model NAME] [--show]
        [--set PATH=VALUE ...]

Each batch of the corpus (default data/corpora), without its files of pairs, runs from end to end. Every role
is asked of the loopback server, which makes its replies from the prompts alone and counts a token for every
four characters; or of the server of chat completions at --server. Beside the stages stand the outcomes of
calls, questions and rows, and the steps that verified the accepted ones, so that a price can be compared at
equal checks.

Prints one JSON line; with --show also each accepted row, whose truth is for a person to judge.
"""

import os
import shutil
import tempfile
from argparse import Namespace
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import polars as pl

from qa_pipeline.cli.options import read_changes
from qa_pipeline.defs.running import run_batches
from qa_pipeline.documents.corpus.files import PAIRS_FILES
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import CLAIM_VERDICTS, LLM_CALLS, PAIRS, QUESTIONS, VERDICTS
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.server_process import serving


def measure(options: Namespace) -> dict[str, object]:
    """Run all batches of a corpus and return calls and tokens, in all and by stage."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        base_url = options.server
        if base_url is None:
            server = stack.enter_context(serving())
            os.environ["OPENAI_API_KEY"], base_url = server.key, f"{server.url}/v1"
        asked = {"llm.provider": "openai", "llm.model": options.model, "llm.base_url": base_url}
        documents = folder / "corpus"
        shutil.copytree(options.corpus, documents, ignore=shutil.ignore_patterns(*PAIRS_FILES))
        settings = load_settings(
            corpus=str(documents), out=folder / "out", **read_changes(options.set, asked, "corpus", "out")
        )
        resources = Resources(settings)
        batches = sorted(path.name for path in documents.iterdir() if path.is_dir())
        outcomes = run_batches(resources, batches)

        def rows(table: Table) -> pl.DataFrame:
            return pl.concat(
                read_table(resources.layout.table(table.name, batch), table) for batch in batches
            )

        calls, questions, pairs = rows(LLM_CALLS), rows(QUESTIONS), rows(PAIRS)
        verdicts = rows(VERDICTS).filter(pl.col("expected_verdict").is_null())
        accepted = pairs.join(verdicts.filter(pl.col("verdict") == "accepted"), on="pair_id", how="semi")
        steps = rows(CLAIM_VERDICTS).join(accepted, on="pair_id", how="semi")["decided_by"]
    if options.show:
        for row in accepted.select("question", "answer").iter_rows(named=True):
            print_json(row)
    kept_questions = questions.filter(pl.col("status") == "kept").height
    by_stage = {
        str(role): {"calls": stage.height, "tokens": tokens_of(stage)}
        for (role,), stage in calls.sort("role").group_by("role", maintain_order=True)
    }
    return {
        "calls": {"all": calls.height, **counted(calls["outcome"])},
        "questions": counted(questions["status"] + ":" + questions["reason"].fill_null("")),
        "pairs": {**counted(verdicts["verdict"]), **counted(verdicts["reason"])},
        "claims_of_accepted_rows": counted(steps),
        "tokens": tokens_of(calls),
        "tokens_per_kept_question": round(tokens_of(calls) / max(1, kept_questions)),
        "tokens_per_accepted_row": round(tokens_of(calls) / max(1, accepted.height)),
        "stages": by_stage,
        "failures": [f"{outcome.batch}: {outcome.error}" for outcome in outcomes if outcome.error],
    }


def counted(values: pl.Series) -> dict[str, int]:
    """Return how often each value occurs, in the order of their names."""
    return dict(sorted(Counter(values.drop_nulls()).items()))


def tokens_of(calls: pl.DataFrame) -> int:
    """Return the tokens of calls, read and written."""
    return sum(int(calls[name].sum()) for name in ("input_tokens", "output_tokens"))


def main() -> None:
    """Measure one corpus."""
    parser = parser_of(__doc__)
    parser.add_argument("corpus", nargs="?", default="data/corpora")
    parser.add_argument("--server", help="address of chat completions, such as http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    print_json(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
