"""The data card of a release: `README.md`, from its facts and its manifest alone, so that it can be checked.

Its front matter is the metadata that `datasets.load_dataset` and the Hugging Face hub read.
"""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from qa_pipeline.llm.base import is_fake
from qa_pipeline.publishing.candidates import RELEASED
from qa_pipeline.publishing.certificate import bound_problems, in_words
from qa_pipeline.publishing.facts import (
    CLAIM_SCORES,
    FACTS,
    FORM,
    LENGTHS,
    PAIR_SCORES,
    SHOWN_SOURCES,
    counted_parts,
    row_facts,
    source_facts,
)
from qa_pipeline.publishing.manifest import CARD, Bound, File, Manifest
from qa_pipeline.publishing.pictures import SCORES, YIELD, draw_scores, draw_yield, waterfall
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.hashes import hash_file
from qa_pipeline.verification.deciding import SIMILARITY_ONLY

_PROMISE = (
    "Every supported claim of an answer has a quote that stands in its document, at the place in `evidence`. "
    "That a quote is there does not yet make a row right."
)
_NOT_AUDITED = (
    "**Not audited.** No person has looked at a sample of this release, so nothing is known of the share of "
    "its rows that are wrong all the same. The figures below come from the pipeline that made it."
)
_LIMITS = (
    "Questions were made from the documents, and are no sample of what people ask.",
    "Splits are no random samples of rows: what shares a document, question or long answer is together.",
    "Translations of a document are not known to be one: they may stand in two splits.",
    "A row is as right as its document; what is out of date or wrong there is so here.",
    "Canaries say whether verification works, and not how many rows are wrong: rules made their errors.",
    "Scores of judges and of entailment are those of models, and no probabilities unless calibrated.",
)
_FAKE = (
    "Some of it was written, verified or judged by a fake server; Models and prompts says what "
    "(fake-): it is for trying out, not for training."
)
_NO_TEXTS = (
    "The texts of these documents are not part of the release: nobody can check its quotes from it alone.\n"
)
_COLUMNS = tuple((column.name, column.description) for column in RELEASED.columns)
_MOST_VALUES, _LONGEST, _SHORT = 20, 100, 40
_FIGURE = re.compile(r"–|too few|[\d.,]+(%| MB)?( \(.*\))?")
_LICENCES = frozenset(
    (
        "agpl-3.0", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc-by-3.0", "cc-by-4.0", "cc-by-nc-4.0",
        "cc-by-nc-nd-4.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0",
        "gfdl", "gpl-2.0", "gpl-3.0", "isc", "lgpl-3.0", "mit", "mpl-2.0", "odbl", "odc-by", "pddl",
        "unlicense",
    )
)  # fmt: skip
"""Licences that the hub knows by these names."""


def write_facts(folder: Path, facts: Mapping[str, Any], left_out: Mapping[str, int]) -> None:
    """Write facts and pictures of a release.

    Args:
        folder: of the release.
        facts: of `CardFacts.document`.
        left_out: accepted rows that are not in it, by reason.

    Raises:
        StorageError: a file cannot be written.
    """
    written = json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False)
    pictures = {YIELD: draw_yield(waterfall(facts, left_out)), SCORES: draw_scores(facts["scores"])}
    write_bytes(folder / FACTS, f"{written}\n".encode())
    for name, content in pictures.items():
        if content is not None:
            write_bytes(folder / name, content)


def write_card(folder: Path, manifest: Manifest) -> Manifest:
    """Write the card beside the facts; the manifest, which then names it too.

    Raises:
        StorageError: it cannot be written.
    """
    content = data_card(json.loads((folder / FACTS).read_bytes()), manifest).encode()
    write_bytes(folder / CARD, content)
    card = File(sha256=hash_file(folder / CARD), size=len(content))
    files = dict(sorted({**manifest.files, CARD: card}.items()))
    return manifest.model_copy(update={"files": files})


def card_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Where the card is not what facts and manifest make of it, or the facts not what the files hold.

    Args:
        folder: of the release.
        manifest: of the release.
    """
    try:
        facts = json.loads((folder / FACTS).read_bytes())
        if facts["form"] != FORM:
            yield f"{FACTS} has form {facts['form']}, this version checks {FORM}; see {CARD} for its own"
            return
        card = data_card(facts, manifest)
        stated, stated_sources = facts["rows"], facts["sources"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        yield f"{FACTS} cannot be read"
        return
    if (folder / CARD).read_bytes() != card.encode():
        yield f"{CARD} is not what {FACTS} and the manifest say"
    rows, sources = counted_parts(folder, manifest.splits)
    yield from _differences("rows", stated, row_facts(rows))
    yield from _differences("sources", stated_sources, source_facts(sources))
    yield from bound_problems(manifest.certificate)


def _differences(what: str, stated: Mapping[str, Any], counted: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*stated, *counted}):
        if stated.get(name) != counted.get(name):
            yield f"{FACTS} says of {what} another {name} than the files hold"


def data_card(facts: Mapping[str, Any], manifest: Manifest) -> str:
    """The card as Markdown, the same for the same facts and manifest; its entry there is not looked at."""
    rows, sources = facts["rows"], facts["sources"]
    parts = [
        _front_matter(facts, manifest),
        f"# Question-answer pairs, proved from their sources (release {manifest.version})\n",
        f"{_n(rows['rows'])} pairs from {_n(sources['documents'])} documents. {_PROMISE}\n",
        *_audit(manifest),
        "## Splits\n",
        _splits(manifest),
        *_unsatisfied(manifest),
        _folded("Files", markdown_table(("file", "size"), _files(manifest))),
        "## Rows\n",
        *_values(rows),
        _folded("Columns", markdown_table(("column", "holds"), _COLUMNS, 300)),
        "## Lengths\n",
        _lengths(rows["lengths"]),
        *_yield(facts, manifest),
        *_scores(facts["scores"]),
        *_verification(facts),
        "## Models and prompts\n",
        markdown_table(("what", "model", "prompt", "count"), _made_by(facts["made_by"]), _SHORT),
        "## Cost\n",
        _cost(facts["cost"]),
        "## Personal data\n",
        _masked(facts),
        *_sources(sources),
        *([] if manifest.settings["release"]["with_sources"] else [_NO_TEXTS]),
        *_left_out(manifest),
        "## Known limits\n",
        "\n".join(f"- {line}" for line in (*_LIMITS, *_policy(facts))) + "\n",
        *_cite(facts, manifest),
        *_reproduce(facts),
    ]
    return "\n".join(parts)


def _front_matter(facts: Mapping[str, Any], manifest: Manifest) -> str:
    files = [{"split": split, "path": f"data/{split}.parquet"} for split, n in _ranked(manifest.splits) if n]
    licences = [licence.lower() for licence in facts["sources"]["licences"]]
    one_licence = len(licences) == 1 and licences[0] in _LICENCES
    head = {
        "configs": [{"config_name": "default", "data_files": files}],
        "language": [language for language in facts["rows"]["language"] if language != "unknown"],
        **({"license": licences[0]} if one_licence else {}),
        "size_categories": [_size(facts["rows"]["rows"])],
        "task_categories": ["question-answering", "text-generation"],
    }
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n"


def _audit(manifest: Manifest) -> list[str]:
    certificate = manifest.certificate
    if certificate is None:
        return ["## Audit\n", f"{_NOT_AUDITED}\n"]
    text = ["## Audit\n", *(f"{_cell(word, 2000)}\n" for word in in_words(certificate))]
    if certificate.parts:
        rows = (
            (part.part, part.audited, part.wrong, part.unsure, _bound(part)) for part in certificate.parts
        )
        text += [
            markdown_table(("part", "audited", "wrong", "unsure", "at most wrong"), rows),
            "The bounds of parts hold each by itself, and not all at once.\n",
        ]
    return text


def _bound(part: Bound) -> str:
    return "too few" if part.at_most is None else f"{part.at_most:.2%}"


def _splits(manifest: Manifest) -> str:
    every = sum(manifest.splits.values())
    lines = []
    for name, count in _ranked(manifest.splits):
        file = manifest.files.get(f"data/{name}.parquet")
        lines.append(
            (name, count, _share(count, every), "–" if file is None else f"{file.size / 1e6:.2f} MB")
        )
    return markdown_table(("split", "rows", "share", "size of the Parquet file"), lines)


def _files(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Each file but the card, whose own size is not known while it is written."""
    yield from ((name, f"{file.size / 1e6:.2f} MB") for name, file in manifest.files.items() if name != CARD)


def _unsatisfied(manifest: Manifest) -> Iterator[str]:
    if manifest.unsatisfied:
        yield "What the splits could not satisfy, since rows that share anything stay together:\n"
        yield "".join(f"- {_cell(problem, 300)}\n" for problem in manifest.unsatisfied)


_VALUES = {
    "language": "language",
    "question_type": "type of question",
    "coverage": "how far the documents answer it",
    "difficulty": "difficulty for the search",
    "memorised": "answered by a model without documents",
    "origin": "origin",
    "decided_by": "who decided of the claims",
}
_ANSWERED = {"none": "none (a proved refusal)"}


def _values(rows: Mapping[str, Any]) -> Iterator[str]:
    lines = []
    for name, title in _VALUES.items():
        counts = rows[name]
        if set(counts) == {"unknown"}:
            lines.append((title, "unknown", rows["rows"], _share(rows["rows"], rows["rows"])))
            continue
        ranked = _ranked(counts)
        first_values = [(_ANSWERED.get(value, value), count) for value, count in ranked[:_MOST_VALUES]]
        if more := ranked[_MOST_VALUES:]:
            first_values.append((f"{len(more)} more", sum(count for _, count in more)))
        lines += [
            (title if place == 0 else "", value, count, _share(count, rows["rows"]))
            for place, (value, count) in enumerate(first_values)
        ]
    yield markdown_table(("", "value", "rows", "share"), lines)


def _lengths(lengths: Mapping[str, Mapping[str, int | None]]) -> str:
    names = ("rows", "least", "median", "95 %", "most")
    lines = ([title, *(lengths[title][name] for name in names)] for title in LENGTHS)
    note = "Tokens are those of the embedding model, not of the model to be trained.\n"
    return f"{markdown_table(('', *names), lines)}\n{note}"


def _yield(facts: Mapping[str, Any], manifest: Manifest) -> Iterator[str]:
    steps = waterfall(facts, manifest.rows_left_out)
    steps_text = ", ".join(f"{name} {'' if before < 0 else 'lost '}{count}" for name, count, before in steps)
    yield "## Yield\n"
    if YIELD in manifest.files:
        yield f"![What became of questions and pairs: {_cell(steps_text, 2000)}]({YIELD})\n"
    sections: dict[str, int] = {}
    uncovered: dict[str, int] = {}
    for section in facts["sections"]:
        sections[section["status"]] = sections.get(section["status"], 0) + section["count"]
        if section["status"] == "uncovered":
            uncovered[section["reason"] or "unknown"] = section["count"]
    every = sum(sections.values())
    reasons = _ranked(uncovered)
    yield "How much of the documents is asked about, by section:\n"
    yield markdown_table(
        ("sections", "count", "share"), ((*item, _share(item[1], every)) for item in sections.items())
    )
    if reasons:
        why = ", ".join(f"{_cell(name)} {_n(count)}" for name, count in reasons[:_MOST_VALUES])
        yield f"Why sections are uncovered (the most frequent reason of each): {why}.\n"
    names = ("stage", "what", "reason", "count")
    yield _folded(
        "Every step", markdown_table(names, ([funnel[n] for n in names] for funnel in facts["funnel"]))
    )


def _scores(scores: Mapping[str, Mapping[str, Sequence[int]]]) -> Iterator[str]:
    yield "## Scores\n"
    if not scores:
        yield "No pair has a score.\n"
        return
    lines = []
    names_with_scores = [name for name in (*PAIR_SCORES, *CLAIM_SCORES) if name in scores]
    for name in names_with_scores:
        counts = scores[name]
        for part in ("released", "all"):
            total, bins = sum(counts[part]), len(counts[part])
            high = sum(counts[part][-bins // 10 :])
            middle = sum(counts[part][bins // 2 :])
            lines.append((name, part, total, _share(middle, total), _share(high, total)))
    picture = ", ".join(f"{name} of {sum(scores[name]['released'])} released" for name in names_with_scores)
    yield f"![Histograms of scores: {_cell(picture, 2000)}; the table below has the figures]({SCORES})\n"
    yield "Grey are all, blue the released ones; above each picture stands how many of how many.\n"
    yield markdown_table(("score", "of", "known", "at least 0.5", "at least 0.9"), lines)
    if "composite" not in scores:
        yield "No model judged the pairs: relevance, correctness and completeness are not known.\n"
    yield f"{' and '.join(CLAIM_SCORES).capitalize()} are of claims, the others of pairs.\n"


def _verification(facts: Mapping[str, Any]) -> Iterator[str]:
    yield "## Verification\n"
    claims: dict[tuple[str, str], list[int]] = {}
    for claim in facts["claims"]:
        counts = claims.setdefault((claim["verdict"], claim["decided_by"]), [0, 0])
        counts[0] += claim["count"] if claim["released"] else 0
        counts[1] += claim["count"]
    yield "Claims of the answers, by verdict and by the step that decided:\n"
    lines = ((*key, *counts) for key, counts in sorted(claims.items(), key=lambda item: -item[1][1]))
    yield markdown_table(("verdict", "decided by", "in released rows", "in all pairs"), lines)
    yield from _canaries(facts["canaries"])
    yield from _thresholds(facts)


def _canaries(canaries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "Canaries are claims made from the documents whose right verdict is known:\n"
    names = ("expected", "canaries", "rejected", "rejected_share", "accepted", "accepted_share")
    titles = ("right verdict", "canaries", "rejected", "share (95 %)", "accepted", "share (95 %)")
    yield markdown_table(
        titles, ([canary[n] for n in names] for canary in map(_spelt, canaries) if canary["kind"] is None)
    )
    yield "What is neither rejected nor accepted goes to a model, and without one to people.\n"
    kinds = [canary for canary in map(_spelt, canaries) if canary["kind"] is not None]
    by_kind = ([kind["kind"], *(kind[n] for n in names)] for kind in kinds)
    yield _folded("By kind", markdown_table(("kind", *titles), by_kind))


def _spelt(canaries: Mapping[str, Any]) -> dict[str, Any]:
    shares = {name: _interval(canaries[name]) for name in ("rejected_share", "accepted_share")}
    return {**canaries, **shares}


def _thresholds(facts: Mapping[str, Any]) -> Iterator[str]:
    fitted, ids = facts["thresholds"], facts["rows"]["thresholds_id"]
    yield "Thresholds that decided:\n"
    yield markdown_table(("thresholds", "rows"), _ranked(ids))
    matching = sum(count for name, count in ids.items() if name.startswith(f"{fitted['id']}-"))
    if not matching:
        yield f"Nothing is known of how these were fitted: the settings hold {_cell(fitted['id'])}.\n"
        return
    fits = [fit for fit in fitted["fits"] if fit["threshold"] is not None]
    if not fits:
        yield f"{_cell(fitted['id'])} holds no fitted threshold: entailment decides nothing.\n"
        return
    data = ", ".join(f"{_cell(dataset['name'])} ({_n(dataset['rows'])} rows)" for dataset in fitted["data"])
    yield (
        f"{_cell(fitted['id'])} was fitted on {data or 'data it does not name'}, for a precision of at least "
        f"{fitted['target_precision']:g} with confidence {fitted['confidence']:g} on such data; on yours "
        "it may be another.\n"
    )
    names = ("step", "side", "threshold", "n", "right", "precision_low")
    yield markdown_table(names, ([fit[name] for name in names] for fit in fits))
    if fitted["precision"]:
        yield f"Precision over all of that data: {_interval(fitted['precision'])}.\n"


def _interval(share: Mapping[str, Any]) -> str:
    if share["value"] is None:
        return "–"
    return f"{share['value']:.1%} ({100 * share['low']:.1f}–{100 * share['high']:.1f})"


def _made_by(makers: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    ranked = sorted(makers, key=lambda maker: -maker["count"])
    for maker in sorted(ranked[: 2 * _MOST_VALUES], key=lambda maker: (maker["role"], -maker["count"])):
        yield maker["role"], maker["model"], maker["prompt"], maker["count"]
    if more := ranked[2 * _MOST_VALUES :]:
        yield "", f"{len(more)} more", None, sum(maker["count"] for maker in more)


def _cost(cost: Mapping[str, Any]) -> str:
    if not cost["calls"]:
        return f"No call was paid for: {cost['why']}.\n"
    calls = f"{_n(cost['calls'])} calls of hosted models, {_n(cost['tokens'])} tokens. "
    if cost["cost_per_accepted_pair"] is None:
        return f"{calls}The cost of an accepted row is not known: {cost['why']}.\n"
    cost_of_pair = f"{cost['cost_per_accepted_pair']:.6f} {_cell(cost['currency'] or '')}"
    least = f", at least: {_n(cost['calls_without_cost'])} calls have no known price"
    return (
        f"{calls}Each of {_n(cost['accepted'])} accepted pairs of these batches cost {cost_of_pair}"
        f"{least if cost['calls_without_cost'] else ''}.\n"
    )


def _masked(facts: Mapping[str, Any]) -> str:
    action = f"What was to be done with personal data found in documents: `{facts['masking']}`."
    if not facts["masked"]:
        nothing = "Nobody searched for any." if facts["masking"] == "off" else "None was found."
        return f"{action} {nothing}\n"
    names = ("kind", "documents", "items")
    table = markdown_table(names, ([masked[name] for name in names] for masked in facts["masked"]))
    return f"{action}\n\n{table}"


def _sources(sources: Mapping[str, Any]) -> Iterator[str]:
    yield "## Sources\n"
    yield markdown_table(("batch", "documents"), _ranked(sources["batches"])[:SHOWN_SOURCES])
    yield markdown_table(("licence", "documents"), _ranked(sources["licences"])[:SHOWN_SOURCES])
    first, more = sources["first"], sources["documents"] - len(sources["first"])
    rows = (
        (
            f"{source['batch']}/{source['path']}",
            source["licence"],
            source["source_uri"],
            source["content_sha256"][:12],
        )
        for source in first
    )
    rest = f"{_n(more)} more, and the whole hashes, are in `sources.parquet`.\n"
    title = f"The first {SHOWN_SOURCES} documents" if more else "Documents"
    table = markdown_table(("path", "licence", "address", "SHA-256"), rows, 60)
    yield _folded(title, table, rest if more else "")


def _left_out(manifest: Manifest) -> Iterator[str]:
    yield "## Left out\n"
    batches, rows = manifest.batches_left_out, manifest.rows_left_out
    yield (
        markdown_table(("batch left out", "because"), sorted(batches.items()), 300)
        if batches
        else "No batch was left out.\n"
    )
    yield (
        markdown_table(("rows left out because", "rows"), _ranked(rows))
        if rows
        else "No accepted row was left out.\n"
    )


def _policy(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What follows from who judged the rows, and from the steps that decided of their claims."""
    steps: dict[str, int] = {}
    for claim in facts["claims"]:
        if claim["released"]:
            steps[claim["decided_by"]] = steps.get(claim["decided_by"], 0) + claim["count"]
    every, by_model = sum(steps.values()), steps.get("llm", 0)
    rows, unjudged = facts["rows"]["rows"], facts["rows"]["judge"].get("unknown", 0)
    nobody = (
        f"No judge looked at {_n(unjudged)} of {_n(rows)} rows: they are proved, but may miss the question."
    )
    return (
        *([_FAKE] if any(is_fake(maker["model"]) for maker in facts["made_by"]) else []),
        *([nobody] if unjudged else []),
        *([SIMILARITY_ONLY] if "similarity_only" in steps else []),
        *([f"A language model alone decided {_n(by_model)} of {_n(every)} claims."] if by_model else []),
    )


def _cite(facts: Mapping[str, Any], manifest: Manifest) -> Iterator[str]:
    content = manifest.content
    yield "## Cite\n"
    yield "```bibtex"
    yield f"@misc{{qa-pairs-{content[:12]},"
    yield f"  title = {{Question-answer pairs, proved from their sources, release {manifest.version}}},"
    yield f"  howpublished = {{made with qa\\_pipeline {facts['package']}}},"
    yield f"  note = {{content {content}}}"
    yield "}\n```\n"
    yield "`content` is the hash of the manifest without numbers of releases and without this card.\n"


def _reproduce(facts: Mapping[str, Any]) -> Iterator[str]:
    options = [f"--set {shlex.quote(f'{name}={value}')}" for name, value in facts["settings"].items()]
    yield "## Reproduce\n"
    run, release = (
        " \\\n    ".join((start, *options))
        for start in ("qa-pipeline run CORPUS --out OUT", "qa-pipeline release --out OUT")
    )
    text = f"# qa_pipeline {facts['package']}\n{run}\n{release}"
    fence = "`" * max([3, *(len(run_of_ticks) + 1 for run_of_ticks in re.findall("`+", text))])
    yield f"{fence}bash\n{text}\n{fence}\n"
    yield "These are the settings of the release; batches may have been made under others.\n"
    if private_settings := facts["settings_untold"]:
        names = ", ".join(f"`{name}`" for name in private_settings)
        yield f"Secrets and places are not told, but differ from the defaults: {names}.\n"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], longest: int = _LONGEST) -> str:
    """A table, whose cells hold data of others; one of more than `longest` characters is cut."""
    lines = [[_cell(cell, longest) for cell in line] for line in rows]
    figures = [
        all(_FIGURE.fullmatch(line[place]) for line in lines) and any(line[place] != "–" for line in lines)
        for place in range(len(columns))
    ]
    head = [columns, ["---:" if figure else "---" for figure in figures]]
    return "".join(f"| {' | '.join(line)} |\n" for line in [*head, *lines])


def _folded(title: str, *parts: str) -> str:
    """What few will want to read, behind its title."""
    text = "\n".join(parts)
    return f"<details><summary>{title}</summary>\n\n{text}\n</details>\n"


def _cell(value: object, longest: int = _LONGEST) -> str:
    """What documents and batches are called comes from outside: no cell may end its row or make markup."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4f}"
    text = _n(value) if isinstance(value, int) else " ".join(str(value).split())
    text = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(f"\\{character}" if character in "\\|`*_[]<>#~@" else character for character in text)


def _ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The most first; the order in a file does not matter."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _n(count: int) -> str:
    return f"{count:,}"


def _share(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else "–"


def _size(rows: int) -> str:
    """The hub's name for an order of size."""
    limits = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
    return next((name for limit, name in limits.items() if rows < limit), "1M<n<10M")
