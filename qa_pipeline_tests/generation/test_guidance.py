import ast
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

import qa_pipeline
from qa_pipeline.errors import SettingsError
from qa_pipeline.generation.guidance import NO_GUIDANCE, Guidance, Persona, read_guidance
from qa_pipeline.prompts.loading import NAMES, PromptName, check_own_prompts, load_prompt
from qa_pipeline.records import FieldValue
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings

EXAMPLE = {"question": "What does a card cost?", "question_type": "fact_single", "language": "en"}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_without_files_nobody_in_particular_asks_and_nothing_is_added_to_the_prompt() -> None:
    found = read_guidance(GenerationSettings())
    assert found == NO_GUIDANCE
    assert (found.persona("c", 1), found.examples_in("en"), found.digest) == (None, "", "")


def test_chunks_are_dealt_to_personas_by_weight_and_the_same_way_every_time() -> None:
    guidance = Guidance((Persona(name="a", description="A", weight=3), Persona(name="b", description="B")))
    drawn = [guidance.persona(f"chunk {number}", 1) for number in range(4000)]
    assert drawn == [guidance.persona(f"chunk {number}", 1) for number in range(4000)]
    assert Counter(one.name for one in drawn if one)["a"] == pytest.approx(3000, abs=120)


def test_personas_and_examples_are_read_from_the_files_that_the_settings_name(tmp_path: Path) -> None:
    personas = written(tmp_path, "p.yaml", "- name: nurse\n  description: A nurse on a night shift\n")
    examples = written(tmp_path, "e.jsonl", json.dumps(EXAMPLE) + "\n\n")
    found = read_guidance(GenerationSettings(personas=personas, examples=examples))
    assert [one.name for one in found.personas] == ["nurse"]
    assert found.examples_in("en") == "- fact_single: What does a card cost?"
    assert found.examples_in("sv") == ""
    assert found.digest != read_guidance(GenerationSettings(personas=personas)).digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "not readable YAML"),
        ("name: nurse", "must be a list of entries"),
        ("[]", "has 0 entries"),
        ("- name: nurse", "entry 1: description: Field required"),
        ("- name: nurse\n  description: x\n- {name: a, description: b, age: 3}", "entry 2: age: Extra"),
        ("- {name: a, description: b}\n- {name: a, description: c}", "two entries of the name 'a'"),
        ("- {name: a, description: b, weight: 0}", "entry 1: weight"),
    ],
)
def test_a_persona_file_that_breaks_its_schema_is_refused_with_the_entry(
    tmp_path: Path, text: str, said: str
) -> None:
    path = written(tmp_path, "p.yaml", text)
    with pytest.raises(SettingsError, match=said) as error:
        read_guidance(GenerationSettings(personas=path))
    assert "generation.personas" in str(error.value)
    assert "p.yaml" in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1: not JSON.*one JSON object a line"),
        (json.dumps({**EXAMPLE, "question_type": "poem"}), "line 1: question_type"),
        (json.dumps({**EXAMPLE, "language": "xx"}), "line 1: language"),
        ("\n".join([json.dumps(EXAMPLE)] * 21), "21 examples of one language"),
    ],
)
def test_a_file_of_examples_that_cannot_be_used_is_refused_with_the_line(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        read_guidance(GenerationSettings(examples=written(tmp_path, "e.jsonl", text)))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"gone\.yaml cannot be read"):
        read_guidance(GenerationSettings(personas=tmp_path / "gone.yaml"))


OWN = "Write questions.\n---\n{passages}\n\n{limit} of {types}\n"


def prompts(folder: Path, text: str, name: str = "en/questions.md") -> LLMSettings:
    path = folder / "prompts" / name
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return LLMSettings(prompts=folder / "prompts")


def test_the_users_own_prompt_takes_the_place_of_ours_and_only_in_its_language(tmp_path: Path) -> None:
    settings = prompts(tmp_path, OWN)
    check_own_prompts(settings)
    assert load_prompt("en", "questions", settings).system == "Write questions."
    assert load_prompt("sv", "questions", settings) == load_prompt("sv", "questions")
    assert load_prompt("en", "answer", settings) == load_prompt("en", "answer")


@pytest.mark.parametrize("name", NAMES)
def test_each_prompt_can_be_the_users_own(tmp_path: Path, name: PromptName) -> None:
    template = load_prompt("en", name).template
    settings = prompts(tmp_path, f"Do as we like it.\n---\n{template}", f"en/{name}.md")
    check_own_prompts(settings)
    assert load_prompt("en", name, settings).system == "Do as we like it."
    assert load_prompt("en", name, settings.model_copy(update={"profile": "small"})).system.startswith("Do")


def test_no_stage_loads_a_prompt_without_the_settings_that_may_replace_it() -> None:
    calls = [
        node
        for file in Path(qa_pipeline.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "load_prompt"
    ]
    assert len(calls) > 10
    assert all(len(call.args) == 3 for call in calls)


def test_a_prompt_that_changes_is_read_again(tmp_path: Path) -> None:
    settings = prompts(tmp_path, OWN)
    before = load_prompt("en", "questions", settings)
    path = tmp_path / "prompts/en/questions.md"
    path.write_text(OWN.replace("Write", "Ask"), encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert load_prompt("en", "questions", settings).hash != before.hash


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("en/questions.md", "No line", "has no line '---'"),
        ("en/questions.md", OWN.replace("{types}", "types"), r"lacks \{types\}"),
        ("en/questions.md", OWN + "{persona}", r"has \{persona\}; below the line"),
        ("en/question.md", OWN, r"question\.md would not be read"),
        ("fr/questions.md", OWN, "would not be read"),
        ("en/verify.md", OWN, r"lacks \{claims\} and has"),
        ("en/persona.md", OWN, "would not be read"),
    ],
)
def test_a_prompt_that_would_not_be_filled_or_not_be_read_is_refused(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        check_own_prompts(prompts(tmp_path, text, name))


def test_a_folder_of_prompts_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is no folder"):
        check_own_prompts(LLMSettings(prompts=tmp_path / "gone"))


FIELDS = """
from enum import Enum
from typing import Literal
from pydantic import BaseModel, Field

class Audience(BaseModel):
    audience: Literal["staff", "public"] = Field(description="Who asks.")
    urgency: int = Field(ge=1, le=3)

class Clashing(BaseModel):
    answer: str

class Empty(BaseModel):
    pass

class Colour(Enum):
    red = "red"

class Nested(BaseModel):
    colour: Colour

plain = 3
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module on the Python path, as a user has one."""
    name = f"own_fields_{tmp_path.name}".replace("-", "_")
    written(tmp_path, f"{name}.py", FIELDS)
    written(tmp_path, f"{name}_broken.py", "def")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def test_further_fields_are_described_to_the_model_and_held_to_the_users_model(own_module: str) -> None:
    found = read_guidance(GenerationSettings(extra_fields=f"{own_module}:Audience"))
    assert found.field_lines.splitlines()[0].startswith('- audience: {"description": "Who asks."')
    assert found.digest != ""
    given = [FieldValue(name="audience", value="staff"), FieldValue(name="urgency", value="2")]
    assert found.further_fields(given) == '{"audience": "staff", "urgency": 2}'
    with pytest.raises(ValidationError):
        found.further_fields(given[:1])


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("no_such_module:Fields", "cannot be imported"),
        ("{own}:Missing", "cannot be imported"),
        ("{own}_broken:Fields", "cannot be imported"),
        ("{own}:plain", "is no pydantic model with fields"),
        ("{own}:Empty", "is no pydantic model with fields"),
        ("{own}:Clashing", "fields that the tables have already: answer"),
        ("{own}:Nested", "fields of other models or enums: Colour"),
    ],
)
def test_a_model_of_further_fields_that_cannot_be_used_is_refused_by_name(
    own_module: str, named: str, said: str
) -> None:
    settings = GenerationSettings(extra_fields=named.format(own=own_module))
    with pytest.raises(SettingsError, match=said):
        read_guidance(settings)


def test_only_a_module_and_a_class_can_be_named() -> None:
    for named in ("own.py", "/tmp/own:Fields", "own:Fields()", "own;x:y"):
        with pytest.raises(ValidationError):
            GenerationSettings(extra_fields=named)
