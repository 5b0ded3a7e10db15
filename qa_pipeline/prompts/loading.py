"""Load prompt files and insert untrusted text into them.

A prompt file (`prompts/<language>/<name>.md`) has a system part and a template part, separated by a line
`---`. `parts.md` has optional texts, each below a heading with its name. `{name}` is a placeholder, and
`{refusal}` the refusal text of the language. The system part is the same in all prompts of a run and comes
first, because providers charge less for a known prefix. `NAME_small.md` is the prompt for small models.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, count
from pathlib import Path
from typing import Literal, get_args

from qa_pipeline.errors import SettingsError
from qa_pipeline.records import Passage
from qa_pipeline.settings.llm import LLMSettings, Profile
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.text.lexicon.languages import LANGUAGES, lexicon

PromptName = Literal[
    "questions",
    "questions_quoted",
    "standalone",
    "guard",
    "validate_reference",
    "answer",
    "split",
    "verify",
    "compare",
    "judge",
    "contradicts",
    "relevant_sentences",
    "back_questions",
    "groundedness",
]
NAMES: tuple[PromptName, ...] = get_args(PromptName)
SYSTEM_PROMPTS = CLOSED_BOOK, WITH_PASSAGES = "system_closed_book", "system_passages"

_FOLDER = Path(__file__).parent
_SEPARATOR = "---"
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_NONCE_LENGTH = 8  # hex digits: one document in four billion contains them, and then gets another nonce
_LONGEST_EXCERPT = 4000  # characters of an unusable reply; its beginning shows the problem
_OPENING = re.compile(r"<[a-z]+(?:-\d+)?-([0-9a-f]{8})>")  # <passage-2-1f2e3d4c>; the group is the nonce
_SHIPPED = LLMSettings()
_PUNCTUATION = bytes(byte for byte in range(128) if not chr(byte).isalnum())  # not searched for a nonce


@dataclass(frozen=True)
class Prompt:
    """The two parts of a prompt file. `system` is sent unchanged, and `template` has placeholders."""

    system: str
    template: str

    @cached_property
    def hash(self) -> str:
        """Return the identity of the wording: the first 16 hex digits of its SHA-256."""
        return hash_text(f"{self.system}\n{_SEPARATOR}\n{self.template}")[:16]

    @cached_property
    def placeholders(self) -> frozenset[str]:
        """Return the exact names that `fill` needs."""
        return frozenset(_PLACEHOLDER.findall(self.template))

    def with_part(self, language: str, part: str, **values: str) -> "Prompt":
        """Return the prompt with a further part after its system part, with placeholders filled in.

        Values must come from this code or the user's files, never from documents or replies.
        """
        text = _PLACEHOLDER.sub(lambda match: values[match[1]], part_text(language, part))
        return Prompt(f"{self.system}\n\n{text}", self.template)

    def fill(self, **values: "str | Delimited") -> str:
        """Insert the values in a single pass. A `{name}` inside a value is not replaced.

        Untrusted values must come from `delimit` or `render_passages`. All of them get the same delimiters,
        which do not occur in any of them. A claim therefore cannot forge a passage, nor a passage a question.

        Raises:
            ValueError: a placeholder lacks a value, or a value lacks a placeholder.
        """
        if values.keys() != self.placeholders:
            missing = sorted(self.placeholders - values.keys())
            unknown = sorted(values.keys() - self.placeholders)
            raise ValueError(f"prompt placeholders without a value: {missing}; unknown: {unknown}")
        untrusted = {  # texts by placeholder
            name: [text for _, text in value.parts]
            for name, value in sorted(values.items())
            if isinstance(value, Delimited)
        }
        # hash only the first texts, so that prompts about the same passages have the same prefix
        first_name = next((name for name in _PLACEHOLDER.findall(self.template) if name in untrusted), "")
        nonce = _nonce([*chain.from_iterable(untrusted.values())], hashed=untrusted.get(first_name, []))
        rendered = {
            name: value.between(nonce) if isinstance(value, Delimited) else value
            for name, value in values.items()
        }
        return _PLACEHOLDER.sub(lambda match: rendered[match[1]], self.template)


@dataclass(frozen=True)
class Delimited:
    """Untrusted texts with their labels, in order. `Prompt.fill` puts delimiters around each."""

    parts: tuple[tuple[str, str], ...]

    def between(self, nonce: str) -> str:
        """Return the texts between delimiters that end in the nonce."""
        return "\n\n".join(f"<{label}-{nonce}>\n{text}\n</{label}-{nonce}>" for label, text in self.parts)


def load_prompt(language: str, name: PromptName, llm: LLMSettings = _SHIPPED) -> Prompt:
    """Read a prompt of a language.

    A language without prompts gets the English prompts, which ask for the language of the passages. The
    settings name the profile and the folder of the user's prompts.

    Raises:
        SettingsError: the user's file cannot be used.
    """
    language = lexicon(language).code
    own_file = None if llm.prompts is None else llm.prompts / language / f"{name}.md"
    if own_file is not None and own_file.is_file():
        return _load_own(own_file, language, name)
    return _load_prompt(language, name, llm.profile)


def check_own_prompts(llm: LLMSettings) -> None:
    """Verify that the user's prompts have the placeholders that the pipeline fills in.

    Raises:
        SettingsError: the folder does not exist, a file in it would never be read, or a file cannot be used.
    """
    folder = llm.prompts
    if folder is None:
        return
    if not folder.is_dir():
        raise SettingsError(f"llm.prompts: {folder} is not a folder")
    for file in sorted(folder.rglob("*.md")):
        language, name = file.relative_to(folder).parent.as_posix(), file.stem
        if language not in LANGUAGES or name not in NAMES:
            expected = f"{' or '.join(LANGUAGES)}, then {' or '.join(NAMES)}.md"
            raise SettingsError(f"llm.prompts: {file} would not be read: it must be {expected}")
        load_prompt(language, name, llm)


def refusal(language: str) -> str:
    """Return the answer to a question whose answer is not in the passages."""
    return part_text(language, "refusal")


def ask_again(prompt: str, language: str, problem: str, reply: str) -> str:
    """Return a prompt again, with the reply to it and the problem of the reply.

    `problem` describes it in words of this code, never of the reply. The beginning of the reply is shown as
    data, between delimiters that do not occur in it or in the prompt.
    """
    excerpt = reply[:_LONGEST_EXCERPT]
    for nonce in _OPENING.findall(prompt):  # so that a reply cannot close a tag of the prompt
        excerpt = excerpt.replace(nonce, "")
    delimited_reply = delimit(excerpt, "reply").between(_nonce([prompt, excerpt]))
    template = part_text(language, "again")
    return f"{prompt}\n\n{template.replace('{problem}', problem).replace('{reply}', delimited_reply)}"


def part_text(language: str, name: str) -> str:
    """Return a text of `parts.md`."""
    return _parts(lexicon(language).code)[name]


@cache
def _parts(language: str) -> dict[str, str]:
    texts = re.split(r"(?m)^## ([a-z_]+)$", _read(language, "parts"))  # preface, name, text, name, text, …
    return dict(zip(texts[1::2], map(str.strip, texts[2::2]), strict=True))


def delimit(text: str, label: str = "text") -> Delimited:
    """Put untrusted text between delimiters that the text cannot close.

    `label` is the kind of the text, such as question or claim. It must come from this code, never from a
    document.
    """
    return Delimited(((label, text),))


def delimit_all(texts: Sequence[str], label: str) -> Delimited:
    """Delimit untrusted texts like `delimit`, with labels numbered from 1."""
    return Delimited(tuple((f"{label}-{n}", text) for n, text in enumerate(texts, start=1)))


def render_passages(passages: Sequence[Passage]) -> Delimited:
    """Number passages from 1 and delimit each, including its title and section path."""
    texts = []
    for passage in passages:
        # titles and headings are untrusted too, so they are inside the delimiters, each on one line
        lines = [f"title: {' '.join(passage.title.split())}"]
        if passage.section_path:
            lines.append(f"section: {' '.join(' > '.join(passage.section_path).split())}")
        texts.append("\n".join([*lines, "", passage.text]))
    return delimit_all(texts, "passage")


def _nonce(texts: Sequence[str], hashed: Sequence[str] | None = None) -> str:
    """Return a short hash, of the `hashed` texts or else of all texts, that does not occur in any text.

    If a text contains its own hash, a counter is increased, so equal texts always give equal prompts. The
    search ignores case, width and all characters between the letters.
    """
    to_hash = "\x00".join(texts if hashed is None else hashed)
    nonces = (hash_text(f"{counter}\x00{to_hash}")[:_NONCE_LENGTH] for counter in count())
    folded = unicodedata.normalize("NFKC", "\x00".join(texts)).casefold()
    haystack = folded.encode("ascii", "ignore").translate(None, _PUNCTUATION)
    return next(nonce for nonce in nonces if nonce.encode() not in haystack)


@cache
def _load_prompt(language: str, name: PromptName, profile: Profile = "standard") -> Prompt:
    file = f"{name}_{profile}" if (_FOLDER / language / f"{name}_{profile}.md").is_file() else name
    return _parsed(_read(language, file), language, f"prompt file {language}/{file}.md")


def _load_own(path: Path, language: str, name: PromptName) -> Prompt:
    """Read a prompt of the user and check its placeholders."""
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"llm.prompts: {path} cannot be read as UTF-8") from error
    prompt, shipped = _parsed(text, language, f"llm.prompts: {path}"), _load_prompt(language, name)
    if prompt.placeholders != shipped.placeholders:
        needed = ", ".join(f"{{{placeholder}}}" for placeholder in sorted(shipped.placeholders))
        raise SettingsError(f"llm.prompts: below {_SEPARATOR}, {path} needs exactly {needed}")
    return prompt


def _parsed(text: str, language: str, where: str) -> Prompt:
    """Return the prompt of a file. `where` names the file in messages."""
    system, separator, template = text.replace("\r\n", "\n").partition(f"\n{_SEPARATOR}\n")
    if not separator:
        raise SettingsError(f"{where} has no line {_SEPARATOR!r}")
    refused = refusal(language)
    return Prompt(*(part.strip().replace("{refusal}", refused) for part in (system, template)))


def _read(language: str, name: str) -> str:
    return (_FOLDER / language / f"{name}.md").read_text(encoding="utf-8").strip()
