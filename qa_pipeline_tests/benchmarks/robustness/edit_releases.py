"""Which edits of a release `verify` finds: as they are, with file hashes made anew, with all of it made anew.

    python -m qa_pipeline_tests.benchmarks.robustness.edit_releases RELEASE [--public-key KEY]

The release should be audited, so that its certificate can be edited; it is copied and stays as it is. "All"
is what somebody with this package can make anew: counts, facts, card, keys and the files of formats too. The
last column is that with the signature checked, of a release that was signed.
"""

import argparse
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.curation.exports import json_lines
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.publishing import facts as facts_module
from qa_pipeline.publishing.card import write_card
from qa_pipeline.publishing.formats import FORMATS
from qa_pipeline.publishing.keys import row_keys
from qa_pipeline.publishing.manifest import Manifest
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline.storage.hashes import hash_file

Row = dict[str, Any]
_NUMBER = re.compile(r"\d+")
TRAIN, SOURCES, FACTS = "data/train.parquet", "sources.parquet", "facts.json"
LAYOUTS = ("messages", "messages_with_context", "messages_with_distractors")


class NotApplicableError(Exception):
    """The release has nothing that this edit could change."""


def edit_table(folder: Path, name: str, edit: Callable[[list[Row]], list[Row] | None]) -> None:
    frame = pl.read_parquet(folder / name)
    rows = frame.to_dicts()
    rows = edit(rows) or rows
    pl.DataFrame(rows, frame.schema).write_parquet(folder / name, compression="zstd")


def edit_json(folder: Path, name: str, edit: Callable[[Any], None]) -> None:
    said = json.loads((folder / name).read_bytes())
    edit(said)
    (folder / name).write_text(json.dumps(said, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def with_number(rows: list[Row]) -> Row:
    return next(row for row in rows if _NUMBER.search(row["answer"]) and row["evidence"])


def other_number(text: str) -> str:
    return _NUMBER.sub(lambda found: str(int(found[0]) + 1), text, count=1)


def turn(row: Row, role: str, change: Callable[[str], str], layouts: tuple[str, ...] = LAYOUTS) -> None:
    for layout in layouts:
        for message in row[layout] or ():
            if message["role"] == role:
                message["content"] = change(message["content"])


def say(row: Row, answer: str) -> None:
    """Give a row another answer, in all places that hold it."""
    old = row["answer"]
    row["answer"] = answer
    turn(row, "assistant", lambda _: answer)
    for piece in row["evidence"]:
        piece["claim"] = piece["claim"].replace(old, answer) if old in piece["claim"] else piece["claim"]
    for claim in row.get("claims") or ():
        claim["text"] = claim["text"].replace(old, answer)


def number_in_messages(rows: list[Row]) -> None:
    turn(with_number(rows), "assistant", other_number, ("messages",))


def number_everywhere(rows: list[Row]) -> None:
    row = with_number(rows)
    new = other_number(row["answer"])
    for piece in row["evidence"]:
        piece["claim"] = other_number(piece["claim"])
    for claim in row.get("claims") or ():
        claim["text"] = other_number(claim["text"])
    row["answer"] = new
    turn(row, "assistant", lambda _: new)


def without_system(rows: list[Row]) -> None:
    rows[0]["messages"] = rows[0]["messages"][1:]


def other_system(rows: list[Row]) -> None:
    turn(rows[0], "system", lambda text: f"{text} Ignore the documents.")


def further_turn(rows: list[Row]) -> None:
    rows[0]["messages"].append({"role": "user", "content": "And who pays?"})


def before_question(rows: list[Row]) -> None:
    turn(rows[0], "user", lambda text: f"Answer in rhymes. {text}", ("messages",))


def before_passages(rows: list[Row]) -> None:
    turn(rows[0], "user", lambda text: f"Answer in rhymes.\n\n{text}", LAYOUTS[1:])


def other_passage(rows: list[Row]) -> None:
    turn(rows[0], "user", lambda text: text.replace("\n", "\nNot so. ", 1), ("messages_with_context",))


def other_role(rows: list[Row]) -> None:
    rows[0]["messages"][2]["role"] = "user"


def other_question(rows: list[Row]) -> None:
    old, new = rows[0]["question"], "Who invented the telephone?"
    rows[0]["question"] = new
    turn(rows[0], "user", lambda text: text.removesuffix(old) + new)


def other_quote(rows: list[Row]) -> None:
    rows[0]["evidence"][0]["quote"] += " Always."


def shifted(rows: list[Row]) -> None:
    rows[0]["evidence"][0]["start"] += 1
    rows[0]["evidence"][0]["end"] += 1


def other_page(rows: list[Row]) -> None:
    rows[0]["evidence"][0]["page"] = 77


def other_document(rows: list[Row]) -> None:
    other = next(row for row in rows if row["documents"] != rows[0]["documents"])
    rows[0]["documents"] = other["documents"]
    rows[0]["evidence"][0]["content_sha256"] = other["documents"][0]


def other_document_id(rows: list[Row]) -> None:
    rows[0]["evidence"][0]["document_id"] = "0" * 32


def other_chunk_id(rows: list[Row]) -> None:
    rows[0]["evidence"][0]["chunk_id"] = "0" * 32


def other_path(rows: list[Row]) -> None:
    rows[0]["evidence"][0]["path"] = "elsewhere.md"


def other_licence(rows: list[Row]) -> None:
    rows[0]["licences"] = rows[0]["provenance"]["licences"] = ["CC0-1.0"]


def other_order(rows: list[Row]) -> list[Row]:
    return [rows[1], rows[0], *rows[2:]]


def swapped_ids(rows: list[Row]) -> None:
    rows[0]["pair_id"], rows[1]["pair_id"] = rows[1]["pair_id"], rows[0]["pair_id"]


def lost_row(rows: list[Row]) -> list[Row]:
    return rows[1:]


def doubled_row(rows: list[Row]) -> list[Row]:
    return [{**rows[0], "pair_id": "0" * 32}, *rows]


def unproved_row(rows: list[Row]) -> None:
    say(rows[0], "The moon is made of green cheese.")
    other_question(rows)


def further_sentence(rows: list[Row]) -> None:
    new = f"{rows[0]['answer']} Nobody has ever doubted that."
    rows[0]["answer"] = new
    turn(rows[0], "assistant", lambda _: new)


def decided_by_model(rows: list[Row]) -> None:
    if "claims" not in rows[0]:
        raise NotApplicableError
    for claim in rows[0]["claims"]:
        claim["decided_by"] = "llm"


def number_decided_by_model(rows: list[Row]) -> None:
    row = with_number(rows)
    decided_by_model([row])
    number_everywhere([row])


def other_verdict(rows: list[Row]) -> None:
    if "claims" not in rows[0]:
        raise NotApplicableError
    rows[0]["claims"][0]["verdict"] = "undecided"


def other_thresholds(rows: list[Row]) -> None:
    rows[0]["provenance"]["thresholds_id"] = "shipped-0/default-0"


def other_score(rows: list[Row]) -> None:
    rows[0]["provenance"]["citation_quality"] = 0.123


def other_generator(rows: list[Row]) -> None:
    rows[0]["provenance"]["generator"] = "people"


def other_tokens(rows: list[Row]) -> None:
    rows[0]["tokens"]["closed_book"] += 100


def other_coverage(rows: list[Row]) -> None:
    rows[0]["coverage"] = "none"


def other_language(rows: list[Row]) -> None:
    rows[0]["language"] = "sv" if rows[0]["language"] != "sv" else "de"


def moved_row(folder: Path) -> None:
    train, test = (pl.read_parquet(folder / "data" / f"{one}.parquet") for one in ("train", "test"))
    both = pl.concat([test, train.head(1)]).sort("batch", "pair_id")
    both.write_parquet(folder / "data/test.parquet")
    train.slice(1).write_parquet(folder / TRAIN)


def source_and_quote(folder: Path) -> None:
    """Another word in a document, and in quote, claim, answer and messages that rest on it."""
    quote = pl.read_parquet(folder / TRAIN).row(0, named=True)["evidence"][0]["quote"]
    word = max(re.findall(r"[^\W\d_]+", quote), key=len)
    other = word[::-1].swapcase()
    new = quote.replace(word, other)
    edit_table(folder, SOURCES, lambda rows: replace_all(rows, quote, new))
    for name in (TRAIN, "passages.parquet"):
        if (folder / name).is_file():
            edit_table(folder, name, lambda rows: replace_all(rows, quote, new))


def replace_all(rows: list[Row], old: str, new: str) -> list[Row]:
    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(old, new)
        if isinstance(value, list):
            return [changed(one) for one in value]
        return {name: changed(one) for name, one in value.items()} if isinstance(value, dict) else value

    return [changed(row) for row in rows]


def source_licence(folder: Path) -> None:
    edit_table(folder, SOURCES, lambda rows: rows[0].update(licence="CC0-1.0"))


def source_text(folder: Path) -> None:
    edit_table(folder, SOURCES, lambda rows: rows[0].update(text=f"{rows[0]['text']}\nAnd more."))


def setting(name: str, value: Any) -> Callable[[Path], None]:
    *groups, last = name.split(".")

    def edit(said: Any) -> None:
        for group in ("settings", *groups):
            if group not in said:
                raise NotApplicableError
            said = said[group]
        said[last] = value

    return lambda folder: edit_json(folder, "manifest.json", edit)


def bound(folder: Path) -> None:
    def edit(said: Any) -> None:
        certificate = said["certificate"]
        if certificate is None:
            raise NotApplicableError
        certificate["looks"][0]["wrong"] = certificate["parts"][0]["wrong"] = 0
        for part in (certificate["looks"][certificate["best"]], certificate["parts"][0]):
            part["at_most"] = 0.0001

    edit_json(folder, "manifest.json", edit)


def bound_that_follows(folder: Path) -> None:
    """No wrong row, and the bound of that."""
    from qa_pipeline.statistics import upper_bound

    def edit(said: Any) -> None:
        certificate = said["certificate"]
        if certificate is None:
            raise NotApplicableError
        look, part = certificate["looks"][certificate["best"]], certificate["parts"][0]
        look["wrong"] = part["wrong"] = 0
        at_most = upper_bound(0, part["audited"], certificate["confidence"], population=certificate["rows"])
        look["at_most"] = part["at_most"] = at_most

    edit_json(folder, "manifest.json", edit)


def label(folder: Path) -> None:
    if not (folder / "audit.parquet").is_file():
        raise NotApplicableError
    wrong = pl.col("label") == "wrong"
    audits = pl.read_parquet(folder / "audit.parquet")
    changed = audits.with_columns(label=pl.when(wrong).then(pl.lit("right")).otherwise("label"))
    changed.write_parquet(folder / "audit.parquet")


def card(folder: Path) -> None:
    text = (folder / "README.md").read_text()
    (folder / "README.md").write_text(re.sub(r"\d+ pairs", "9,999 pairs", text.replace(",", "", 1), count=1))


def card_facts(folder: Path) -> None:
    edit_json(folder, FACTS, lambda said: said["canaries"][0].update(accepted=0, rejected=1))


def claim_facts(folder: Path) -> None:
    edit_json(folder, FACTS, lambda said: said["claims"][0].update(decided_by="person"))


def further_file(folder: Path) -> None:
    (folder / "data" / "more.parquet").write_bytes((folder / TRAIN).read_bytes())


def lost_file(folder: Path) -> None:
    (folder / "keys.parquet").unlink()


def linked_file(folder: Path) -> None:
    (folder / "keys.parquet").rename(folder.parent / "keys.parquet")
    (folder / "keys.parquet").symlink_to(folder.parent / "keys.parquet")


def counts(folder: Path) -> None:
    def edit(said: Any) -> None:
        said["splits"]["train"] += 10

    edit_json(folder, "manifest.json", edit)


def left_out(folder: Path) -> None:
    edit_json(folder, "manifest.json", lambda said: said["rows_left_out"].update(joins_splits=7))


def batches_left_out(folder: Path) -> None:
    edit_json(folder, "manifest.json", lambda said: said["batches_left_out"].update(other="withdrawn"))


def cut_table(folder: Path) -> None:
    content = (folder / TRAIN).read_bytes()
    (folder / TRAIN).write_bytes(content[: len(content) // 2])


def flipped_pages(folder: Path) -> None:
    content = bytearray((folder / TRAIN).read_bytes())
    content[2000:2064] = bytes(64)
    (folder / TRAIN).write_bytes(content)


def of_rows(edit: Callable[[list[Row]], list[Row] | None]) -> Callable[[Path], None]:
    return lambda folder: edit_table(folder, TRAIN, edit)


EDITS: dict[str, Callable[[Path], None]] = {
    "a number of the answer, in messages": of_rows(number_in_messages),
    "a number of the answer, everywhere": of_rows(number_everywhere),
    "the same, as decided by a model": of_rows(number_decided_by_model),
    "system message dropped": of_rows(without_system),
    "system message changed": of_rows(other_system),
    "a further user turn": of_rows(further_turn),
    "text before the question": of_rows(before_question),
    "text before the passages": of_rows(before_passages),
    "text in a passage": of_rows(other_passage),
    "a role changed": of_rows(other_role),
    "another question, everywhere": of_rows(other_question),
    "another answer and question, everywhere": of_rows(unproved_row),
    "a further sentence of the answer": of_rows(further_sentence),
    "quote changed": of_rows(other_quote),
    "quote, its document and the answer changed": source_and_quote,
    "start and end of a quote shifted": of_rows(shifted),
    "page of a quote changed": of_rows(other_page),
    "hash of the document changed": of_rows(other_document),
    "id of the document changed": of_rows(other_document_id),
    "id of the chunk changed": of_rows(other_chunk_id),
    "path changed": of_rows(other_path),
    "licence of a row changed": of_rows(other_licence),
    "licence of a document changed": source_licence,
    "text of a document where no quote is": source_text,
    "two rows in another order": of_rows(other_order),
    "ids of two rows swapped": of_rows(swapped_ids),
    "a row in another split": moved_row,
    "a row removed": of_rows(lost_row),
    "a row twice, under another id": of_rows(doubled_row),
    "decided by a model, not by proof": of_rows(decided_by_model),
    "verdict of a claim changed": of_rows(other_verdict),
    "thresholds of a row changed": of_rows(other_thresholds),
    "a score of a row changed": of_rows(other_score),
    "generator of a row changed": of_rows(other_generator),
    "tokens of a row changed": of_rows(other_tokens),
    "coverage changed to a refusal": of_rows(other_coverage),
    "language of a row changed": of_rows(other_language),
    "floor of the release lowered": setting("release.min_faithfulness", 0.1),
    "a threshold of judging lowered": setting("judging.threshold", 0.1),
    "share of supported claims lowered": setting("verification.accept_grounding", 0.1),
    "a setting that none can have": setting("near_duplicate_similarity", 7.0),
    "thresholds of the manifest changed": setting("thresholds", "shipped-0/default-0"),
    "bound of the audit lowered": bound,
    "wrong rows of the audit forgotten, bound follows": bound_that_follows,
    "a label of the audit changed": label,
    "a figure of the card changed": card,
    "canaries in the facts changed": card_facts,
    "who decided changed in the facts": claim_facts,
    "a file added": further_file,
    "a file removed": lost_file,
    "a file replaced by a link": linked_file,
    "rows of a split in the manifest changed": counts,
    "rows left out in the manifest changed": left_out,
    "a batch left out invented": batches_left_out,
    "a table cut in half": cut_table,
    "pages of a table overwritten": flipped_pages,
}


def rehash(folder: Path) -> None:
    """Make hashes, sizes and rows of all files anew, as a few lines of anybody would."""

    def edit(said: Any) -> None:
        for name in [*said["files"]]:
            path = folder / name
            if not path.is_file():
                del said["files"][name]
                continue
            said["files"][name] = {"sha256": hash_file(path), "size": path.stat().st_size, "rows": rows(path)}
        for path in folder.rglob("*"):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and name not in said["files"] and not name.startswith("manifest.json"):
                said["files"][name] = {
                    "sha256": hash_file(path), "size": path.stat().st_size, "rows": rows(path)
                }  # fmt: skip

    edit_json(folder, "manifest.json", edit)


def rows(path: Path) -> int | None:
    try:
        return pl.scan_parquet(path).select(pl.len()).collect().item() if path.suffix == ".parquet" else None
    except pl.exceptions.PolarsError:
        return 0


def make_anew(folder: Path) -> None:
    """Make everything anew that the package can: counts, keys, formats, facts, card and hashes."""
    said = json.loads((folder / "manifest.json").read_bytes())
    try:
        frames = {one: pl.read_parquet(folder / "data" / f"{one}.parquet") for one in said["splits"]}
    except pl.exceptions.PolarsError as error:
        raise NotApplicableError from error
    said["splits"] = {name: frame.height for name, frame in frames.items()}
    batches: Counter[str] = Counter()
    for frame in frames.values():
        batches.update(frame["batch"].to_list())
    said["batches"] = dict(batches)
    for split, frame in frames.items():
        for name, form in FORMATS.items():
            if (folder / name).is_dir() and form.is_whole:
                placed = frame.with_columns(split=pl.lit(split))
                (lines,) = form.rows({}, placed, said["settings"]["release"]["layout"])
                file = folder / name / form.files[0].name.format(split=split)
                file.write_bytes(b"".join(json_lines(lines.drop("split"))))
    if (folder / "keys.parquet").is_file() and not (folder / "keys.parquet").is_symlink():
        keys = [
            row_keys(frame).select("key", split=pl.lit(split)).unique() for split, frame in frames.items()
        ]
        known = pl.read_parquet(folder / "keys.parquet")
        pl.concat([known, *keys]).unique("key", keep="first").sort("key").write_parquet(
            folder / "keys.parquet"
        )
    if "text_sha256" in pl.read_parquet_schema(folder / SOURCES):
        from qa_pipeline.storage.hashes import hash_text

        sources = pl.read_parquet(folder / SOURCES)
        hashes = [hash_text(one) for one in sources["text"]]
        sources.with_columns(text_sha256=pl.Series(hashes)).write_parquet(folder / SOURCES)
        said["contents"] = facts_module.content_hashes(folder, said["splits"])
    facts = json.loads((folder / FACTS).read_bytes())
    of_rows, of_sources = facts_module.counted_parts(folder, said["splits"])
    facts["rows"], facts["sources"] = facts_module.row_facts(of_rows), facts_module.source_facts(of_sources)
    if "claims" in frames["train"].columns:
        steps: Counter[tuple[str, str]] = Counter()
        for frame in frames.values():
            claims = frame.select(pl.col("claims").explode(empty_as_null=True)).drop_nulls().unnest("claims")
            steps.update(zip(claims["verdict"], claims["decided_by"], strict=True))
        others = [one for one in facts["claims"] if not one["released"]]
        released = [
            {"verdict": verdict, "decided_by": step, "released": True, "count": count}
            for (verdict, step), count in sorted(steps.items())
        ]
        facts["claims"] = others + released
    (folder / FACTS).write_text(json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    (folder / "manifest.json").write_text(json.dumps(said, indent=1, sort_keys=True, ensure_ascii=False))
    rehash(folder)
    manifest = write_card(folder, Manifest.model_validate_json((folder / "manifest.json").read_bytes()))
    written = json.dumps(manifest.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False)
    (folder / "manifest.json").write_text(f"{written}\n")


def finds(folder: Path) -> str:
    """Return what finds an edit: the first check that breaks, or nothing."""
    try:
        broken = [one.name for one in verify_release(folder) if one.problems]
    except QAPipelineError:
        return "refused"
    except Exception as error:  # noqa: BLE001 - what escapes is what is measured
        return f"{type(error).__name__}!"
    return ", ".join(broken)


def finds_by_signature(folder: Path, public_key: str | None) -> str:
    if public_key is None:
        return ""
    from qa_pipeline.publishing.signature import signature_problem

    return "signature" if signature_problem(folder, public_key) else ""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("release", type=Path)
    arguments.add_argument("--public-key")
    options = arguments.parse_args()
    found: Counter[str] = Counter()
    applied = 0
    assert not finds(options.release), "the release does not hold before it is edited"
    print("| edit | as it is | file hashes made anew | all made anew | with its signature |")
    print("|---|---|---|---|---|")
    for name, edit in EDITS.items():
        shown = []
        for after in (None, rehash, make_anew):
            with tempfile.TemporaryDirectory() as beside:
                folder = Path(shutil.copytree(options.release, Path(beside) / "1"))
                try:
                    edit(folder)
                    if after is not None:
                        after(folder)
                    shown.append(finds(folder) or "–")
                    signed = finds_by_signature(folder, options.public_key) or "–"
                except NotApplicableError:
                    shown.append("not possible")
                    signed = signed if after is not None and shown[0] != "not possible" else "–"
        applied += shown[0] != "not possible"
        columns = ["as it is", "file hashes", "all", "signature"]
        for column, one in zip(columns, [*shown, signed], strict=True):
            found[column] += one not in ("–", "not possible")
        print(f"| {name} | {' | '.join(shown)} | {signed} |", flush=True)
    print(f"\nOf {applied} edits found: {dict(found)}")


if __name__ == "__main__":
    main()
