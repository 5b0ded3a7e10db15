"""The package keeps its layers, its tests mirror its tree, and a fact about tables is written down once.

Nothing of the package is imported before a test needs it: where modules import each other in a circle, these
tests still run and name them.
"""

from collections.abc import Iterable
from pathlib import Path

from qa_pipeline_tests.support.package_imports import circles_of, imports_of, modules_of

ROOT = Path(__file__).parents[1]
LAYERS = (
    {"errors", "records", "statistics"},
    {"settings", "storage"},
    {"text", "prompts"},
    {"llm", "models"},
    {"documents", "retrieval"},
    {"verification"},
    {"generation", "curation"},
    {"pipeline"},
    {"calibration", "evaluation", "monitoring", "publishing", "review"},
    {"defs"},
    {"api", "definitions"},
    {"cli"},
)
"""From the bottom up. A module imports from its own layer and from those before it."""
RANKS = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
END_TO_END = {
    "test_bad_input", "test_bad_replies", "test_corpus_places",
    "test_deploy", "test_deploy_production", "test_docs", "test_hosted_bad_input",
    "test_interrupted_runs", "test_layers", "test_notebook", "test_output_places",
    "test_patterns", "test_plain_english", "test_prompt_safety", "test_readme", "test_reference",
    "test_signals",
    "test_tutorial", "test_unsuitable_texts", "test_unverified_text",
    "publishing.test_examples", "verification.test_cases", "verification.test_quotes_injections",
    "system.test_deployment", "system.test_kills",
    "system.test_object_store", "system.test_ray",
    "system.test_review",
}  # fmt: skip
"""Test files about no single module: whole runs, the repository, and what the tests themselves use."""
MODULES = modules_of(ROOT)
IMPORTS = imports_of(MODULES)


def test_every_folder_and_module_of_the_package_has_its_layer() -> None:
    assert {name.split(".")[1] for name in MODULES} == set(RANKS)


def test_imports_go_down_the_layers() -> None:
    upward = [
        f"{name} imports {other}"
        for name, others in IMPORTS.items()
        for other in sorted(others)
        if RANKS[other.split(".")[1]] > RANKS[name.split(".")[1]]
    ]
    assert upward == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    circles = [f"{' and '.join(circle)} import each other" for circle in circles_of(IMPORTS)]
    assert circles == []


def test_every_test_file_is_named_after_a_module_of_its_folder() -> None:
    tests = ROOT / "qa_pipeline_tests"
    names = {".".join(file.relative_to(tests).with_suffix("").parts) for file in tests.rglob("test_*.py")}
    not_shipped = {
        ".".join(["qa_pipeline", *file.relative_to(tests).with_suffix("").parts])
        for folder in ("benchmarks", "fake_server")
        for file in (tests / folder).rglob("*.py")
    }
    assert _named_after_no_module(names, {*MODULES, *not_shipped}) <= END_TO_END


def _named_after_no_module(names: Iterable[str], modules: Iterable[str]) -> set[str]:
    """Test files, by dotted names below the folder of tests, that begin with no module of their folder."""
    modules = set(modules)
    strays = set()
    for name in names:
        *folder, file = name.split(".")
        words = file.removeprefix("test_").split("_")
        subjects = ("_".join(words[:count]) for count in range(1, len(words) + 1))
        if not any(".".join(["qa_pipeline", *folder, subject]) in modules for subject in subjects):
            strays.add(name)
    return strays
