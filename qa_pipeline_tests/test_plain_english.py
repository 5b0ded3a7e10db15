"""The package speaks the English of its field: docstrings begin with a verb or a noun, names are plain."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QUESTION_WORDS = {"what", "who", "which", "whether", "why", "how", "where"}
PRIVATE_WORDS = {
    "told", "said", "found", "one", "known", "held", "wanted", "given", "asked", "kept", "there", "beside",
    "shown", "named", "left", "own", "whole", "strange", "gone", "stood", "untold", "each",
}  # fmt: skip
"""Words that say how a value came about, and not what it is."""
HIGHEST_SHARE = 0.005
"""Of private words among bindings; projects such as httpx and haystack have 0 to 0.002."""
SHOWN = 20

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


@pytest.mark.parametrize("word", sorted(QUESTION_WORDS))
def test_a_docstring_that_begins_with_a_question_word_is_found(word: str) -> None:
    source = f'class A:\n    """A row."""\n\n    async def b(self):\n        """{word.title()}, it does."""\n'
    assert list(_questions(ast.parse(source))) == [(4, "b", f"{word.title()}, it does.")]


def test_few_names_are_private_words() -> None:
    bindings = [(file, line, name) for file, tree in TREES.items() for line, name in _bindings(tree)]
    private = [f"{file}:{line} {name}" for file, line, name in bindings if _is_private(name)]
    share = len(private) / len(bindings)
    assert share <= HIGHEST_SHARE, (
        f"{len(private)} of {len(bindings)} bindings ({share:.2%}) are words of the list PRIVATE_WORDS; "
        f"at most {HIGHEST_SHARE:.1%} may be. Name what the value is:\n{_listed(private)}"
    )


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def found(): ...", ["found"]),
        ("async def _given(): ...", ["_given"]),
        ("class Told: ...", ["Told"]),
        ("def f(a, /, one, *shown, own, **left): ...", ["f", "a", "one", "own", "shown", "left"]),
        ("x = lambda one: one", ["x", "one"]),
        ("known = self.held = 1", ["known", "held"]),
        ("asked: int = 1", ["asked"]),
        ("(kept, *gone), rows[0] = 1, 2", ["kept", "gone"]),
        ("for each in rows: pass", ["each"]),
        ("[row for row in one if (said := row)]", ["row", "said"]),
        ("with a as whole, b as (left, right): pass", ["whole", "left", "right"]),
        ("from a import found; print(one.told, known=1)", []),
    ],
)
def test_functions_classes_parameters_and_targets_are_bindings(source: str, names: list[str]) -> None:
    assert sorted(name for _, name in _bindings(ast.parse(source))) == sorted(names)


@pytest.mark.parametrize(
    ("name", "is_private"), [("_found", True), ("Told", True), ("one_", True), ("found_rows", False)]
)
def test_a_name_is_private_where_all_of_it_is_one_of_the_words(name: str, *, is_private: bool) -> None:
    assert _is_private(name) is is_private


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


def _is_private(name: str) -> bool:
    return name.strip("_").lower() in PRIVATE_WORDS


def _listed(lines: list[str]) -> str:
    return "\n".join([*lines[:SHOWN], *([f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])])
