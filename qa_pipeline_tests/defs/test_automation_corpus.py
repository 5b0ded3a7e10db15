"""The sensor registers, reports and requests each change once; a bad folder harms no other."""

import os
import shutil
from pathlib import Path

import dagster as dg
import fsspec
import pytest

from qa_pipeline.curation.withdrawals import note_origin
from qa_pipeline.defs import automation
from qa_pipeline.defs.assets import corpus as corpus_asset
from qa_pipeline.defs.automation import BATCHES_A_TICK, DATA_VERSION, batch_versions, corpus_sensor
from qa_pipeline.defs.steps import PARTITIONS_NAME
from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings


class Ticker:
    """Ticks the sensor as the daemon does: keeps the cursor and applies what comes back."""

    def __init__(self, corpus: Path) -> None:
        self.corpus = corpus
        self.instance = dg.DagsterInstance.ephemeral(tempdir=str(corpus.parent))
        self.resources = Resources(Settings(corpus=corpus, out=corpus.parent / "out"))
        self.cursor: str | None = None
        self.keys: list[str] = []

    def evaluate(self) -> dg.SensorResult | dg.SkipReason:
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, resources={"resources": self.resources}
        )
        return corpus_sensor(context)  # type: ignore[return-value]

    def tick(self) -> dg.SensorResult:
        result = self.evaluate()
        assert isinstance(result, dg.SensorResult)
        keys = [str(request.run_key) for request in result.run_requests or []]
        assert not set(keys) & set(self.keys)
        self.keys += keys
        self.cursor = result.cursor
        for request in result.dynamic_partitions_requests or []:
            if isinstance(request, dg.AddDynamicPartitionsRequest):
                self.instance.add_dynamic_partitions(PARTITIONS_NAME, list(request.partition_keys))
            else:
                for name in request.partition_keys:
                    self.instance.delete_dynamic_partition(PARTITIONS_NAME, name)
        for event in result.asset_events:
            self.instance.report_runless_asset_event(event)
        return result

    def reported(self) -> list[str]:
        """Batches reported by one tick more."""
        return reported(self.tick())

    @property
    def partitions(self) -> list[str]:
        return sorted(self.instance.get_dynamic_partitions(PARTITIONS_NAME))


def reported(result: dg.SensorResult) -> list[str]:
    """Batches of which new content is reported, and whose run is requested."""
    kinds = (dg.AssetObservation, dg.AssetMaterialization)
    observed, materialized = (
        [str(event.partition) for event in result.asset_events if isinstance(event, kind)] for kind in kinds
    )
    assert observed == materialized
    requested = [str(request.partition_key) for request in result.run_requests or []]
    assert [name for name in materialized if name in requested] == requested
    return requested


def version(ticker: Ticker, batch: str) -> str:
    """The content of a batch as it was last reported."""
    records = dg.AssetRecordsFilter(corpus_asset.key, asset_partitions=[batch])
    (record,) = ticker.instance.fetch_materializations(records, limit=1).records
    assert record.asset_materialization is not None
    return (record.asset_materialization.tags or {})[DATA_VERSION]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for batch in ("b1", "b2"):
        write(tmp_path / "corpus" / batch / "a.txt", f"Text of {batch}.")
    return tmp_path / "corpus"


@pytest.fixture
def ticker(corpus: Path) -> Ticker:
    """Both batches of the corpus are reported."""
    ticker = Ticker(corpus)
    ticker.tick(), ticker.tick()
    return ticker


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_new_folders_are_registered_at_once_and_reported_when_they_stand_still(corpus: Path) -> None:
    ticker = Ticker(corpus)
    assert ticker.reported() == []
    assert ticker.partitions == ["b1", "b2"]
    assert ticker.reported() == ["b1", "b2"]
    versions = batch_versions(open_corpus(corpus), ticker.resources.layout, ["b1"])
    assert versions == {"b1": version(ticker, "b1")}
    assert ticker.reported() == []


@pytest.mark.parametrize(
    ("changed", "most"),
    [(0, 2), (5, 2), pytest.param(500, BATCHES_A_TICK, marks=pytest.mark.slow)],
)
def test_every_changed_batch_is_reported_once_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: int, most: int
) -> None:
    monkeypatch.setattr(automation, "BATCHES_A_TICK", most)
    corpus = tmp_path / "corpus"
    names = {f"b{number:03}" for number in range(max(changed, 1))}
    for name in names:
        write(corpus / name / "a.txt", f"Text of {name}.")
    ticker = Ticker(corpus)
    ticker.instance.add_dynamic_partitions(PARTITIONS_NAME, sorted(names))
    ticks = -(-len(names) // most) + 1
    first = [name for _ in range(ticks) for name in ticker.reported()]
    assert (sorted(first), ticker.reported()) == (sorted(names), [])
    due = sorted(names)[:changed]
    for name in due:
        write(corpus / name / "a.txt", f"Another text of {name}.")
    again = [name for _ in range(ticks) for name in ticker.reported()]
    assert (sorted(again), ticker.reported()) == (due, [])


def test_a_folder_still_being_copied_is_left_alone_until_it_stands_still(ticker: Ticker) -> None:
    for number in range(3):
        write(ticker.corpus / "b3" / f"{number}.txt", "more")
        assert ticker.reported() == []
    assert ticker.reported() == ["b3"]


def test_content_that_comes_back_with_its_old_times_is_requested_again(ticker: Ticker) -> None:
    file = ticker.corpus / "b1" / "a.txt"
    first, times = file.read_text(), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    for text in ("Another text.", first):
        file.write_text(text)
        if text == first:
            os.utime(file, ns=times)
        assert [ticker.reported() for _ in range(3)] == [[], ["b1"], []]


def test_a_lost_cursor_reports_nothing_twice(ticker: Ticker) -> None:
    ticker.cursor = None
    assert ticker.reported() == []
    assert ticker.reported() == []


@pytest.mark.parametrize("is_edited", [True, False])
def test_the_partition_of_a_removed_folder_goes_and_comes_back_with_the_folder(
    ticker: Ticker, is_edited: bool
) -> None:
    layout = ticker.resources.layout
    note_origin(layout, "b1", ticker.corpus)
    write(layout.table("chunks", "b1"), "rows")
    (ticker.corpus / "b1").rename(ticker.corpus.parent / "aside")
    assert "b1" in str(ticker.tick().skip_reason)
    assert ticker.partitions == ["b2"]
    (ticker.corpus.parent / "aside").rename(ticker.corpus / "b1")
    if is_edited:
        write(ticker.corpus / "b1" / "a.txt", "It is back.")
    assert [ticker.reported() for _ in range(3)] == [[], ["b1"], []]
    assert ticker.partitions == ["b1", "b2"]


def test_the_partition_of_a_removed_folder_stays_while_its_run_goes_on(ticker: Ticker) -> None:
    run = ticker.instance.create_run_for_job(
        dg.GraphDefinition(name="empty").to_job(),
        tags={"dagster/partition": "b1"},
        status=dg.DagsterRunStatus.STARTED,
    )
    shutil.rmtree(ticker.corpus / "b1")
    ticker.tick()
    assert ticker.partitions == ["b1", "b2"]
    ticker.instance.report_run_canceled(run)
    ticker.tick()
    assert ticker.partitions == ["b2"]


def test_the_partition_of_a_batch_that_was_read_from_another_corpus_stays(corpus: Path) -> None:
    ticker = Ticker(corpus)
    ticker.tick()
    note_origin(ticker.resources.layout, "b1", corpus.parent / "elsewhere")
    shutil.rmtree(corpus / "b1")
    ticker.tick()
    assert ticker.partitions == ["b1", "b2"]


@pytest.mark.parametrize("root_is_there", [True, False])
def test_a_corpus_that_is_not_mounted_retires_no_batch_and_says_so(
    ticker: Ticker, root_is_there: bool
) -> None:
    shutil.rmtree(ticker.corpus)
    if root_is_there:
        ticker.corpus.mkdir()
    assert isinstance(ticker.evaluate(), dg.SkipReason)
    assert ticker.partitions == ["b1", "b2"]


def test_a_decision_of_a_person_requests_a_run(ticker: Ticker) -> None:
    write(ticker.resources.layout.decisions("b2"), "{}")
    assert [ticker.reported() for _ in range(3)] == [[], ["b2"], []]


def test_a_place_that_fsspec_opens_is_watched_like_a_folder(tmp_path: Path) -> None:
    store = fsspec.filesystem("memory")
    store.pipe_file("/watched/corpus/b1/a.txt", b"Text.")
    ticker = Ticker(tmp_path / "corpus")
    ticker.resources = Resources(Settings(corpus="memory://watched/corpus", out=tmp_path / "out"))
    assert [ticker.reported() for _ in range(2)] == [[], ["b1"]]
    store.pipe_file("/watched/corpus/b1/a.txt", b"Other text.")
    assert [ticker.reported() for _ in range(3)] == [[], ["b1"], []]


def test_a_tick_that_dies_before_dagster_stores_what_it_reports_loses_no_batch(corpus: Path) -> None:
    ticker = Ticker(corpus)
    ticker.tick()
    assert reported(ticker.evaluate()) == ["b1", "b2"]  # type: ignore[arg-type]
    assert ticker.reported() == ["b1", "b2"]
