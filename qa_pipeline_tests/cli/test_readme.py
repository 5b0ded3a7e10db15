import re
from pathlib import Path

from qa_pipeline.cli.readme import settings_section, tables_section, with_sections
from qa_pipeline.settings.tree import Settings
from qa_pipeline.tables import STORED, VERDICTS

README = Path(__file__).parents[2] / "README.md"


def test_the_readme_lists_tables_and_settings_as_the_code_has_them() -> None:
    text = README.read_text(encoding="utf-8")
    assert with_sections(text) == text, "run: python -m qa_pipeline.cli.readme README.md"
    assert tables_section() in text
    assert settings_section() in text


def test_the_page_on_the_specification_names_what_exists() -> None:
    text = (README.parent / "docs" / "specification.md").read_text(encoding="utf-8")
    settings = set(re.findall(r"`((?:verification|judging|quality|generation)\.\w+)", text))
    assert len(settings) > 5
    assert [name for name in sorted(settings) if f"`{name}`" not in settings_section()] == []
    assert {"grounding", "composite", "source_coverage", "unsupported_spans"} <= set(VERDICTS.schema.names())
    named = set(re.findall(r"`(citation_\w+|grounding\w*)`", text))
    assert named <= set(VERDICTS.schema.names())
    assert "docs/specification.md" in README.read_text(encoding="utf-8")


def test_every_table_and_setting_is_described() -> None:
    assert all(column.description for table in STORED.values() for column in table.columns)
    lines = settings_section().splitlines()[2:]
    assert len(lines) > 60
    assert [line for line in lines if line.endswith("|  |")] == []
    assert "corpus" in Settings.model_fields
