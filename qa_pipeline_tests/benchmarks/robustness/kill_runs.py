"""Kills at seeded moments: of a deployment's parts, or of programs that write to a disk or an object store.

    python -m qa_pipeline_tests.benchmarks.robustness.kill_runs deployment --seeds 1 2 3
    python -m qa_pipeline_tests.benchmarks.robustness.kill_runs disk --seeds 1 2 --kills 8
    python -m qa_pipeline_tests.benchmarks.robustness.kill_runs store --seeds 1 --kills 8

Prints a JSON line for each kill, and one for each seed with what was seen afterwards. `problems` is empty
where the tables (and the release, of programs) are those of an undisturbed run, no draft is there, a reader
saw whole files alone, and no request was answered again after its reply was stored. Programs are runs of all
batches, then publishers; a store also answers 503, or each request a second late, or is killed itself.
"""

import json
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from qa_pipeline.publishing.release import publish_release
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline.settings.location import output_folder
from qa_pipeline_tests.benchmarks.robustness.measure_kills import asked_again
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.defs.project import GUIDE
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.llm.postgres_server import running_server
from qa_pipeline_tests.support.object_store import BUCKET, Proxy, access, free_ports, seaweedfs
from qa_pipeline_tests.support.servers import ChatServer
from qa_pipeline_tests.system.hashed_location import hashed_resources, make_batches
from qa_pipeline_tests.system.kills import LATENCY, Reader, drafts, hosted, run_under_kills

LONGEST_FAULT = 20.0
"""Seconds of a fault of the store: some outlast the tries of a request."""
TRIES = 5
"""Plain runs after the last kill, each of which may meet what the one before left."""
Strike = Callable[[BaseProcess, random.Random], float]


def publish() -> None:
    """Publish a release of all batches."""
    publish_release(hashed_resources())


def _with_environment(environment: dict[str, str], work: Callable[[], None]) -> None:
    os.environ.update(environment)
    work()


class Programs:
    """Programs of one environment, forked from a process that has imported what they need."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__])

    def start(self, work: Callable[[], None]) -> BaseProcess:
        """Start one."""
        process = self._context.Process(target=_with_environment, args=(self.environment, work))
        process.start()
        return process

    def finish(self, work: Callable[[], None]) -> int:
        """Run one until it ends well, and return how many it took."""
        for tries in range(1, TRIES + 1):
            process = self.start(work)
            process.join()
            if process.exitcode == 0:
                return tries
        raise AssertionError(f"{work.__name__} did not end well in {TRIES} tries")


def killed(process: BaseProcess, _: random.Random) -> float:
    """Kill a program."""
    process.kill()
    process.join()
    return 0.0


class FailingStore:
    """SeaweedFS behind a proxy, and what may befall it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder, self._ports, self._stack = folder, free_ports(4), ExitStack()
        self.url = self._start()
        self.proxy = Proxy(self.url)

    def _start(self) -> str:
        return self._stack.enter_context(seaweedfs(self._folder, self._ports))

    @contextmanager
    def running(self) -> Iterator["FailingStore"]:
        with self.proxy:
            yield self
        self._stack.close()

    def refuse(self, _: BaseProcess, lots: random.Random) -> float:
        """Answer 503 for a while."""
        self.proxy.refuses = 1.0
        seconds = _waited(lots)
        self.proxy.refuses = 0.0
        return seconds

    def delay(self, _: BaseProcess, lots: random.Random) -> float:
        """Answer everything a second late for a while."""
        self.proxy.delays, self.proxy.seconds = 1.0, 1.0
        seconds = _waited(lots)
        self.proxy.delays = 0.0
        return seconds

    def restart(self, _: BaseProcess, lots: random.Random) -> float:
        """Kill the store and start it again."""
        self._stack.close()
        seconds = _waited(lots)
        self._start()
        return seconds

    @property
    def strikes(self) -> Mapping[str, Strike]:
        return {
            "program on a store": killed,
            "store answers 503": self.refuse,
            "store is slow": self.delay,
            "store is killed": self.restart,
        }


def _waited(lots: random.Random) -> float:
    seconds = lots.uniform(0, LONGEST_FAULT)
    time.sleep(seconds)
    return seconds


def contents(out: Path) -> dict[str, bytes]:
    """All files by path, but those of caches and locks, addresses of corpora, and the account of calls.

    Of a release its facts are there one by one, without what its calls cost, in place of the two files that
    hold the hash of that: a call that was in flight at a kill is paid again.
    """
    aside = {"cache", ".lock", "origins", "llm_calls", "README.md", "manifest.json"}
    files = ((path.relative_to(out), path) for path in out.rglob("*") if path.is_file())
    made = {str(name): path.read_bytes() for name, path in files if aside.isdisjoint(str(name).split("/"))}
    for name in [name for name in made if name.endswith("/facts.json")]:
        facts = json.loads(made.pop(name))
        made |= {f"{name}#{key}": json.dumps(value).encode() for key, value in facts.items()}
    return made


def strike_all(
    programs: Programs,
    work: Callable[[], None],
    place: Path,
    moments: list[int],
    strikes: Mapping[str, Strike],
    lots: random.Random,
) -> list[dict[str, Any]]:
    """Strike when so many files are there, starting the program again where it has ended, and finish it."""
    kills: list[dict[str, Any]] = []
    process = programs.start(work)
    for moment in sorted(moments):
        if not process.is_alive():
            process = programs.start(work)
        while process.is_alive() and (there := len([*place.rglob("*")])) < moment:
            time.sleep(0.02)
        if not process.is_alive():
            continue
        time.sleep(lots.uniform(0, 0.2))
        kind = lots.choice(list(strikes))
        away = strikes[kind](process, lots)
        kills.append({"kind": kind, "of": work.__name__, "files": there, "seconds_away": round(away, 2)})
        print_json(kills[-1])
    process.join()
    for lock in place.glob(".lock/*"):
        lock.unlink()  # as 60 seconds would
    return kills


def kill_programs(folder: Path, seed: int, count: int, *, on_store: bool) -> dict[str, Any]:
    """Run and publish under kills; return what was seen."""
    lots, began = random.Random(seed), time.monotonic()
    for batch in ("b1", "b2", "b3"):
        file = folder / "corpus" / batch / "guide.md"
        file.parent.mkdir(parents=True)
        file.write_text(GUIDE.format(name=batch), encoding="utf-8")
    with ExitStack() as servers:
        models = servers.enter_context(ChatServer(plan=ServerPlan(latency=LATENCY)))
        common = {**hosted(models), "QA_PIPELINE_CORPUS": str(folder / "corpus")}
        caches = {name: str(folder / name / "cache") for name in ("calm", "hit")}
        calm = Programs(
            {**common, "QA_PIPELINE_OUT": str(folder / "calm"), "QA_PIPELINE_CACHE": caches["calm"]}
        )
        calm.finish(make_batches)
        batch_files = len([*(folder / "calm").rglob("*")])
        calm.finish(publish)
        release_files = len([*(folder / "calm" / "releases").rglob("*")])
        needed, undisturbed = models.stats.answered, contents(folder / "calm")

        address = str(folder / "hit" / "out")
        strikes: Mapping[str, Strike] = {"program": killed}
        environment: dict[str, str] = {}
        if on_store:
            store = servers.enter_context(FailingStore(folder / "store").running())
            address, strikes = f"s3://{BUCKET}/out", store.strikes
            environment = access(store.proxy.url)
            os.environ.update(access(store.url))
        environment |= {"QA_PIPELINE_OUT": address, "QA_PIPELINE_CACHE": caches["hit"]}
        hit = Programs({**common, **environment})
        out = output_folder(address)
        kills: list[dict[str, Any]] = []
        runs = 0
        with Reader(folder / "hit") as reader:
            for work, place, files, share in (
                (make_batches, out, batch_files, 2 / 3),
                (publish, out / "releases", release_files, 1 / 3),
            ):
                number = min(round(count * share), files - 1)
                moments = lots.sample(range(1, files), number)
                kills += strike_all(hit, work, place, moments, strikes, lots)
                runs += hit.finish(work)
        made = contents(out)
        checks = verify_release(out / "releases" / "1")
        problems = {
            "different": sorted(dict(undisturbed.items() ^ made.items())),
            "drafts": drafts(folder / "hit"),
            "torn": reader.torn,
            "paid twice": asked_again(folder / "hit"),
            "asked too often": max(0, models.stats.answered - 2 * needed - 2 * len(kills)),
            "release": [check.name for check in checks if not check.holds],
        }
    return {
        "seed": seed,
        "kills": len(kills),
        "files": len(made),
        "reads": reader.reads,
        "needed": needed,
        "asked": models.stats.answered - needed,
        "runs_after_the_last_kill": runs,
        "seconds": round(time.monotonic() - began, 1),
        "problems": {name: value for name, value in problems.items() if value},
    }


def main() -> None:
    """Kill, and print a line for each kill and each seed."""
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=("deployment", "disk", "store"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--kills", type=int, default=8, help="of each seed, where programs are killed")
    options = parser.parse_args()
    for seed in options.seeds:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if options.what != "deployment":
                print_json(kill_programs(folder, seed, options.kills, on_store=options.what == "store"))
                continue
            with running_server() as postgres:
                batches = ("b1", "b2")
                outcome = run_under_kills(
                    folder, postgres, batches, seed, lambda kill: print_json(asdict(kill))
                )
            print_json(outcome.as_dict())


if __name__ == "__main__":
    main()
