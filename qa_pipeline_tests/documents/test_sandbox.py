import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from qa_pipeline.documents import sandbox
from qa_pipeline.documents.corpus.files import SUFFIXES, DocumentFailure
from qa_pipeline.documents.parsing import ParseOutcome, ParseRequest, parse_in_process
from qa_pipeline.documents.sandbox import ParsingPool
from qa_pipeline.errors import SandboxError
from qa_pipeline.records import SourceFile
from qa_pipeline.settings.documents import DocumentSettings, MaskingSettings
from qa_pipeline_tests.benchmarks.robustness.fuzz_seeds import built_seeds
from qa_pipeline_tests.documents.sandbox import hostile_worker
from qa_pipeline_tests.support.processes import children_of

pytestmark = pytest.mark.slow

ONE = DocumentSettings(parse_workers=1, parse_seconds=20, parse_memory=800_000_000)
TWO = ONE.model_copy(update={"parse_workers": 2})
SHORT = ONE.model_copy(update={"parse_seconds": 0.5})
PATIENT = ONE.model_copy(update={"parse_seconds": 3600})  # longer than a test may take


def asked(*programs: str) -> list[ParseRequest]:
    return [ParseRequest(SourceFile("a.x", program.encode()), "hostile") for program in programs]


def say(text: str) -> str:
    """A file that does no harm."""
    return f"text = {text!r}"


def text_of(outcome: ParseOutcome) -> str:
    if isinstance(outcome, DocumentFailure):
        return outcome.reason
    return str(outcome["text"])


@pytest.fixture(scope="module")
def pool() -> Iterator[ParsingPool]:
    kept = ParsingPool(os.environ, hostile_worker.COMMAND)
    yield kept
    kept.close()


@pytest.fixture
def fresh() -> Iterator[ParsingPool]:
    kept = ParsingPool(os.environ, hostile_worker.COMMAND)
    yield kept
    kept.close()


def run(pool: ParsingPool, *acts: str, limits: DocumentSettings = ONE) -> list[str]:
    return [text_of(outcome) for outcome in pool.parse(asked(*acts), limits)]


def test_every_format_is_parsed_as_it_is_here_in_the_order_of_the_files() -> None:
    requests = [
        ParseRequest(SourceFile(f"a{suffix}", content), SUFFIXES[suffix])
        for suffix, contents in built_seeds().items()
        for content in contents
        if suffix in SUFFIXES
    ]
    assert {request.format for request in requests} == set(SUFFIXES.values())
    real_pool = ParsingPool(os.environ)
    outcomes = list(real_pool.parse(requests, TWO))
    real_pool.close()
    assert outcomes == list(parse_in_process(requests, TWO))
    assert all(isinstance(outcome, dict) for outcome in outcomes)


HARM = {
    "crash()": "parser_crashed",
    "os._exit(1)": "parser_crashed",
    "take_memory()": "out_of_memory",
    # what libraries in C do when they get no memory
    """try: take_memory()
except MemoryError: raise sandbox.DocumentFailure('damaged', '') from None""": "out_of_memory",
    "def recurse(): recurse()\nrecurse()": "nested_too_deep",
    "raise ValueError('secret')": "parser_error",
    "forge('\xff')": "parser_crashed",
    "forge('+{}')": "parser_crashed",
    "forge('+' + '[' * 100_000)": "parser_crashed",
    "forge('-{}')": "parser_crashed",
    """forge('-["Not A Code", ""]')""": "parser_crashed",
}


def test_a_parser_that_does_harm_costs_its_own_file_only_and_the_row_says_why(pool: ParsingPool) -> None:
    programs = [program for number, harm in enumerate(HARM) for program in (say(str(number)), harm)]
    outcomes = list(pool.parse(asked(*programs), TWO))
    assert [text_of(outcome) for outcome in outcomes[::2]] == [str(number) for number in range(len(HARM))]
    assert [text_of(outcome) for outcome in outcomes[1::2]] == list(HARM.values())
    assert not any("secret" in failure.detail for failure in outcomes if isinstance(failure, DocumentFailure))


@pytest.mark.parametrize("act", ["hang()", "time.sleep(600)"])
def test_a_parser_that_takes_too_long_is_ended(pool: ParsingPool, act: str) -> None:
    assert run(pool, act, say("after"), limits=SHORT) == ["timed_out", "after"]


def test_a_parser_that_stops_the_clock_is_ended_too(
    pool: ParsingPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_GRACE_SECONDS", 0.5)
    stop = "import signal; signal.setitimer(signal.ITIMER_REAL, 0); time.sleep(600)"
    assert run(pool, say("before"), stop, say("after"), limits=SHORT)[1:] == ["timed_out", "after"]


def test_a_slow_file_holds_up_nothing_but_the_order(pool: ParsingPool, tmp_path: Path) -> None:
    last_was_taken = tmp_path / "last"

    def requests() -> Iterator[ParseRequest]:
        yield from asked(f"while not os.path.exists('{last_was_taken}'): time.sleep(0.01)", *[say("x")] * 50)
        last_was_taken.touch()

    assert [text_of(outcome) for outcome in pool.parse(requests(), TWO)] == ["done", *["x"] * 50]


def test_a_file_is_not_blamed_for_what_an_earlier_one_left_behind(fresh: ParsingPool) -> None:
    assert run(fresh, "held.append(1)", "if held: crash()", say("after")) == ["done", "done", "after"]


def test_what_libraries_print_reaches_neither_the_protocol_nor_anybody(
    pool: ParsingPool, capfd: pytest.CaptureFixture[str]
) -> None:
    chatter = "for number in (1, 2): os.write(number, b'x' * 10_000_000)"
    assert run(pool, chatter, say("after")) == ["done", "after"]
    assert capfd.readouterr() == ("", "")


def test_a_worker_knows_no_keys() -> None:
    environ = {**os.environ, "GEMINI_API_KEY": "a", "AWS_SECRET_ACCESS_KEY": "b", "MY_TOKEN": "c"}
    fresh = ParsingPool(environ, hostile_worker.COMMAND)
    (names,) = run(fresh, "text = ' '.join(os.environ)")
    fresh.close()
    assert {"KEY", "TOKEN", "SECRET"}.isdisjoint(names.replace("_", " ").split())


def test_only_optical_recognition_may_write_files(pool: ParsingPool, tmp_path: Path) -> None:
    act = f"open('{tmp_path / 'file'}', 'w').write('x' * 100_000)"
    assert run(pool, act) == ["parser_error"]
    assert run(pool, act, limits=ONE.model_copy(update={"ocr": True})) == ["done"]
    assert run(pool, act) == ["parser_error"]


def test_a_secret_among_the_settings_reaches_the_worker_over_the_connection_only() -> None:
    secret = "a key of many characters"
    masking = MaskingSettings(action="mask", key=SecretStr(secret))
    limits = ONE.model_copy(update={"masking": masking})
    request = ParseRequest(SourceFile("a.md", b"Write to anna@example.org."), "markdown")
    fresh = ParsingPool({**os.environ, "QA_PIPELINE_DOCUMENTS__MASKING__KEY": secret})
    (here,) = parse_in_process([request], limits)
    assert list(fresh.parse([request], limits)) == [here]
    assert "anna" not in text_of(here)
    for name in ("cmdline", "environ"):
        (worker,) = fresh.idle
        assert secret.encode() not in Path(f"/proc/{worker.process.pid}/{name}").read_bytes()
    fresh.close()


def test_a_second_reply_is_not_taken_for_that_of_the_next_file(pool: ParsingPool) -> None:
    assert run(pool, """forge('-["damaged", ""]', 2)""", say("after")) == ["damaged", "after"]


def test_a_worker_that_died_of_itself_between_batches_is_replaced(fresh: ParsingPool) -> None:
    assert run(fresh, say("a")) == ["a"]
    (worker,) = fresh.idle
    os.kill(worker.process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, worker.process.pid, os.WEXITED | os.WNOWAIT)
    assert run(fresh, say("b")) == ["b"]


def test_leaving_off_ends_the_worker_that_is_busy(fresh: ParsingPool) -> None:
    outcomes = fresh.parse(asked(say("a"), "time.sleep(3600)", say("b")), PATIENT)
    assert text_of(next(outcomes)) == "a"
    children = {*children_of(os.getpid())}
    outcomes.close()  # type: ignore[attr-defined]
    assert children
    assert not any(runs(child) for child in children - {*children_of(os.getpid())})
    assert run(fresh, say("again")) == ["again"]


@pytest.mark.parametrize(
    ("command", "cause"),
    [(("/no/such/program",), "No such file"), ((sys.executable, "-c", "import os; os.abort()"), "Aborted")],
)
def test_workers_that_cannot_be_started_stop_the_run_with_the_cause(
    command: tuple[str, ...], cause: str
) -> None:
    with pytest.raises(SandboxError, match=cause):
        run(ParsingPool(os.environ, command), say("a"))


PARENT = """
import os, sys, threading
from qa_pipeline.documents.sandbox import ParsingPool
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.sandbox import hostile_worker
from qa_pipeline_tests.documents.test_sandbox import asked, say
from qa_pipeline_tests.support.processes import children_of
pool = ParsingPool(os.environ, hostile_worker.COMMAND)
limits = DocumentSettings(parse_workers=1, parse_seconds=2)
outcomes = pool.parse(asked(say("a"), sys.argv[1]), limits)
next(outcomes)
threading.Thread(target=list, args=(outcomes,), daemon=True).start()
print(*children_of(os.getpid()), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("act", ["hang()", "text = 'b'"])
def test_workers_end_after_a_parent_that_is_killed(act: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, act], stdin=-1, stdout=-1)
    with parent:
        assert parent.stdout is not None
        children = [int(child) for child in parent.stdout.readline().split()]
        time.sleep(0.3)
        parent.kill()
    assert children
    while any(runs(child) for child in children):  # the limit of the test ends the wait
        time.sleep(0.05)


def runs(pid: int) -> bool:
    """Return True unless a process is gone, or a mere entry that its parent has not taken note of."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_reply_that_is_too_long_is_no_lack_of_memory(pool: ParsingPool) -> None:
    announce = "os.write(int(sys.argv[1]), (2**30).to_bytes(4, 'big')); time.sleep(60)"
    assert run(pool, announce, say("after")) == ["parser_crashed", "after"]
