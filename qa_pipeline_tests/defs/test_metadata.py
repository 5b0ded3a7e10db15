import dagster as dg
import polars as pl
import pytest

from qa_pipeline.defs.metadata import (
    CELL_LENGTH,
    PREVIEW_ROWS,
    frame_metadata,
    review_metadata,
    summary_metadata,
    table_schema,
    verdict_preview,
)
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import STORED, VERDICTS
from qa_pipeline_tests.defs.project import Project


def test_codes_are_counted_most_frequent_first_and_the_first_column_as_numbers() -> None:
    frame = pl.DataFrame(
        {
            "verdict": ["accepted", "rejected", "accepted"],
            "stage": ["accepted", "refusal", "accepted"],
            "reason": ["ok", None, "ok"],
        }
    )
    metadata = frame_metadata(frame, VERDICTS)
    assert metadata["dagster/partition_row_count"] == 3
    assert (metadata["verdict: accepted"], metadata["verdict: rejected"]) == (2, 1)
    assert rows_of(metadata["rows by reason"]) == [["ok", 2], ["(none)", 1]]


@pytest.mark.parametrize("table", STORED.values(), ids=lambda table: table.name)
def test_every_column_is_described_and_an_empty_table_can_be_shown(table: object) -> None:
    known = STORED[table.name]  # type: ignore[attr-defined]
    schema = table_schema(known)
    assert [column.name for column in schema.columns] == list(known.schema)
    assert all(column.description for column in schema.columns)
    assert frame_metadata(known.empty(), known) == {"dagster/partition_row_count": 0}


def rows_of(table: dg.TableMetadataValue) -> list[list[object]]:
    return [list(record.data.values()) for record in table.records]


@pytest.mark.parametrize("table", STORED.values(), ids=lambda table: table.name)
def test_a_preview_has_few_rows_and_bounded_cells(table: Table) -> None:
    row = {name: "x" * 10_000 if kind == pl.String else None for name, kind in table.schema.items()}
    shown = rows_of(frame_metadata(pl.DataFrame([row] * 50, schema=table.schema), table)["preview"])
    assert len(shown) == PREVIEW_ROWS
    assert all(len(str(cell)) <= CELL_LENGTH for cells in shown for cell in cells)


def test_the_ledger_is_previewed_as_question_answer_verdict_and_quote(finished: Project) -> None:
    tables = [finished.table(name, "b1") for name in ("verdicts", "pairs", "claims")]
    shown = verdict_preview(*tables)
    assert [column.name for column in shown.schema.columns] == ["question", "answer", "verdict", "quote"]
    first = list(map(str, rows_of(shown)[0]))
    pair = tables[1].row(by_predicate=pl.col("pair_id") == tables[0]["pair_id"][0], named=True)
    assert first[0] == pair["question"]
    assert first[1].rstrip("…") in pair["answer"]
    assert first[2] == tables[0]["verdict"][0]
    examples = frame_metadata(finished.table("training_examples", "b1"), STORED["training_examples"])
    assert {*examples["preview"].records[0].data} == {"question", "answer", "quote"}
    assert all(value == round(value, 4) for value in summary_metadata(tables[0]).values())


def test_verdicts_link_to_their_batch_in_the_review_app_where_its_address_is_set(finished: Project) -> None:
    reachable = finished.with_settings(review={"url": "https://review.example.org/"})
    link = "https://review.example.org/?list=waiting&batch=b1"
    for project, shown in ((finished, None), (reachable, dg.MetadataValue.url(link))):
        (event,) = project.build("b1", "verdicts").get_asset_materialization_events()
        assert event.materialization.metadata.get("review") == shown


def test_a_hostile_name_of_a_batch_cannot_end_the_address_of_a_link() -> None:
    assert review_metadata("https://r.example.org", "a)")["review"].value.endswith("batch=a%29")
