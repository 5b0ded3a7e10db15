"""True rewordings that the local checks accept: 150 in three languages, written before any was tried.

    python -m qa_pipeline_tests.benchmarks.quality.measure_rewordings [--open]

`rewordings.tsv` has language, kind, evidence and claim in each line. Prints one JSON line: how many are
accepted, left open and rejected, by language. With --open also each that is not accepted, and why.
"""

import csv
from collections import Counter
from pathlib import Path

from qa_pipeline.verification.consistency.proof import Proof, prove
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

LINES = Path(__file__).with_name("rewordings.tsv")


def proof_of(language: str, evidence: str, claim: str) -> Proof:
    """What the evidence proves of a claim that answers no question."""
    stated, source, nothing = read(claim, language), read(evidence, language), read("", language)
    return prove(
        stated,
        source,
        question=nothing,
        answer=stated,
        headings=nothing,
        elsewhere=(source,),
        fragment=False,
        is_row=" | " in evidence,
    )


def main() -> None:
    """Measure the file beside this one."""
    parser = parser_of(__doc__)
    parser.add_argument("--open", action="store_true")
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    with LINES.open(encoding="utf-8") as lines:
        for language, kind, evidence, claim in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            proof = proof_of(language, evidence, claim)
            outcome = "rejected" if proof.denied else "open" if proof.unproved else "accepted"
            for group in (language, "all"):
                counts.setdefault(group, Counter())[outcome] += 1
            if given.open and outcome != "accepted":
                print(f"{outcome} {language} {kind}: {evidence} -> {claim} ({'; '.join(proof.unproved)})")
    print_json({group: dict(found) for group, found in counts.items()})


if __name__ == "__main__":
    main()
