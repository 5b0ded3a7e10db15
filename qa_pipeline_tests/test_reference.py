import re
from pathlib import Path

from qa_pipeline.evaluation.metrics.registry import METRICS
from qa_pipeline.settings.tree import Settings, setting_fields
from qa_pipeline.storage.tables import STORED, VERDICTS
from qa_pipeline_tests.support.tables_page import tables_page

DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_of_tables_is_what_the_code_says() -> None:
    text = (DOCS / "reference" / "tables.md").read_text(encoding="utf-8")
    assert tables_page() == text, "run qa_pipeline_tests.support.tables_page"


def test_the_page_on_the_specification_names_what_exists() -> None:
    text = (DOCS / "specification.md").read_text(encoding="utf-8")
    settings = set(re.findall(r"`((?:verification|judging|quality|generation)\.\w+)`", text))
    assert len(settings) > 5
    assert settings <= {path for path, _ in setting_fields(Settings)}
    named = set(re.findall(r"`(citation_\w+|grounding\w*)`", text))
    assert named <= {*VERDICTS.schema.names(), *METRICS}


def test_every_table_and_setting_is_described() -> None:
    assert all(column.description for table in STORED.values() for column in table.columns)
    assert [path for path, field in setting_fields(Settings) if not field.description] == []
