"""What becomes of quotes that were damaged on purpose: found, repaired rightly or wrongly, or failed.

    python -m qa_pipeline_tests.benchmarks.quality.measure_quotes --corpus FOLDER [--size 200] [--seed 0]

Of each language and kind of damage sentences are drawn from all folders in FOLDER, damaged and cited by a
pair, which goes through claims and local rules. Where the sentence is found its kind is named, as in `quotes`
of the claims; else in_part, elsewhere (what was made stands in the documents itself), wrong or missing.
`supported` counts pairs that the rules accept; where the damage changes what is said, their answer says so.
"""

import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.documents.reading import read_documents
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.settings.documents import ChunkingSettings, DocumentSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.deciding import decide_claims
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.curation.rows import pair
from qa_pipeline_tests.fakes import HashEmbedder

Drawn = dict[str, Any]  # a sentence (text), the next one (other), and where they are
_CURLY = str.maketrans({'"': "”", "'": "’", "-": "–", "“": '"', "”": '"', "’": "'", "–": "-"})
HARMLESS: dict[str, Callable[[str], str]] = {
    "none": str,
    "case": str.upper,
    "quotes and dashes": lambda text: text.translate(_CURLY),
    "spaces and line breaks": lambda text: text.replace(" ", "  \n"),
    "diacritics dropped": lambda text: re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFD", text)),
    "ellipsis for two words": lambda text: re.sub(r"((?:\S+ ){4})\S+ \S+", r"\1[…]", text, count=1),
    "hyphenated line end": lambda text: re.sub(r" ([a-zäöü]{4})(?=[a-zäöü]{3})", r" \1-\n", text, count=1),
    "letters exchanged": lambda text: re.sub(r"( \w{3})([^\W\d_])(\w)(?=\w{3})", r"\1\3\2", text, count=1),
}
IN_WORDS = ("word missing", "negation missing", "word of elsewhere", "two words exchanged")
CHANGING = ("digit changed", "two halves joined", *IN_WORDS)


def damaged(kind: str, drawn: Drawn, lots: random.Random) -> str:
    """The sentence damaged in one way, or as it is where it has nothing to damage."""
    text, other = str(drawn["text"]), str(drawn["other"])
    if kind in HARMLESS:
        return HARMLESS[kind](text)
    if kind in IN_WORDS:
        return _in_words(kind, drawn, lots)
    if kind == "digit changed":
        return re.sub(r"[0-9](?!.*[0-9])", lambda last: str((int(last[0]) + 3) % 10), text)
    return text[: text.find(" ", len(text) // 2)] + other[other.find(" ", len(other) // 2) :]


def _in_words(kind: str, drawn: Drawn, lots: random.Random) -> str:
    known, parts = lexicon(drawn["language"]), drawn["text"].split()
    places = [n for n in range(1, len(parts) - 1) if parts[n].replace("’", "").replace("'", "").isalpha()]
    if kind == "negation missing":
        places = [n for n in places if parts[n].casefold().replace("’", "'") in known.negations]
    elif kind != "word missing":
        places = [n for n in places if parts[n].casefold() not in known.stop_words]
    one, other = (*lots.sample(places, min(2, len(places))), 0, 0)[:2]
    if kind == "two words exchanged":
        parts[one], parts[other] = parts[other], parts[one]
    elif places:
        parts[one] = lots.choice(drawn["words"]) if kind == "word of elsewhere" else ""
    return " ".join(filter(None, parts))


def sentences_of(chunks: pl.DataFrame, lots: random.Random) -> list[Drawn]:
    """Sentences of 8 to 40 words and of prose, shuffled."""
    found: list[Drawn] = []
    for row in chunks.select("text", "document_id", "chunk_id", "language").iter_rows(named=True):
        texts = [row["text"][start:end] for start, end in split_sentences(row["text"], row["language"])]
        whole = [one for one in texts if 8 <= len(one.split(" ")) <= 40 and not re.search(r"[|`=\n]|  ", one)]
        found += [{**row, "text": one, "other": other} for one, other in pairwise(whole)]
    parts = {part for one in found for part in one["text"].casefold().split() if part.isalpha()}
    words = sorted(part for part in parts - lexicon(found[0]["language"]).stop_words if len(part) > 4)
    return [{**one, "words": words} for one in lots.sample(found, len(found))]


def cases(drawn: Sequence[Drawn], size: int, seed: int) -> Iterator[tuple[str, Drawn, str]]:
    """Kind of damage, sentence and quote, at most `size` of each kind."""
    for kind in (*HARMLESS, *CHANGING):
        lots = random.Random(f"{seed} {kind}")
        made = ((kind, one, damaged(kind, one, lots)) for one in drawn)
        yield from islice((it for it in made if kind == "none" or it[2] != it[1]["text"]), size)


def outcome(drawn: Drawn, quote: str, check: dict[str, Any] | None) -> str:
    """What became of a quote; `check` is None where the answer has no claim that could cite it."""
    if check is None or check["found"] is None:
        return "missing" if check else "no_claim"
    found, source, given = (
        re.findall(r"\w+", re.sub(r"-\n\s*", "", text).casefold())
        for text in (check["found"], drawn["text"], quote)
    )
    if found == source:
        return str(check["kind"])
    in_part = f" {' '.join(found)} " in f" {' '.join(source)} "
    return "elsewhere" if found == given else "in_part" if in_part else "wrong"


def measure(documents: pl.DataFrame, chunks: pl.DataFrame, given: Any) -> Iterator[dict[str, Any]]:
    """Figures of each kind of damage in one language."""
    made = list(cases(sentences_of(chunks, random.Random(given.seed)), given.size, given.seed))
    rows = []
    for place, (kind, drawn, quote) in enumerate(made):
        where = {"document_id": drawn["document_id"], "chunk_id": drawn["chunk_id"], "resolution": "chunk"}
        answer = quote if kind in CHANGING else drawn["text"]
        texts = {"question": "?", "answer": answer, "language": drawn["language"]}
        rows.append(pair(f"{place:05}", citations=[{"raw": "", "quote": quote, **where}], **texts))
    claims = find_claims(PAIRS.frame(rows), documents, chunks, HashEmbedder())
    decided = decide_claims(claims, None, VerificationSettings()).group_by("pair_id")
    accepted = dict(decided.agg((pl.col("verdict") == "supported").all()).iter_rows())
    checks = dict(claims.explode("quotes").drop_nulls("quotes").select("pair_id", "quotes").iter_rows())
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row, (kind, drawn, quote) in zip(rows, made, strict=True):
        found = outcome(drawn, quote, checks.get(row["pair_id"]))
        counts[kind].update(["quotes", found, *["supported"] * accepted.get(row["pair_id"], False)])
    yield from ({"kind": kind, **counted} for kind, counted in counts.items())


def main() -> None:
    """Print one JSON line for each language and kind."""
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    folders = sorted(one for one in given.corpus.iterdir() if one.is_dir())
    documents = pl.concat(read_documents(one.name, one, DocumentSettings()) for one in folders)
    chunks = chunk_documents(documents, HashEmbedder(), ChunkingSettings())
    for language in ("en", "sv", "de"):
        own = chunks.filter(pl.col("language") == language)
        for figures in measure(documents.join(own, on="document_id", how="semi"), own, given):
            print_json({"language": language, **figures})


if __name__ == "__main__":
    main()
