"""A reader that polls the latest release while it is published again and again, and publishers are killed.

    python -m qa_pipeline_tests.benchmarks.robustness.poll_releases --out FOLDER
        [--publishes 200] [--kills 10]

FOLDER is an output folder with finished batches. Each publish has another setting, so that each is a release
of its own. Whatever the pointer names is read whole and held against its manifest, every time.
"""

import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from qa_pipeline.publishing.manifest import LATEST, load_release, read_manifest, release_folder
from qa_pipeline.storage.hashes import hash_file
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

PUBLISHER = """
import sys
from pathlib import Path
from qa_pipeline.publishing.release import publish_release
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import load_settings

out, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
for number in range(first, last):
    settings = load_settings(out=out, release={"min_grounding": number / 1_000_000})
    publish_release(Resources(settings))
    print(number, flush=True)
"""


def main() -> None:
    """Publish, kill and read; print what was seen."""
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--publishes", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    lots = random.Random(given.seed)
    killed_at = set(lots.sample(range(1, given.publishes), given.kills))
    releases, kills, done = Layout(given.out).releases, 0, 0
    seen: Counter[str | None] = Counter()
    ended = threading.Event()
    reader = threading.Thread(target=_poll, args=(releases, seen, ended))
    reader.start()
    while done < given.publishes:
        command = [sys.executable, "-c", PUBLISHER, str(given.out), str(done), str(given.publishes)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as publisher:
            stdout = publisher.stdout
            assert stdout is not None
            for line in stdout:
                done = int(line) + 1
                if done in killed_at:
                    killed_at.remove(done)
                    time.sleep(lots.random() * 0.3)  # somewhere within the next publish
                    publisher.send_signal(signal.SIGKILL)
                    kills += 1
                    break
    ended.set()
    reader.join()
    broken = seen.pop(None, 0)
    left = len([one for one in releases.iterdir() if one.name.endswith(".tmp")])
    print_json(
        {"publishes": done, "kills": kills, "reads": seen.total(), "broken_reads": broken,
            "releases_seen": len(seen), "left_behind": left}
    )  # fmt: skip


def _poll(releases: Path, seen: "Counter[str | None]", ended: threading.Event) -> None:
    while not ended.is_set():
        if (releases / LATEST).exists():
            seen[_read(releases)] += 1


def _read(releases: Path) -> str | None:
    """The release that the pointer names, None where it is not whole."""
    folder = release_folder(releases)
    manifest = read_manifest(folder)
    whole = all(hash_file(folder / name) == told.sha256 for name, told in manifest.files.items())
    rows = {one: load_release(folder, one).collect().height for one in manifest.splits}
    return folder.name if whole and rows == manifest.splits else None


if __name__ == "__main__":
    main()
