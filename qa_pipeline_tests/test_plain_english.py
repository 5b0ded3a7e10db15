"""The package speaks the English of its field: docstrings begin with a verb or a noun, names are plain."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QUESTION_WORDS = {"what", "who", "which", "whether", "why", "how", "where"}
PRIVATE_WORDS = {
    "told", "said", "found", "one", "known", "held", "wanted", "given", "asked", "kept", "there", "beside",
    "shown", "named", "left", "own", "whole", "strange", "gone", "stood", "untold", "each",
}  # fmt: skip
"""Words that say how a value came about, and not what it is."""
VAGUE_WORDS = {"place", "places", "piece", "pieces", "spoken", "telling", "bare", "leans", "holds", "stands"}
"""Words for an index, a position, a part or a state that has a name in the field."""
HIGHEST_SHARES = [(PRIVATE_WORDS, 0.005), (VAGUE_WORDS, 0.01)]
"""Of such words among bindings; projects such as httpx and haystack have 0 to 0.002 of private words."""
SHOWN = 20
MOST_IN_A_THOUSAND = {
    r"what": 0.2,
    r"no|none|nothing": 4.4,
    r"ones?": 5.4,
    r"whether": 4.4,
}
"""Occurrences in 1,000 words: twice the rates of the docstrings of spaCy 3.8."""
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

TREES = {
    file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted((ROOT / "qa_pipeline").rglob("*.py"))
}


def test_no_docstring_of_a_function_or_class_begins_with_a_question_word() -> None:
    questions = [
        f"{file}:{line} {name}: {docstring}"
        for file, tree in TREES.items()
        for line, name, docstring in _questions(tree)
    ]
    assert not questions, f"{len(questions)} docstrings begin with a question word:\n" + _listed(questions)


@pytest.mark.parametrize(("words", "highest_share"), HIGHEST_SHARES)
def test_few_names_are_private_or_vague_words(words: set[str], highest_share: float) -> None:
    bindings = [(file, line, name) for file, tree in TREES.items() for line, name in _bindings(tree)]
    private = [f"{file}:{line} {name}" for file, line, name in bindings if name.strip("_").lower() in words]
    share = len(private) / len(bindings)
    assert share <= highest_share, (
        f"{len(private)} of {len(bindings)} bindings ({share:.2%}) are words that hide what the value is; "
        f"at most {highest_share:.1%} may be. Name what the value is:\n{_listed(private)}"
    )


@pytest.mark.parametrize("words", MOST_IN_A_THOUSAND)
def test_docstrings_rarely_use_constructions_that_stop_a_reader(words: str) -> None:
    texts = {f"{file}:{line}": text for file, tree in TREES.items() for line, text in _docstrings(tree)}
    assert _in_a_thousand(words, texts.values()) <= MOST_IN_A_THOUSAND[words], _listed(
        [f"{place} {text}" for place, text in texts.items() if re.search(rf"(?i)\b(?:{words})\b", text)]
    )


@pytest.mark.parametrize("words", MOST_IN_A_THOUSAND)
def test_pages_rarely_use_constructions_that_stop_a_reader(words: str) -> None:
    texts = [re.sub(r"(?s)```.*?```", "", page.read_text(encoding="utf-8")) for page in PAGES]
    assert _in_a_thousand(words, texts) <= MOST_IN_A_THOUSAND[words]


def _docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of every docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield getattr(node, "lineno", 1), docstring


def _in_a_thousand(words: str, texts: Iterable[str]) -> float:
    """Return how often the words occur in 1,000 words of the texts."""
    joined = "\n".join(texts)
    return 1000 * len(re.findall(rf"(?i)\b(?:{words})\b", joined)) / len(re.findall(r"\w+", joined))


def _questions(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield line, name and first line of the docstrings that begin with a question word."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        docstring = ast.get_docstring(node)
        if docstring and docstring.split()[0].strip(".,:;").casefold() in QUESTION_WORDS:
            yield node.lineno, node.name, docstring.partition("\n")[0]


def _bindings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of every function, class, parameter and target of an assignment, loop or `with`."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr


def _listed(lines: list[str]) -> str:
    return "\n".join([*lines[:SHOWN], *([f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])])
