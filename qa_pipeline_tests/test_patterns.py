"""No regular expression of the package takes more than a moment on hostile text.

Documents and replies are hostile: one line of 50,000 characters must not hold a worker for minutes. Every
pattern is tried by the methods the package uses it with; one that is passed on as a value, by all of them.
"""

import ast
import dataclasses
import functools
import importlib
import pkgutil
import re
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

import qa_pipeline

from re import _parser as parser  # type: ignore[attr-defined]  # isort: skip

# The parser of the standard library tells what a pattern's own characters are.

LONG, SHORT, SLOWEST = 50_000, 2_000, 2
SECONDS = 2.0
"""Of processor time, on a line of 50,000 characters; a linear pattern takes a hundredth of it."""
SUSPECT = 0.002
"""On 2,000 characters; where a pattern takes longer, the slowest lines are tried at their full length."""
SHARES = 12
"""Tests the patterns are shared out to, so that none takes long on a busy machine."""
METHODS = {
    "match": "match",
    "search": "search",
    "fullmatch": "fullmatch",
    **dict.fromkeys(("finditer", "findall", "sub", "subn", "split"), "finditer"),
}
ANY = frozenset(METHODS.values())
UNITS = [
    *"aAäs1 \t\n-.,:;*_|\"`'“([{<>/\\=#&@~",
    *[
        "a ",
        "A ",
        "a-",
        "a.",
        "a,",
        "a_",
        "a/",
        "a@",
        "a\n",
        " \n",
        "aA",
        "Aa",
        "Aa ",
        "1,",
        "1.",
        "1 ",
        "1a",
    ],
    *["()", "[]", "](", "<a", "a: ", "a | ", "- a", '"a" ', ".\n", "word ", "Word word ", "Word, ", "a. A"],
]


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(qa_pipeline.__path__, "qa_pipeline."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def inside(value: Any, field: str = "", depth: int = 0) -> Iterator[tuple[re.Pattern[Any], str]]:
    """Patterns in a value, in its containers, records and classes of the package, and the record's field."""
    if isinstance(value, re.Pattern):
        yield value, field
        return
    parts: list[Any] = []
    fields: list[str] = []
    if depth > 5:
        return
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif type(value) in (tuple, list, set, frozenset) or (
        isinstance(value, tuple) and type(value).__module__.startswith("qa_pipeline")
    ):
        parts = list(value)
    elif dataclasses.is_dataclass(value):
        fields = [one.name for one in dataclasses.fields(value)]
        parts = [getattr(value, name, None) for name in fields]
    elif isinstance(value, type) and value.__module__.startswith("qa_pipeline"):
        parts = list(vars(value).values())
    for place, part in enumerate(parts):
        yield from inside(part, fields[place] if fields else field, depth + 1)


@functools.cache
def patterns() -> dict[tuple[str, int], tuple[str, set[str]]]:
    """Every text pattern by its source and flags: a place where it is, and the methods used."""
    methods: dict[tuple[str, int], set[str]] = defaultdict(set)
    places: dict[tuple[str, int], str] = {}
    of_fields = uses_of_fields()
    for module in modules():
        held = vars(module)
        for name, value in held.items():
            if name.startswith("__"):
                continue
            for one, field in inside(value):
                places.setdefault((one.pattern, one.flags), f"{module.__name__}.{name}")
                if value is not one:
                    methods[(one.pattern, one.flags)] |= of_fields.get(field, ANY)
        for one, place, used in written(module):
            places.setdefault((one.pattern, one.flags), place)
            methods[(one.pattern, one.flags)] |= used
    return {key: (place, methods[key]) for key, place in places.items() if isinstance(key[0], str)}


def uses_of_fields() -> dict[str, set[str]]:
    """Methods by the field of a record that holds the pattern, as in `pattern.expression.fullmatch(text)`."""
    used: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        for node in ast.walk(source_of(module)):
            match node:
                case ast.Attribute(value=ast.Attribute(attr=field), attr=method) if method in METHODS:
                    used[field].add(METHODS[method])
    return used


def source_of(module: ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))


def written(module: ModuleType) -> Iterator[tuple[re.Pattern[Any], str, set[str]]]:
    """Uses of the module's named patterns, and literal patterns handed to `re` inside functions."""
    tree = source_of(module)
    attributes = {
        id(node.value): node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            value = vars(module).get(node.id)
            if isinstance(value, re.Pattern):
                used = attributes.get(id(node))
                if used is None or used in METHODS:
                    yield value, f"{module.__name__}.{node.id}", {METHODS[used]} if used else set(ANY)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            yield from literals(function, module)


def literals(
    function: ast.FunctionDef, module: ModuleType
) -> Iterator[tuple[re.Pattern[Any], str, set[str]]]:
    for call in ast.walk(function):
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=name),
                args=[ast.Constant(value=str(source)), *_],
            ) if name in METHODS or name == "compile":
                flags = next(
                    (
                        eval(ast.unparse(one), {"re": re})
                        for one in (*call.args[1:], *(word.value for word in call.keywords))
                        if "re." in ast.unparse(one) and "(" not in ast.unparse(one)
                    ),
                    0,
                )
                used = {METHODS[name]} if name in METHODS else set(ANY)
                yield re.compile(source, flags), f"{module.__name__}:{call.lineno}", used


def own_characters(parsed: Any) -> Iterator[str]:
    """The characters a pattern is written with, and one of each class it names."""
    for code, value in parsed:
        if str(code) == "LITERAL":
            yield chr(value)
        elif str(code) == "IN":
            for kind, member in value[:3]:
                if str(kind) in ("LITERAL", "RANGE"):
                    yield chr(member if str(kind) == "LITERAL" else member[0])
        else:
            yield from inner_characters(value)


def inner_characters(value: Any) -> Iterator[str]:
    if isinstance(value, parser.SubPattern):
        yield from own_characters(value)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from inner_characters(one)


def units(pattern: re.Pattern[str]) -> list[str]:
    own = list(own_characters(parser.parse(pattern.pattern, pattern.flags)))
    some = list(dict.fromkeys(own))[:10]
    pairs = ["".join(pair) for pair in pairwise(own[:12])]
    return list(dict.fromkeys([*UNITS, *some, *pairs, *(f"{one} " for one in some), "".join(own[:20])]))


def lines(pattern: re.Pattern[str], length: int) -> Iterator[str]:
    """Lines of one repeated unit, some begun or ended by what the pattern may look for."""
    own = units(pattern)
    starts = [unit for unit in own[len(UNITS) :] if len(unit) == 1]
    for unit in filter(None, own):
        line = (unit * (length // len(unit) + 1))[:length]
        yield line
        yield line[:-1] + "\x00"
    for start, filling in ((start, filling) for start in starts[:8] for filling in " a-"):
        yield start + filling * (length - 1)


class TooLongError(Exception):
    """The processor time is used up."""


def stop(signum: int, frame: FrameType | None) -> None:
    raise TooLongError


def took(pattern: re.Pattern[str], method: str, line: str) -> float:
    """Seconds of processor time, at most a little more than the limit."""
    before = signal.signal(signal.SIGVTALRM, stop)
    start = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        found = getattr(pattern, method)(line)
        if method == "finditer":
            sum(1 for _ in found)
    except TooLongError:
        return SECONDS
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - start


def slow_on(pattern: re.Pattern[str], method: str) -> str | None:
    """How a line begins on which the pattern takes too long; none where there is no such line."""
    short = ((took(pattern, method, line), place) for place, line in enumerate(lines(pattern, SHORT)))
    slowest = sorted((one for one in short if one[0] > SUSPECT), reverse=True)[:SLOWEST]
    suspects = {place for _, place in slowest}
    for place, line in enumerate(lines(pattern, LONG) if suspects else ()):
        if place in suspects and took(pattern, method, line) >= SECONDS:
            return f"{line[:12]!r}…{line[-2:]!r}"
    return None


@pytest.mark.parametrize("share", range(SHARES))
def test_no_pattern_of_the_package_takes_long_on_a_hostile_line(share: int) -> None:
    found = sorted(patterns().items(), key=lambda entry: entry[1][0])
    assert len(found) > SHARES
    slow = [
        f"{place} by {method} on {line}"
        for (source, flags), (place, methods) in found[share::SHARES]
        for method in sorted(methods)
        if (line := slow_on(re.compile(source, flags), method)) is not None
    ]

    assert slow == []
