"""Seconds and peak memory of a release and of its verification, for two numbers of rows.

    python -m qa_pipeline_tests.benchmarks.speed.bench_release OUT WORK [--batch NAME]
        [--rows 500000 1000000]

OUT is an output folder with a finished batch. WORK gets as many copies of it as the rows need: in each the
letters of all texts and ids are exchanged for others of their own, so that offsets stay and nothing is equal
between two copies. Copies that are there are used again. Each step is a process of its own.
"""

import json
import random
import string
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

KEPT = (
    "answer_style asked_model citation_reason citation_status coverage currency decided_by decision detail "
    "difficulty entailment_model entailment_reason expected expected_kind expected_verdict family format "
    "generator guarded_by judge kind language licence licences llm_decision mechanism model model_revision "
    "origin outcome parsed_by persona planned_type precision prompt_hash question_type reason repair repeats "
    "replied_model resolution role scope self_contained source_fields span_model span_reason split_by "
    "split_reason stage status support_level thresholds_id verdict what why"
)
"""Fields that hold codes and names of models."""
IDS = ("_id", "_ids", "sha256", "duplicate_of", "_group")
FIXED = "source"
"""Letters of the marks that answers cite with."""


def main() -> None:
    """Copy, measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--batch", default="httpd-en-html")
    parser.add_argument("--rows", type=int, nargs="+", default=[500_000, 1_000_000])
    given = parser.parse_args()
    held = pq.read_metadata(given.out / "tables" / "training_examples" / f"{given.batch}.parquet").num_rows
    for rows in sorted(given.rows):
        copies = -(-rows // held)
        _copy(given.out, given.work, given.batch, copies)
        folder = given.work / str(copies)
        _link(given.work / "copies", folder, copies)
        published = _measured("release", "--out", str(folder), "--json")
        verified = _measured("verify", str(folder / "releases"), "--json")
        release = Path(json.loads(published["stdout"])["folder"])
        size = sum(path.stat().st_size for path in release.rglob("*") if path.is_file())
        print_json(
            {
                "benchmark": "release",
                "rows": copies * held,
                "batches": copies,
                "release_gib": round(size / 2**30, 2),
                "publish": {name: published[name] for name in ("seconds", "peak_mib")},
                "verify": {name: verified[name] for name in ("seconds", "peak_mib")},
                "left_out": json.loads(published["stdout"])["rows_left_out"],
                "holds": json.loads(verified["stdout"])["holds"],
            }
        )


def _measured(*command: str) -> dict[str, Any]:
    """What a command printed, how long it took, and its peak memory."""
    began = time.perf_counter()
    code = (
        "import resource, sys\n"
        "from qa_pipeline.cli.app import app\n"
        "try:\n    app(sys.argv[1:])\n"
        "finally:\n    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout[:2000] + done.stderr)
    return {
        "stdout": done.stdout,
        "seconds": round(time.perf_counter() - began, 1),
        "peak_mib": int(done.stderr.split()[-1]),
    }


def _copy(out: Path, work: Path, batch: str, copies: int) -> None:
    tables = {path.parent.name: _read(path) for path in sorted(out.glob(f"tables/*/{batch}.parquet"))}
    for number in range(copies):
        marker = work / "copies" / "training_examples" / f"c{number:05}.parquet"
        if marker.exists():
            continue
        letters = [one for one in string.ascii_lowercase if one not in FIXED]
        other = letters.copy()
        random.Random(number).shuffle(other)
        cipher = str.maketrans(
            "".join(letters) + "".join(letters).upper(), "".join(other) + "".join(other).upper()
        )
        digits = random.Random(number).sample(string.digits, 10)  # ids without other letters differ too
        ciphers = [cipher, cipher | str.maketrans(string.digits, "".join(digits))]
        exchanged = [bytes(range(256)).decode("latin-1").translate(one).encode("latin-1") for one in ciphers]
        for name in sorted(tables, key=lambda one: one == "training_examples"):
            table = tables[name]
            columns = [
                pa.array([f"c{number:05}"] * table.num_rows, field.type)
                if field.name == "batch"
                else _exchanged(column.combine_chunks(), field, exchanged)
                for field, column in zip(table.schema, table.columns, strict=True)
            ]
            path = work / "copies" / name / f"c{number:05}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_arrays(columns, schema=table.schema), path, compression="zstd")


def _read(path: Path) -> pa.Table:
    """A table with what its file says of it."""
    said = pq.read_metadata(path).metadata
    return pq.read_table(path).replace_schema_metadata(
        {k: v for k, v in said.items() if k != b"ARROW:schema"}
    )


def _exchanged(values: pa.Array, field: pa.Field, exchanged: list[bytes]) -> pa.Array:
    """The values with the letters of their texts exchanged, fields of codes apart."""
    kind = values.type
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        inner = _exchanged(values.values, kind.value_field.with_name(field.name), exchanged)
        return type(values).from_arrays(values.offsets, inner, type=kind, mask=values.is_null())
    if pa.types.is_struct(kind):
        fields = [kind.field(n) for n in range(kind.num_fields)]
        inner = [_exchanged(values.field(n), one, exchanged) for n, one in enumerate(fields)]
        return pa.StructArray.from_arrays(inner, fields=fields, mask=values.is_null())
    if field.name in KEPT.split() or not (pa.types.is_large_string(kind) or pa.types.is_string(kind)):
        return values
    valid, offsets, content = values.buffers()
    if content is None:
        return values
    moved = pa.py_buffer(content.to_pybytes().translate(exchanged[field.name.endswith(IDS)]))
    return pa.Array.from_buffers(kind, len(values), [valid, offsets, moved], offset=values.offset)


def _link(copies: Path, folder: Path, count: int) -> None:
    """An output folder of the first `count` copies."""
    for table in copies.iterdir():
        own = folder / "tables" / table.name
        own.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            name = f"c{number:05}.parquet"
            if not (own / name).exists():
                (own / name).hardlink_to(table / name)


if __name__ == "__main__":
    main()
