import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.registry import SUFFIXES
from qa_pipeline.documents.parsing import ParseOutcome, ParseRequest, parse_in_process
from qa_pipeline.documents.sandbox import pool as pool_module
from qa_pipeline.documents.sandbox.pool import COMMAND, ParsingPool, Worker
from qa_pipeline.errors import SandboxError
from qa_pipeline.records import SourceFile
from qa_pipeline.settings.documents import DocumentSettings, MaskingSettings
from qa_pipeline_tests.benchmarks.robustness.fuzz_documents import damaged_files, fuzz
from qa_pipeline_tests.benchmarks.robustness.fuzz_seeds import built_seeds
from qa_pipeline_tests.documents.builders import pdf_bytes
from qa_pipeline_tests.documents.sandbox import hostile_worker

pytestmark = pytest.mark.slow

HOSTILE = (*COMMAND[:-1], hostile_worker.__name__)
ONE = DocumentSettings(parse_workers=1, parse_seconds=20, parse_memory=300_000_000)
TWO = ONE.model_copy(update={"parse_workers": 2})
SHORT = ONE.model_copy(update={"parse_seconds": 0.5})
PATIENT = ONE.model_copy(update={"parse_seconds": 3600})  # longer than a test may take


def asked(*acts: str) -> list[ParseRequest]:
    return [ParseRequest(SourceFile(f"{act}.x", act.encode()), "hostile") for act in acts]


def text_of(outcome: ParseOutcome) -> str:
    if isinstance(outcome, DocumentFailure):
        return outcome.reason
    return str(outcome["text"])


@pytest.fixture(scope="module")
def pool() -> Iterator[ParsingPool]:
    kept = ParsingPool(os.environ, HOSTILE)
    yield kept
    kept.close()


@pytest.fixture(scope="module")
def real_pool() -> Iterator[ParsingPool]:
    """Workers as they are, for files that do no harm."""
    kept = ParsingPool(os.environ)
    yield kept
    kept.close()


def run(pool: ParsingPool, *acts: str, limits: DocumentSettings = ONE) -> list[str]:
    return [text_of(outcome) for outcome in pool.parse(asked(*acts), limits)]


WORDS = st.text(st.characters(codec="utf-8"), max_size=200)
FILES = st.lists(
    st.one_of(
        st.tuples(st.just("markdown"), WORDS.map(str.encode)),
        st.tuples(st.just("text"), st.binary(max_size=100)),
        st.tuples(st.just("html"), WORDS.map(lambda text: f"<h1>Page</h1><p>{text}<li>{text}".encode())),
        st.tuples(st.just("pdf"), st.text("abc åäö\n", min_size=1, max_size=50).map(pdf_bytes)),
    ),
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILES)
def test_outcomes_are_those_of_parsing_here_in_the_order_of_the_files(
    real_pool: ParsingPool, files: list[tuple[str, bytes]]
) -> None:
    requests = [
        ParseRequest(SourceFile(str(number), content), name) for number, (name, content) in enumerate(files)
    ]
    here = [_comparable(outcome) for outcome in parse_in_process(requests, TWO)]
    assert [_comparable(outcome) for outcome in real_pool.parse(requests, TWO)] == here


def test_every_format_is_parsed_as_it_is_here(real_pool: ParsingPool) -> None:
    requests = [
        ParseRequest(SourceFile(f"a{suffix}", content), SUFFIXES[suffix])
        for suffix, contents in built_seeds().items()
        for content in contents
        if suffix in SUFFIXES
    ]
    assert {request.format for request in requests} == set(SUFFIXES.values())
    outcomes = list(real_pool.parse(requests, TWO))
    assert outcomes == list(parse_in_process(requests, TWO))
    assert all(isinstance(outcome, dict) for outcome in outcomes)


def test_damaged_files_of_every_format_are_rows_of_clean_text_or_a_reason() -> None:
    limits = DocumentSettings(parse_workers=2)
    findings = fuzz(islice(damaged_files([], seed=7), 100), limits, keep=None, reasons=[])
    assert findings.violations == []
    assert findings.rows == 100
    assert "parser_error" not in findings.reasons


def _comparable(outcome: ParseOutcome) -> object:
    return (outcome.reason, outcome.detail) if isinstance(outcome, DocumentFailure) else outcome


HARM = {
    "segfault": ("parser_crashed", "SIGSEGV"),
    "leave": ("parser_crashed", "status 3"),
    "leave_politely": ("parser_crashed", "asked its process to end"),
    "take_memory": ("out_of_memory", "documents.parse_memory = 300000000"),
    "blame_the_file": ("out_of_memory", "documents.parse_memory = 300000000"),
    "take_memory_and_abort": ("out_of_memory", "SIGABRT"),
    "find_no_room": ("out_of_memory", "documents.parse_memory = 300000000"),
    "recurse": ("nested_too_deep", "nested deeper"),
    "stumble secret": ("parser_error", "ValueError in __main__ line"),
    "babble": ("parser_crashed", "cannot be used"),
    "forge {}": ("parser_crashed", "cannot be used"),
    "forge " + "[" * 100_000: ("parser_crashed", "cannot be used"),
    "forge_head {}": ("parser_crashed", "cannot be used"),
    'forge_head {"reason": "Not A Code", "detail": ""}': ("parser_crashed", "cannot be used"),
}


def test_a_parser_that_does_harm_costs_its_own_file_only_and_the_row_says_why(pool: ParsingPool) -> None:
    acts = [act for number, harm in enumerate(HARM) for act in (f"say {number}", harm)]
    outcomes = list(pool.parse(asked(*acts), TWO))
    assert [text_of(outcome) for outcome in outcomes[::2]] == [str(number) for number in range(len(HARM))]
    for failure, (reason, detail) in zip(outcomes[1::2], HARM.values(), strict=True):
        assert isinstance(failure, DocumentFailure)
        assert failure.reason == reason
        assert detail in failure.detail
        assert "secret" not in failure.detail


def test_memory_its_parent_took_while_it_was_started_is_not_the_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The system counts for a new process what its parent held at the fork."""
    start = subprocess.Popen

    def start_while_growing(*arguments: object, **named: object) -> object:
        ballast = b"x" * 500_000_000
        try:
            return start(*arguments, **named)  # type: ignore[call-overload]
        finally:
            del ballast

    monkeypatch.setattr(subprocess, "Popen", start_while_growing)
    grown = ParsingPool(os.environ, HOSTILE)
    try:
        assert run(grown, "segfault") == ["parser_crashed"]
    finally:
        grown.close()


@pytest.mark.parametrize("act", ["hang_in_c", "sleep 600"])
def test_a_parser_that_takes_too_long_is_ended(pool: ParsingPool, act: str) -> None:
    assert run(pool, act, "say after", limits=SHORT) == ["timed_out", "after"]


def test_a_slow_file_holds_up_nothing_but_the_order(pool: ParsingPool, tmp_path: Path) -> None:
    last_was_taken = tmp_path / "last"

    def requests() -> Iterator[ParseRequest]:
        yield from asked(f"wait_for {last_was_taken}", *["say x"] * 50)
        last_was_taken.touch()

    assert [text_of(outcome) for outcome in pool.parse(requests(), TWO)] == ["waited", *["x"] * 50]


def test_only_so_many_outcomes_wait_for_a_slow_file(
    pool: ParsingPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "_MOST_WAITING", 10)
    monkeypatch.setattr(pool_module, "_MOST_BYTES_WAITING", 100_000)
    for text, most in (("x", 10), ("x" * 50_000, 5)):
        taken: list[int] = []

        def requests(text: str = text, taken: list[int] = taken) -> Iterator[ParseRequest]:
            for number, request in enumerate(asked("sleep 1", *[f"say {text}"] * 20)):
                taken.append(number)
                yield request

        outcomes = pool.parse(requests(), TWO)
        next(outcomes)
        assert len(taken) <= most
        assert [text_of(outcome) for outcome in outcomes] == [text] * 20


def test_requests_are_taken_as_workers_get_free(pool: ParsingPool) -> None:
    taken: list[int] = []

    def requests() -> Iterator[ParseRequest]:
        for number, request in enumerate(asked(*["sleep 0.2"] * 16)):
            taken.append(number)
            yield request

    # files take longer than this process may wait for a busy processor, in which others would finish
    for done, _ in enumerate(pool.parse(requests(), TWO), start=1):
        assert len(taken) <= done + 2 * 2 + 1


def test_a_crash_is_not_put_down_to_a_file_that_another_one_left_in_ruins(pool: ParsingPool) -> None:
    assert run(pool, "poison", "segfault only after poison", "say after") == ["done", "unharmed", "after"]


def test_a_worker_that_holds_much_memory_is_replaced(pool: ParsingPool) -> None:
    held = run(pool, *["hold_memory 200000000"] * 3)
    assert len(set(held)) == 3


def test_what_was_reserved_for_other_files_takes_nothing_from_the_next(pool: ParsingPool) -> None:
    assert len(set(run(pool, *["reserve_memory 200000000"] * 3))) == 1


def test_what_libraries_print_reaches_neither_the_protocol_nor_anybody(
    pool: ParsingPool, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(pool, "chatter", "say after", "chatter") == ["done", "after", "done"]
    assert capfd.readouterr() == ("", "")


def test_a_worker_knows_no_keys() -> None:
    environ = {
        **os.environ,
        "GEMINI_API_KEY": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "MY_TOKEN": "c",
        "LC_ALL": "C",
    }
    fresh = ParsingPool(environ, HOSTILE)
    (names,) = run(fresh, "look_around")
    fresh.close()
    assert "LC_ALL" in names
    assert {"KEY", "TOKEN", "SECRET"}.isdisjoint(names.replace("_", " ").split())


def test_a_parser_gets_neither_to_the_network_nor_to_programs_nor_to_files(
    pool: ParsingPool, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("kept")
    assert set(run(pool, f"try_to_get_out {tmp_path / 'file'}")[0].split()) == {"refused"}
    assert (tmp_path / "file").read_text() == "kept"


def test_optical_recognition_may_start_programs_and_write_files_and_no_more(
    pool: ParsingPool, tmp_path: Path
) -> None:
    lent = ONE.model_copy(update={"ocr": True})
    act = f"try_to_get_out {tmp_path / 'file'}"
    assert run(pool, act, limits=lent) == ["refused done done done done done"]
    assert set(run(pool, act)[0].split()) == {"refused"}


def test_a_secret_among_the_settings_reaches_the_worker_over_the_pipe_only() -> None:
    secret = "a key of many characters"
    masking = MaskingSettings(action="mask", key=SecretStr(secret))
    limits = ONE.model_copy(update={"masking": masking})
    request = ParseRequest(SourceFile("a.md", b"Write to anna@example.org."), "markdown")
    fresh = ParsingPool({**os.environ, "QA_PIPELINE_DOCUMENTS__MASKING__KEY": secret})
    here = list(parse_in_process([request], limits))
    assert [_comparable(outcome) for outcome in fresh.parse([request], limits)] == here
    assert "anna" not in text_of(here[0])
    for name in ("cmdline", "environ"):
        (worker,) = fresh.idle
        assert secret.encode() not in Path(f"/proc/{worker._process.pid}/{name}").read_bytes()
    fresh.close()


def test_a_reply_longer_than_any_document_is_not_read(pool: ParsingPool) -> None:
    short = ONE.model_copy(update={"max_characters": 10})
    (failure,) = pool.parse(asked("forge " + "x" * 2_000_000), short)
    assert isinstance(failure, DocumentFailure)


def test_a_reply_that_never_ends_ends_its_worker(pool: ParsingPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "GRACE_SECONDS", 0.5)
    assert run(pool, "send_half", "say after", limits=SHORT) == ["timed_out", "after"]


def test_a_second_reply_is_not_taken_for_that_of_the_next_file(pool: ParsingPool) -> None:
    assert run(pool, "forge_two", "say after") == ["damaged", "after"]


def test_few_files_start_one_worker_and_none_start_none(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    fresh = ParsingPool(os.environ, HOSTILE)
    start = fresh.new_worker

    def counted() -> Worker:
        started.append(1)
        return start()

    monkeypatch.setattr(fresh, "new_worker", counted)
    assert run(fresh, limits=TWO) == []
    assert started == []
    assert run(fresh, "say a", "say b", "say c", limits=TWO) == ["a", "b", "c"]
    assert run(fresh, "say a", limits=TWO) == ["a"]
    assert started == [1]
    fresh.close()


def test_a_worker_that_died_of_itself_between_batches_is_replaced() -> None:
    fresh = ParsingPool(os.environ, HOSTILE)
    assert run(fresh, "say a") == ["a"]
    (worker,) = fresh.idle
    os.kill(worker._process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, worker._process.pid, os.WEXITED | os.WNOWAIT)
    assert run(fresh, "say b") == ["b"]
    fresh.close()


def test_leaving_off_ends_the_worker_that_is_busy() -> None:
    fresh = ParsingPool(os.environ, HOSTILE)
    outcomes = fresh.parse(asked("say a", "sleep 3600", "say b"), PATIENT)
    assert text_of(next(outcomes)) == "a"
    outcomes.close()  # type: ignore[attr-defined]
    assert fresh.idle == []
    assert run(fresh, "say again") == ["again"]
    fresh.close()


@pytest.mark.parametrize(
    ("command", "cause"),
    [
        (("/no/such/program",), "No such file"),
        ((sys.executable, "-c", "import sys; sys.exit('no space left')"), "no space left"),
        ((sys.executable, "-c", "import os; os.abort()"), "SIGABRT"),
    ],
)
def test_workers_that_cannot_be_started_stop_the_run_with_the_cause(
    command: tuple[str, ...], cause: str
) -> None:
    with pytest.raises(SandboxError, match=cause) as caught:
        run(ParsingPool(os.environ, command), "say a")
    assert "parse_workers" in str(caught.value)


def test_a_second_worker_that_cannot_be_started_leaves_the_work_to_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fresh = ParsingPool(os.environ, HOSTILE)
    ways = iter([HOSTILE, ("/no/such/program",)])
    monkeypatch.setattr(fresh, "new_worker", lambda: Worker(next(ways), os.environ))
    assert run(fresh, "sleep 0.5", "say a", "say b", limits=TWO) == ["slept 0.5", "a", "b"]
    fresh.close()


FORKED = """
import os
from qa_pipeline.documents.sandbox.pool import ParsingPool
from qa_pipeline_tests.documents.sandbox.test_pool import HOSTILE, run
pool = ParsingPool(os.environ, HOSTILE)
run(pool, "say a")
worker = pool.idle[0]
child = os.fork()
if not child:
    texts = run(pool, "say b")
    pool.close()
    os._exit(texts != ["b"])
_, status = os.waitpid(child, 0)
assert not status and run(pool, "say c") == ["c"] and pool.idle == [worker]
pool.close()
"""


def test_a_forked_copy_of_the_process_leaves_the_workers_to_its_parent() -> None:
    assert subprocess.run([sys.executable, "-c", FORKED], check=False).returncode == 0


PARENT = """
import os, sys, threading
from qa_pipeline.documents.sandbox.pool import ParsingPool
from qa_pipeline.settings.documents import DocumentSettings, MaskingSettings
from qa_pipeline_tests.documents.sandbox.test_pool import HOSTILE, _children, asked
pool = ParsingPool(os.environ, HOSTILE)
limits = DocumentSettings(parse_workers=1)
outcomes = pool.parse(asked("say a", sys.argv[1]), limits)
next(outcomes)
children = _children(os.getpid())
threading.Thread(target=list, args=(outcomes,), daemon=True).start()
print(*children, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("act", ["hang_in_c", "say b"])
def test_workers_die_with_a_parent_that_is_killed(act: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, act], stdin=-1, stdout=-1)
    with parent:
        assert parent.stdout is not None
        children = [int(child) for child in parent.stdout.readline().split()]
        time.sleep(0.3)
        parent.kill()
    assert children
    while any(_runs(child) for child in children):  # the limit of the test ends the wait
        time.sleep(0.05)


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def _runs(pid: int) -> bool:
    """Whether a process is there and no mere entry that its new parent has not taken note of."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
