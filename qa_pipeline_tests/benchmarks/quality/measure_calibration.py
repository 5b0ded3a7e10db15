"""Whether a calibration keeps its promise: on made-up populations whose true precision is known.

    python -m qa_pipeline_tests.benchmarks.quality.measure_calibration [--trials 2000] [--groups 400]

Prints one JSON line: for each population the share of calibrations that choose a threshold whose true
precision misses the target of 0.95; at a confidence of 0.95 it must not exceed 0.05 but by chance.
"""

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.calibration.populations import broken_promises, falling_off, level, rising

TARGET = 0.95
POPULATIONS = {
    "rising score": rising(0.85),
    "rising score, 4 rows of a source": rising(0.85, rows=4),
    "score says nothing, just below the target": level(0.9499),
    "the same, 4 rows of a source": level(0.9499, rows=4),
    "good only at the top, 3 rows of a source": falling_off(1.0, 0.85, rows=3),
    "bad at the top": falling_off(0.9, 0.97),
}


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--groups", type=int, default=400)
    asked = parser.parse_args()
    found = {
        name: broken_promises(population, target=TARGET, groups=asked.groups, trials=asked.trials, seed=7)
        for name, population in POPULATIONS.items()
    }
    print_json({"trials": asked.trials, "groups": asked.groups, "missed": found})


if __name__ == "__main__":
    main()
