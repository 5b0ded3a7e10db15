import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from qa_pipeline.cli.app import app
from qa_pipeline.cli.exit_codes import BAD_INPUT
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings import removed
from qa_pipeline.settings.tree import Settings, load_settings, setting_fields
from qa_pipeline_tests.end_to_end import invoke

NAMES = tomllib.loads(Path(removed.__file__).with_name("removed.toml").read_text(encoding="utf-8"))
COMMANDS = [name for name in NAMES if name.startswith("qa-pipeline")]


def commands(group: Any, path: str) -> Iterator[str]:
    yield path
    yield from (f"{path} {option}" for parameter in group.params for option in parameter.opts)
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{path} {name}")


def test_nothing_that_is_there_counts_as_removed() -> None:
    there = {*commands(typer.main.get_command(app), "qa-pipeline")}
    there |= {path for path, _ in setting_fields(Settings)}
    assert [name for name in there if removed.removal_of(name)] == []


def test_a_settings_file_that_names_a_removed_setting_says_since_when_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("llm:\n  delivery: batch\n")
    monkeypatch.setenv("QA_PIPELINE_SETTINGS", str(file))
    with pytest.raises(SettingsError, match=r"llm\.delivery .*0\.2"):
        load_settings()


def test_a_variable_of_a_removed_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QA_PIPELINE_RELEASE__SIGNING_KEY", "k")
    with pytest.raises(SettingsError, match=r"QA_PIPELINE_RELEASE__SIGNING_KEY.*0\.2"):
        load_settings()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_removed_command_or_option_says_what_replaces_it(name: str) -> None:
    ran = invoke(*name.split()[1:])
    assert ran.code == BAD_INPUT
    told = " ".join(ran.stderr.replace("│", " ").split())
    assert name in told
    assert "0.2" in told


def test_a_folder_of_an_earlier_version_is_named_and_kept(tmp_path: Path) -> None:
    (tmp_path / "sheets").mkdir()
    (told,) = removed.leftovers(tmp_path)
    assert str(tmp_path / "sheets") in told
    assert (tmp_path / "sheets").is_dir()
