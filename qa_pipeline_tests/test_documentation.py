from pathlib import Path

from qa_pipeline.documentation import settings_section, tables_section, with_sections
from qa_pipeline.settings.tree import Settings
from qa_pipeline.tables import STORED

README = Path(__file__).parent.parent / "README.md"


def test_the_readme_lists_tables_and_settings_as_the_code_has_them() -> None:
    text = README.read_text(encoding="utf-8")
    assert with_sections(text) == text, "run: python -m qa_pipeline.documentation README.md"
    assert tables_section() in text
    assert settings_section() in text


def test_every_table_and_setting_is_described() -> None:
    assert all(column.description for table in STORED.values() for column in table.columns)
    lines = settings_section().splitlines()[2:]
    assert len(lines) > 60
    assert [line for line in lines if line.endswith("|  |")] == []
    assert "corpus" in Settings.model_fields
