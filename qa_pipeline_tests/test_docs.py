"""README and docs: short enough to be read, their links lead somewhere, and they name settings that exist."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from qa_pipeline.settings.tree import Settings, load_settings, setting_fields, settings_in_force
from qa_pipeline_tests.benchmarks.support.listing import PACKAGE, benchmarks

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"!?\[[^\]\n]*\]\(([^)\s]+)\)")
GROUPS = "|".join(sorted(name for name in Settings.model_fields if name not in ("corpus", "out", "profile")))
SETTING = re.compile(rf"`((?:{GROUPS})\.[a-z_]+(?:\.[a-z_]+)*)`")


def broken_links(page: Path, text: str) -> list[str]:
    """Links to files or headings of this project that are not there."""
    broken = []
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (heading and heading not in headings(file)):
            broken.append(target)
    return broken


def headings(page: Path) -> set[str]:
    """The names that a forge gives to a page's headings."""
    lines = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


def test_the_readme_is_read_in_one_go() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def words(page: Path) -> int:
    """Count the words of a page."""
    return len(page.read_text(encoding="utf-8").split())


def test_the_docs_stay_short() -> None:
    written = [page for page in PAGES if page.parent.name != "reference"]
    assert len(written) <= 20
    assert sum(words(page) for page in written) <= 22_000
    assert words(ROOT / "CONTRIBUTING.md") <= 900


def test_contributing_names_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|toml))?)`", text)
    assert len(named) > 30
    roots = (ROOT, ROOT / "qa_pipeline", ROOT / "qa_pipeline_tests")
    assert [path for path in named if not any((root / path).exists() for root in roots)] == []


def test_the_page_on_verification_is_for_users() -> None:
    assert words(ROOT / "docs" / "verification.md") <= 1500


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = {ROOT / "README.md"}, [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            file = (page.parent / target.partition("#")[0]).resolve()
            if file.suffix == ".md" and file.is_file() and file not in reached:
                reached.add(file)
                waiting.append(file)
    assert {page for page in PAGES if page.name != "README.md" and page.parent.name != "reference"} <= reached


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_names_settings_that_exist(page: Path) -> None:
    known = {path for path, _ in setting_fields(Settings)}
    known |= {path.rpartition(".")[0] for path in known} | {path.split(".")[0] for path in known}
    named = set(SETTING.findall(page.read_text(encoding="utf-8")))
    named -= {f"quality.{name.rpartition('.')[2]}" for name, _ in benchmarks()}
    files = (".yaml", ".yml", ".py", ".csv")
    assert {name for name in named if name not in known and not name.endswith(files)} == set()


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    needed = {re.split(r"[^\w.-]", line)[0] for line in project["dependencies"]}
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.strip().startswith(("package", "extras", "dev", "system"))]
    named = {name for row in rows for name in re.findall(r"[A-Za-z][\w-]+", re.sub(r"\(.*?\)", "", row))}
    assert named == needed


def test_every_benchmark_that_a_page_names_exists() -> None:
    known = {name for name, _ in benchmarks()}
    named = {
        name
        for page in PAGES
        for name in re.findall(rf"{re.escape(PACKAGE)}\.([a-z_.]+)", page.read_text(encoding="utf-8"))
    }
    table = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    named |= {line.rsplit("|", 2)[1].split("`")[1].split()[0] for line in table.splitlines() if "` |" in line}
    assert len(named) > 10
    assert named - known == set()


def test_every_data_file_of_the_package_is_installed_with_it() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    package = ROOT / "qa_pipeline"
    installed = {
        file
        for pattern in tool["setuptools"]["package-data"]["qa_pipeline"]
        for file in package.glob(pattern)
    }
    other = {file for file in package.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc")}
    assert other == installed


def test_each_promise_to_the_specification_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "specification.md").read_text(encoding="utf-8")
    table = page.split("## Names", 1)[1].split("## Departures", 1)[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("|")
    ]
    promises = [row for row in rows if row[2].startswith("yes")]
    assert len(promises) >= 17
    for row in promises:
        tests = re.findall(r"`([^`]+)::(\w+)`", row[3])
        assert tests, row[0]
        file = ""
        for path, name in tests:
            file = file if path == "…" else path
            assert f"def {name}(" in (ROOT / "qa_pipeline_tests" / file).read_text(encoding="utf-8"), row[0]


CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"^```yaml\n(.*?)^```$", CONFIGURATION, re.DOTALL | re.MULTILINE)


def setting_lines(node: Any, paths: set[str], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield each setting of a settings file with the line it stands on."""
    for key, value in node.value:
        path = f"{prefix}{key.value}"
        if path in paths:
            yield path, EXAMPLE.splitlines()[key.start_mark.line]
        else:
            yield from setting_lines(value, paths, f"{path}.")


def test_the_example_settings_file_loads_and_marks_what_is_not_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = {row["path"]: row["value"] for row in settings_in_force({})}
    file = tmp_path / "qa_pipeline.yaml"
    file.write_text(EXAMPLE, encoding="utf-8")
    monkeypatch.setenv("QA_PIPELINE_SETTINGS", str(file))
    in_force = {row["path"]: row for row in settings_in_force({})}
    lines = dict(setting_lines(yaml.compose(EXAMPLE), set(defaults)))
    changed = {path for path in lines if in_force[path]["value"] != defaults[path]}
    assert {path for path, line in lines.items() if "# CHANGED" in line} == changed
    assert len(lines) > len(changed) > 0


def test_each_settings_example_of_the_page_on_models_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```yaml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert examples
    file = tmp_path / "qa_pipeline.yaml"
    monkeypatch.setenv("QA_PIPELINE_SETTINGS", str(file))
    for example in examples:
        file.write_text(example, encoding="utf-8")
        load_settings()


def test_the_defaults_of_the_specification_are_those_in_force() -> None:
    defaults = {row["path"]: row["value"] for row in settings_in_force({})}
    hosted = {"profile": "hosted", "llm": {"budget": {"max_calls": 1}}}
    defaults |= {
        row["path"]: row["value"] for row in settings_in_force(hosted) if row["path"] == "embedding.model"
    }
    table = re.findall(r"^\|[^|]+\| `([a-z_.]+)` \| `(.+)` \|$", CONFIGURATION, re.MULTILINE)
    assert len(table) == 28
    assert {path: yaml.safe_load(value) for path, value in table} == {
        path: defaults[path] for path, _ in table
    }


def message_texts(tree: ast.AST) -> Iterator[str]:
    """Yield every text of a module, with `…` in place of what is filled in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            yield re.sub("…+", "…", "".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


MESSAGES = [
    text
    for file in (ROOT / "qa_pipeline").rglob("*.py")
    for text in message_texts(ast.parse(file.read_text(encoding="utf-8")))
] + list(tomllib.loads((ROOT / "qa_pipeline/curation/reasons.toml").read_text("utf-8")).values())
QUOTED = re.findall(
    r"^### ([^A-Z].*|DAGSTER_HOME.*)$",
    (ROOT / "docs" / "troubleshooting.md").read_text("utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize("message", QUOTED)
def test_a_message_that_troubleshooting_quotes_is_one_of_the_code(message: str) -> None:
    assert is_message(message)


def is_message(message: str) -> bool:
    """Return whether the code has a text that reads so; a name filled in may stand at either end."""
    return any(message.strip("… ") in text for text in MESSAGES)
