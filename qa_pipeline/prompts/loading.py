"""Prompt files, and the way untrusted text gets into them.

What belongs here: loading `prompts/<language>/<name>.md`, literal substitution, and the delimiters around
documents, questions, answers and claims. What does not: requests (the stages build them), model names
and temperatures (settings).

A prompt file has a system part and a template part, parted by a line that holds `---` only; a part that is
added where it is needed has a template only. `{name}` is a
placeholder; the refusal text of the language replaces `{refusal}` at loading, so the hash covers it.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Literal, cast, get_args

from qa_pipeline.errors import SettingsError
from qa_pipeline.records import Passage
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.text.lexicon.languages import LANGUAGES, lexicon

PromptName = Literal[
    "questions",
    "standalone",
    "guard",
    "validate_reference",
    "answer",
    "split",
    "verify",
    "recall",
    "compare",
    "judge",
    "contradicts",
    "relevant_sentences",
    "back_questions",
    "conflict",
]
NAMES: tuple[PromptName, ...] = get_args(PromptName)
PartName = Literal[
    "persona",
    "asked",
    "examples",
    "bridge",
    "fields",
    "style_short",
    "style_sentence",
    "style_long_form",
    "style_steps",
]
SYSTEM_PROMPTS = CLOSED_BOOK, WITH_PASSAGES = "system_closed_book", "system_passages"

_FOLDER = Path(__file__).parent
_SEPARATOR = "---"
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_NONCE_LENGTH = 8  # hex digits: a document hits on them once in four billion times, and is then met
_MOST_BYTES = 100_000  # of a prompt in a user's folder; thirty times the longest one here
_BETWEEN = bytes(byte for byte in range(128) if not chr(byte).isalnum())


@dataclass(frozen=True)
class Prompt:
    """The two parts of a prompt file: `system` is sent as it is, `template` has placeholders."""

    system: str
    template: str

    @cached_property
    def hash(self) -> str:
        """Return the identity of the wording: the first 16 hex digits of its SHA-256."""
        return hash_text(f"{self.system}\n{_SEPARATOR}\n{self.template}")[:16]

    @cached_property
    def placeholders(self) -> frozenset[str]:
        """Return the names that `fill` needs, no more and no fewer."""
        return frozenset(_PLACEHOLDER.findall(self.template))

    def with_part(self, language: str, part: PartName) -> "Prompt":
        """Return the prompt with a further part behind its template."""
        return Prompt(self.system, f"{self.template}\n\n{_read(_prompt_language(language), part)}")

    def fill(self, **values: "str | Delimited") -> str:
        """Put the values in, in one pass: a `{name}` inside a value stays what it is.

        Untrusted values must come out of `delimit` or `render_passages`. All of them get the same delimiters,
        which none of them holds: a claim can forge no passage, and a passage no question.

        Raises:
            ValueError: a placeholder without a value, or a value without a placeholder.
        """
        if values.keys() != self.placeholders:
            missing = sorted(self.placeholders - values.keys())
            unknown = sorted(values.keys() - self.placeholders)
            raise ValueError(f"prompt placeholders without a value: {missing}; unknown: {unknown}")
        ordered = [values[name] for name in sorted(values)]
        nonce = _nonce([text for part in ordered if isinstance(part, Delimited) for _, text in part.parts])
        ready = {
            name: value.between(nonce) if isinstance(value, Delimited) else value
            for name, value in values.items()
        }
        return _PLACEHOLDER.sub(lambda match: ready[match[1]], self.template)


@dataclass(frozen=True)
class Delimited:
    """Untrusted texts with their labels, one after the other; `Prompt.fill` puts delimiters around each."""

    parts: tuple[tuple[str, str], ...]

    def between(self, nonce: str) -> str:
        """Return the texts between delimiters that end in the nonce."""
        return "\n\n".join(f"<{label}-{nonce}>\n{text}\n</{label}-{nonce}>" for label, text in self.parts)


def load_prompt(language: str, name: PromptName, folder: Path | None = None) -> Prompt:
    """Read a prompt of a language.

    A language without prompts of its own gets the English ones, which ask for the language of the
    passages: one document in another language must not stop a batch.

    Args:
        language: ISO 639-1 code.
        name: of the prompt.
        folder: of the user's own prompts, laid out like this one; what it does not hold is read here.

    Raises:
        SettingsError: the user's file cannot be used.
    """
    language = _prompt_language(language)
    if folder is not None and (own_file := folder / language / f"{name}.md").is_file():
        return _load_own(own_file, language, name, own_file.stat().st_mtime_ns)
    return _load_prompt(language, name)


def check_own_prompts(folder: Path, names: Sequence[PromptName]) -> None:
    """Verify that the user's prompts have the placeholders that the pipeline fills in.

    Raises:
        SettingsError: the folder is none, a file in it would never be read, or a file cannot be used.
    """
    if not folder.is_dir():
        raise SettingsError(f"generation.prompts: {folder} is no folder")
    for file in sorted(folder.rglob("*.md")):
        language, name = file.relative_to(folder).parent.as_posix(), file.stem
        if language not in LANGUAGES or name not in names:
            expected = f"{' or '.join(LANGUAGES)}, then {' or '.join(names)}.md"
            raise SettingsError(f"generation.prompts: {file} would not be read: it must be {expected}")
        load_prompt(language, cast("PromptName", name), folder)


def refusal(language: str) -> str:
    """Return the answer to a question whose answer is not in the passages."""
    return _read(_prompt_language(language), "refusal")


def system_prompt(language: str, name: str) -> str:
    """Return the system message of training examples, which show passages or not; one of `SYSTEM_PROMPTS`."""
    return _read(_prompt_language(language), name)


def ask_again(prompt: str, language: str, problem: str) -> str:
    """Return a prompt once more, with the problem of the reply to it.

    Args:
        prompt: the prompt as it was.
        language: of the prompt.
        problem: in words of this code's, never of the reply's.
    """
    return f"{prompt}\n\n{_read(_prompt_language(language), 'again').replace('{problem}', problem)}"


def delimit_all(texts: Sequence[str], label: str) -> Delimited:
    """Put untrusted texts between delimiters with their numbers, from 1 on; otherwise as `delimit`."""
    return Delimited(tuple((f"{label}-{n}", text) for n, text in enumerate(texts, start=1)))


def delimit(text: str, label: str = "text") -> Delimited:
    """Put untrusted text between delimiters that the text cannot close.

    Args:
        text: what the model shall read as data; it stays verbatim.
        label: what the text is, e.g. question, answer or claim; a word of this code's, never of a document.
    """
    return Delimited(((label, text),))


def render_passages(passages: Sequence[Passage]) -> Delimited:
    """Number passages from 1 and delimit each one, its title and section path inside."""
    return Delimited(
        tuple((f"passage-{n}", _passage_body(passage)) for n, passage in enumerate(passages, start=1))
    )


def _passage_body(passage: Passage) -> str:
    # titles and headings come from documents too, so they are inside the delimiters and on one line each
    head = [f"title: {' '.join(passage.title.split())}"]
    if passage.section_path:
        head.append(f"section: {' '.join(' > '.join(passage.section_path).split())}")
    return "\n".join(head) + f"\n\n{passage.text}"


def _nonce(texts: Sequence[str]) -> str:
    """Return a short hash of the texts that occurs in none of them, however it is written.

    A text that holds its own hash is met by counting on: equal texts always give equal prompts. Case, width,
    and whatever is between the letters, seen or unseen, make no difference.
    """
    content = "\x00".join(texts)
    folded = unicodedata.normalize("NFKC", content).casefold()
    haystack = folded.encode("ascii", "ignore").translate(None, _BETWEEN)
    counter = 0
    while True:
        nonce = hash_text(f"{counter}\x00{content}")[:_NONCE_LENGTH]
        if nonce.encode() not in haystack:
            return nonce
        counter += 1


def _prompt_language(language: str) -> str:
    return lexicon(language).code


@cache
def _load_prompt(language: str, name: PromptName) -> Prompt:
    return _parsed(_read(language, name), language, f"prompt file {language}/{name}.md")


@lru_cache(maxsize=64)
def _load_own(path: Path, language: str, name: PromptName, changed: int) -> Prompt:
    """Read a prompt of the user's, again when its file has `changed`."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SettingsError(f"generation.prompts: {path} is larger than {_MOST_BYTES} bytes")
        text = path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"generation.prompts: {path} cannot be read as UTF-8") from error
    prompt, ours = _parsed(text, language, f"generation.prompts: {path}"), _load_prompt(language, name)
    lost, unknown = ours.placeholders - prompt.placeholders, prompt.placeholders - ours.placeholders
    if lost or unknown:
        problems = [f"lacks {{{placeholder}}}" for placeholder in sorted(lost)] + [
            f"has {{{placeholder}}}" for placeholder in sorted(unknown)
        ]
        needed = ", ".join(f"{{{placeholder}}}" for placeholder in sorted(ours.placeholders))
        raise SettingsError(
            f"generation.prompts: {path} {' and '.join(problems)}; "
            f"below the line {_SEPARATOR} it needs exactly {needed}"
        )
    return prompt


def _parsed(text: str, language: str, where: str) -> Prompt:
    system, separator, template = text.replace("\r\n", "\n").partition(f"\n{_SEPARATOR}\n")
    if not separator:
        raise SettingsError(f"{where} has no line {_SEPARATOR!r}")
    text = refusal(language)
    return Prompt(
        system=system.strip().replace("{refusal}", text),
        template=template.strip().replace("{refusal}", text),
    )


@cache
def _read(language: str, name: str) -> str:
    if not re.fullmatch(r"[a-z_]+", name):
        raise SettingsError(f"no prompt is named {name!r}")
    try:
        return (_FOLDER / language / f"{name}.md").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        raise SettingsError(f"prompt file {language}/{name}.md is missing") from None
