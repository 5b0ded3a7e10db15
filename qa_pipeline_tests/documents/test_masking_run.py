"""A whole run over a batch full of personal data: no table, export, index, store, log or prompt holds any."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.defs.running import run_batches
from qa_pipeline.documents.parsing import parse_in_process
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.generation.extractive import ExtractiveModel
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.factory import CachedModel
from qa_pipeline.llm.reply_store import ReplyStore
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import TABLES
from qa_pipeline_tests.documents.builders import write_files
from qa_pipeline_tests.documents.masking import planted_files as plant
from qa_pipeline_tests.documents.masking.planted import Planted, plain
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verdict_replies import scored_reply

KEY = "a key that is long enough"
DRAW = random.Random(7)
HEADS = {name: plant.one_each(DRAW) for name in ("md", "paths", "described", "pairs", "guide")}
BODY = {
    "md": plant.items(DRAW),
    "txt": [*plant.items(DRAW, one_line=False), *plant.items(DRAW, held_out=True)],
}
OF_KIND = {name: {item.kind: item for item in heads} for name, heads in HEADS.items()}
TITLE, ORIGIN, LICENCE = (OF_KIND["md"][kind] for kind in ("personnummer", "email", "phone"))
NAMED, FOLDER, COPY, FAILED, SKIPPED = (
    OF_KIND["paths"][kind] for kind in ("email", "iban", "personnummer", "card", "secret")
)
SAID, FROM = OF_KIND["described"]["email"], OF_KIND["described"]["personnummer"]
GUIDE = OF_KIND["guide"]
FACTS = """To drain the boiler, open the lower valve and wait 10 minutes.

A residual-current device is a switch that cuts the power when current leaks to earth.

The account of the pump is {} and is closed at night because a cold night costs power."""
SENTENCE = f"The valve of {GUIDE['email'].said} closes at 12 bar and is drained within 10 minutes."
VALVES = f"# Fjell 8 valves\n\n{SENTENCE}\n\n## Safety\n\n{FACTS.format(GUIDE['iban'].said)}\n"
NAMED_PATH = f"{FOLDER.written}/{NAMED.written}.md"


def pair(**more: Any) -> str:
    known = {
        "question": "Which valve closes at 12 bar?",
        "answer": SENTENCE,
        "citations": [f"[source:{NAMED_PATH}]"],
    }
    return json.dumps(known | more, ensure_ascii=False)


IMPORTED = [
    pair(),
    pair(answer=f"{SENTENCE} [source:{NAMED_PATH}]", citations=[]),
    pair(citations=[{"document": NAMED_PATH, "quote": SENTENCE}]),
    *(pair(question=f"Who is {item.said}?", answer=f"It is {item.said}.") for item in HEADS["pairs"]),
    '{"question": "' + OF_KIND["pairs"]["phone"].said + '"}',
    "no JSON " + OF_KIND["pairs"]["iban"].said,
]
FILES: plant.Files = {
    "manual.md": plant.markdown(BODY["md"], TITLE, ORIGIN, LICENCE),
    "notes.txt": plant.text_file(BODY["txt"]),
    NAMED_PATH: VALVES,
    f"copy {COPY.written}.md": VALVES,
    f"empty {FAILED.written}.md": "",
    f"photo {SKIPPED.written}.xyz": "x",
    "batch.yaml": f"licence: granted by {SAID.said}\ndocuments:\n  notes.txt:\n    licence: of {FROM.said}\n"
    f"  {json.dumps(NAMED_PATH)}: {{source_uri: 'https://host.example/{SAID.written}'}}\n",
    "pairs.jsonl": "\n".join(IMPORTED) + "\n",
}
PLANTED = [
    *(item for of_file in BODY.values() for item in of_file),
    *(TITLE, ORIGIN, LICENCE, NAMED, FOLDER, COPY, FAILED, SKIPPED, SAID, FROM),
    *(GUIDE["email"], GUIDE["iban"]),
    *HEADS["pairs"],
]
COUNTS = {
    "manual.md": plant.counted(BODY["md"], [TITLE, ORIGIN, LICENCE]),
    "notes.txt": plant.counted(BODY["txt"]),
}


class Recorded(ExtractiveModel):
    """The offline rules, and a reviewer who repeats what it was shown; remembers every request."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Request[Any]] = []

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        self.asked.append(request)
        if request.role in ("questions", "answer"):
            return await super().complete(request)
        replies: dict[str, dict[str, Any]] = {
            "verify": {
                "verdicts": [{"claim": 1, "quotes": [], "reasoning": request.prompt, "decision": "accept"}]
            },
            "judge": scored_reply(reason=request.prompt).model_dump(),
            "split": {"claims": [{"sentence": 1, "quote": request.prompt, "claim": request.prompt}]},
        }
        said = replies[request.role]
        raw = json.dumps(said, ensure_ascii=False)
        return Reply(value=request.reply_model.model_validate(said), raw=raw, model=self.name)


class Ran:
    """A batch that was run, and everything anybody could read of it afterwards."""

    def __init__(self, folder: Path, action: str) -> None:
        write_files(folder / "corpus" / "boilers", FILES)
        settings = load_settings(
            corpus=folder / "corpus",
            out=folder / "out",
            documents={"masking": {"action": action, "key": KEY}},
            quality={"min_pass_rate": 0.0},
        )
        self.out = folder / "out"
        self.model = Recorded()
        store = ReplyStore(Resources(settings).layout.replies)
        model = CachedModel(self.model, store)
        self.outcome = run_batches(Resources(settings, embedder=HashEmbedder(), model=model), ["boilers"])[0]
        store.close()

    def table(self, name: str) -> pl.DataFrame:
        return read_table(self.out / "tables" / name / "boilers.parquet", TABLES[name])

    def said(self) -> set[str]:
        """Every text in every file, and every text that was shown to a model."""
        files = [path for path in self.out.rglob("*") if path.is_file()]
        assert {path.suffix for path in files} >= {".parquet", ".jsonl", ".faiss", ".sqlite"}
        asked = [
            text for one in self.model.asked for text in plant.lines_of([one.prompt, one.system, repr(one)])
        ]
        return {*(text for path in files for text in plant.texts_of(path)), *map(str, files), *asked}


@pytest.fixture(scope="module", params=["mask", "drop"])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp(request.param), request.param)


def leaks(texts: Iterable[str], planted: Iterable[Planted]) -> set[str]:
    """Items that stand in any of the texts, as they were written or as bare letters and digits."""
    texts = list(texts)
    plainly = "\0".join(map(plain, texts))
    together = "\0".join(texts)
    return {
        f"{item.kind} {item.way}"
        for item in planted
        if item.written in together or plain(item.bare) in plainly
    }


def test_the_batch_is_run_and_every_file_and_pair_is_accounted_for(ran: Ran) -> None:
    assert ran.outcome.passed, ran.outcome
    documents = ran.table("documents")
    assert documents.height == len(FILES) - 2
    counts = dict(documents.group_by("status").len().rows())
    assert counts == {"duplicate": 1, "failed": 1, "parsed": 3, "skipped": 1}
    assert ran.table("pairs").filter(origin="imported").height == len(IMPORTED)
    assert {one.role for one in ran.model.asked} >= {"questions", "answer", "judge"}


def test_no_planted_item_is_in_any_file_or_prompt(ran: Ran) -> None:
    said = ran.said()
    assert leaks(said, PLANTED) == set()
    assert not any(KEY in text for text in said)


def test_what_was_found_is_counted_by_kind(ran: Ran) -> None:
    documents = ran.table("documents").to_dicts()
    found = {row["path"]: {one["kind"]: one["count"] for one in row["masked"]} for row in documents}
    assert {path: found[path] for path in COUNTS} == COUNTS


def test_imported_pairs_still_rest_on_the_document_whose_path_and_text_were_masked(ran: Ran) -> None:
    cited = ran.table("pairs").filter(
        pl.col("question") == "Which valve closes at 12 bar?", origin="imported"
    )
    assert [[one["resolution"] for one in row] for row in cited["citations"]] == [["document"]] * 3
    claims = ran.table("claims").filter(pl.col("pair_id").is_in(cited["pair_id"].to_list()))
    decided = claims.join(ran.table("claim_verdicts"), on="claim_id")
    assert decided["verdict"].to_list() == ["supported"] * 3
    assert claims["proved_by"].is_not_null().all()


def test_nothing_is_logged_or_printed_of_an_item(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(0)
    Ran(tmp_path, "drop")
    printed = capfd.readouterr()
    assert leaks([caplog.text, printed.out, printed.err], PLANTED) == set()


def read(folder: Path, files: plant.Files, action: str, before: pl.DataFrame | None = None) -> pl.DataFrame:
    settings = DocumentSettings.model_validate({"masking": {"action": action, "key": KEY}})
    return read_documents("boilers", write_files(folder, files), settings, parse_in_process, before)
