"""What the user tells the writer of questions: who asks, examples as they should be, further fields.

All come from files that the settings name, never from documents, and stand in the prompt as they are.
"""

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from qa_pipeline.errors import InputError, SettingsError
from qa_pipeline.records import FieldValue, QuestionType
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.plain_yaml import read_yaml
from qa_pipeline.storage.hashes import draw_number, hash_json
from qa_pipeline.storage.row_files import Limits, json_lines
from qa_pipeline.storage.tables import PAIRS, QUESTIONS, TRAINING_EXAMPLES
from qa_pipeline.text.lexicon.languages import LANGUAGES

MOST_PERSONAS, MOST_EXAMPLES = 200, 20
"""One persona stands in a prompt, but all examples of its language do: each makes every request dearer."""
_MOST_BYTES = 1_000_000  # of a user's file: many times what people write by hand, and read whole at once


class _Entry(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, str_strip_whitespace=True
    )


class Persona(_Entry):
    """A kind of person who asks."""

    name: str = Field(min_length=1, max_length=80)
    description: str = Field(min_length=1, max_length=1000)
    weight: float = Field(1.0, gt=0)


class Example(_Entry):
    """A question as it should be."""

    question: str = Field(min_length=1, max_length=500)
    question_type: QuestionType
    language: str = Field(pattern=f"^(?:{'|'.join(LANGUAGES)})$")


@dataclass(frozen=True)
class Guidance:
    """Personas, examples and further fields of one run; none where the settings name none."""

    personas: tuple[Persona, ...] = ()
    examples: tuple[Example, ...] = ()
    fields: type[BaseModel] | None = None

    def persona(self, chunk_id: str, asked_in: int) -> Persona | None:
        """Return the persona that asks a chunk in a round: drawn by its hash, by weight."""
        if not self.personas:
            return None
        place = draw_number(chunk_id, asked_in) / 2**64 * sum(member.weight for member in self.personas)
        for member in self.personas:
            place -= member.weight
            if place < 0:
                return member
        return self.personas[-1]

    def examples_in(self, language: str) -> str:
        """Return the examples of a language as lines; empty without any."""
        fitting = [example for example in self.examples if example.language == language]
        return "\n".join(f"- {example.question_type}: {example.question}" for example in fitting)

    @property
    def field_lines(self) -> str:
        """Return the further fields as lines with their possible values; empty without any."""
        if self.fields is None:
            return ""
        schema = self.fields.model_json_schema()
        return "\n".join(
            f"- {name}: {json.dumps(about, ensure_ascii=False, sort_keys=True)}"
            for name, about in schema["properties"].items()
        )

    def further_fields(self, field_values: Sequence[FieldValue]) -> str | None:
        """Return a reply's further fields as a JSON object; None where none are asked for.

        Raises:
            ValidationError: they do not fit the user's model.
        """
        if self.fields is None:
            return None
        values = self.fields.model_validate({value.name: value.value for value in field_values})
        return json.dumps(values.model_dump(mode="json"), ensure_ascii=False, sort_keys=True)

    @property
    def digest(self) -> str:
        """Return a hash of the files' content, whatever the order of fields; empty without files."""
        if not self.personas and not self.examples and self.fields is None:
            return ""
        content: list[object] = [
            [entry.model_dump() for entry in part] for part in (self.personas, self.examples)
        ]
        content += [] if self.fields is None else [self.fields.model_json_schema()]
        return hash_json(content)[:16]


NO_GUIDANCE = Guidance()


def read_guidance(settings: GenerationSettings) -> Guidance:
    """Read the files of the settings.

    Raises:
        SettingsError: a file cannot be read, or an entry of it cannot be used.
    """
    personas, examples = settings.personas, settings.examples
    return Guidance(
        () if personas is None else _personas(personas),
        _examples(examples) if isinstance(examples, Path) else (),
        None if settings.extra_fields is None else _fields(settings.extra_fields),
    )


def _fields(spec: str) -> type[BaseModel]:
    """Return the user's pydantic model."""
    module, _, name = spec.partition(":")
    where = f"generation.extra_fields: {spec}"
    try:
        model = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, SyntaxError, PydanticUserError) as error:
        raise SettingsError(f"{where} cannot be imported: {error}; is it on the Python path?") from error
    if not (isinstance(model, type) and issubclass(model, BaseModel) and model.model_fields):
        raise SettingsError(f"{where} is no pydantic model with fields")
    ours = {name for table in (QUESTIONS, PAIRS, TRAINING_EXAMPLES) for name in table.schema}
    clash = sorted(ours & model.model_fields.keys())
    if clash:
        raise SettingsError(
            f"{where} has fields that the tables have already: {', '.join(clash)}; rename them"
        )
    nested = sorted(model.model_json_schema().get("$defs", ()))
    if nested:
        raise SettingsError(
            f"{where} has fields of other models or enums: {', '.join(nested)}; a reply gives "
            "each field as text, so use str, numbers, bool or Literal"
        )
    return model


def _personas(path: Path) -> tuple[Persona, ...]:
    try:
        listed = read_yaml(_text(path, "generation.personas"))
    except yaml.YAMLError as error:
        raise SettingsError(f"generation.personas: {path} is not readable YAML") from error
    expected = "a list of entries with name and description"
    personas = _checked(TypeAdapter(list[Persona]), listed, f"generation.personas: {path}", expected)
    names = [persona.name for persona in personas]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(f"generation.personas: {path} has two entries of the name {twice!r}; rename one")
    if not 0 < len(personas) <= MOST_PERSONAS:
        raise SettingsError(
            f"generation.personas: {path} has {len(personas)} entries; 1 to {MOST_PERSONAS} are used"
        )
    return tuple(personas)


def _examples(path: Path) -> tuple[Example, ...]:
    where = f"generation.examples: {path}"
    try:
        rows = list(json_lines(path, Limits(max_bytes=_MOST_BYTES)))
    except InputError as error:
        raise SettingsError(f"generation.examples: {error}") from error
    expected = "objects with question, question_type and language"
    listed, places = [row.value for row in rows], [f"line {row.place}" for row in rows]
    examples = _checked(TypeAdapter(list[Example]), listed, where, expected, places)
    most = max((sum(example.language == code for example in examples) for code in LANGUAGES), default=0)
    if most > MOST_EXAMPLES:
        raise SettingsError(
            f"generation.examples: {path} has {most} examples of one language; "
            f"at most {MOST_EXAMPLES} fit a prompt"
        )
    return tuple(examples)


def _text(path: Path, setting: str) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SettingsError(f"{setting}: {path} is larger than {_MOST_BYTES} bytes")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{setting}: {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{setting}: {path} is not UTF-8; save it as UTF-8") from error


def _checked(
    adapter: TypeAdapter[Any], listed: object, where: str, expected: str, places: Sequence[str] = ()
) -> Sequence[Any]:
    try:
        return adapter.validate_python(listed)  # type: ignore[no-any-return]
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        if not problem["loc"]:
            raise SettingsError(f"{where} must be {expected}") from error
        index, *field = problem["loc"]
        place = places[int(index)] if places else f"entry {int(index) + 1}"
        field_path = f" {'.'.join(map(str, field))}:" if field else ""
        raise SettingsError(f"{where}, {place}:{field_path} {problem['msg']}") from error
