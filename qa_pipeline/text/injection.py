"""Injections: text of a document that speaks to whoever checks, and not to the reader of the document.

Finding is a second line of defence. The first is that passages are data between delimiters they cannot
close; but a model may obey what it reads there, and nobody can list all wordings. So a passage in which one
injection was found is trusted no further: what a model says of it is looked at by a person.

The patterns read casefolded text on one line; those of every language are tried on every text, since an
injection need not be in the language of its document. They speak of checking (claims, verdicts, scores,
instructions to a model) and not of orders at large: manuals and statutes consist of orders to their readers.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from qa_pipeline.records import Passage
from qa_pipeline.text.sentences import split_sentences

REPLIES = (
    r"(?:decision|verdict|llm_decision)[\"'”“]?\s*[:=]\s*[\"'“„]?(?:accept|support|reject|unsure|pass|true)",
    r"[\"'“„](?:relevance|correctness|completeness|grounding|question_quality)[\"'”“]\s*:\s*[01]",
    r"[\"'“„](?:supported|entailed|is_supported|accepted)[\"'”“]\s*:\s*(?:true|1)",
    r"[\"'“„]reasoning[\"'”“]\s*:",
)
"""Ready-made replies of a checker."""

DELIMITERS = (
    r"</?\s*(?:passage|claim|question|answer|text)(?:-\w+)+\s*>",
    r"</?\s*(?:passage|claim|instructions?|system_?prompt)s?\s*>",
    r"</\s*(?:question|answer|text)\s*>",
    r"<\|?(?:im_start|im_end|eot_id|endoftext|system|user|assistant)\|?>",
    r"\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>",
    r"(?:^|\s)#{2,}\s*(?:instructions?|response|system|assistant)\s*:",
    r"(?:^|\s)(?:system|developer|assistant)\s*:\s*\S",
)
"""Ends of our own delimiters, and of other prompts'."""

_WITHIN = r"[^.!?\n]{0,80}?"
_CLOSE = r"[^.!?\n]{0,40}?"


def _near(*parts: str, within: str = _WITHIN) -> str:
    """Return a pattern of alternatives that follow one another in a sentence."""
    return within.join(rf"(?<!\w)(?:{part})(?!\w)" for part in parts)


_MODEL = r"ai|llm|large language model|language model|ai model|ai assistant|chatbot|gpt|gemini|claude"
_CHECKER = rf"{_MODEL}|checker|verifier|validator|grader|evaluator|fact[- ]checker|judging model|auto-?grader"
_CLAIMS = r"claims?|answers?|statements?|assertions?|responses?|question-answer pairs?|qa pairs?"
_GOOD = (
    r"support(?:ed|s)|correct|true|accept(?:ed|able)?|verified|valid|approved|proven|proved|grounded"
    r"|faithful|"
    r"entailed|right|passed|perfect"
)
_PASTAENDEN = r"påståenden?|påståendena|påståendet|svar|svaret|svaren|utsagor(?:na)?|utsagan?"
_AUSSAGEN = r"behauptung(?:en)?|aussagen?|antwort(?:en)?|feststellung(?:en)?"

ORDERS = (
    _near(
        r"ignore|disregard|forget|override|bypass|set aside",
        r"previous|prior|above|earlier|preceding|all|any|your|system|existing|everything",
        r"instructions?|prompts?|guidelines|directives you|told|commands|orders",
    ),
    _near(
        r"mark|rate|label|classify|treat|score|grade|judge|regard|accept|approve|confirm|deem|evaluate"
        r"|assess|"
        r"consider|report",
        r"every|all|any|each|this|these|the|following",
        _CLAIMS,
        _GOOD,
    ),
    _near(r"accept|approve", r"every|all|any|each|these", _CLAIMS),
    _near(
        r"reply|respond|answer|output|return", r"decision|verdict|accept|\"accept\"|supported", within=_CLOSE
    )
    + r"(?:\W|$)",
    _near(r"claims?|answers?", r"must|should|shall|is to be|are to be|have to be|needs? to be")
    + _WITHIN
    + r"(?<!\w)(?:accepted|approved|marked|rated|supported|considered|treated|scored|deemed)(?!\w)",
    r"(?<!\w)(?:claim|answer)s? (?:is|are|ha(?:s|ve) been) (?:already )?(?:checked|vetted)(?!\w)",
    r"(?<!\w)(?:claim|answer)s? (?:is|are|has|have) already (?:been )?(?:verified|approved|checked)(?!\w)",
    _near(
        r"dear|attention|(?:note|notice|message|instructions?) (?:to|for)|hint for",
        _CHECKER + r"|judge|reviewers?|assistant",
    ),
    _near(r"if you are|you are|you're|act as|since you are", _CHECKER),
    _near(
        r"give|assign|award|set|use|grant",
        r"full|maximum|top|highest|perfect|best possible|1\.0|100\s*%",
        r"scores?|marks|ratings?|grades?|points",
    ),
    _near(r"score|rating|grade", r"of|is|to be", r"1\.0|10/10|100\s*%"),
    _near(r"do not|don't|never", r"check|verify|question|reject|doubt", _CLAIMS),
    r"(?<!\w)(?:new|updated|real|actual|system) instructions?\s*:",
    _near(
        r"strunta i|ignorera|bortse från|glöm|åsidosätt|hoppa över|förbigå",
        r"tidigare|föregående|ovanstående|alla|allt|dina|systemets",
        r"instruktion\w*|prompt\w*|uppmaning\w*|anvisning\w*|order|direktiv\w*|sagts",
    ),
    _near(
        r"markera|bedöm|betygsätt|klassa|klassificera|räkna|betrakta|behandla|bekräfta|ange|godkänn|anse",
        _PASTAENDEN,
        r"stödda?|stödd|stöds|korrekta?|sanna|sant|rätt|riktigt?|godkän\w*|verifiera\w*|accepter\w*"
        r"|belagda?|belagt",
    ),
    _near(r"godkänn|acceptera|bekräfta", r"alla|varje|allt|samtliga|detta|dessa", _PASTAENDEN),
    _near(r"svara|returnera|skriv", r"att allt stämmer|accept\w*|godkänn?\w*|decision|stöds"),
    _near(_PASTAENDEN, r"ska|skall|måste|bör")
    + _WITHIN
    + r"(?<!\w)(?:godkännas|godtas|accepteras|markeras|bedömas|anses|räknas|betraktas)(?!\w)",
    _near(_PASTAENDEN, r"är|har")
    + r" (?:redan )?(?:kontrollera\w*|granska[td]\w*|verifiera[td]\w*|godkän[td]\w*)",
    _near(
        r"till|kära|bästa|obs|instruktion(?:er)? (?:till|för)",
        r"språkmodell(?:en)?|ai:n|ai|ai-modell(?:en)?|granskaren|bedömaren|verifieraren|kontrollmodellen"
        r"|assistenten",
    ),
    _near(r"du är|om du är|agera som", r"ai|språkmodell|granskare|assistent|bedömare|faktagranskare"),
    _near(r"ge|sätt|tilldela", r"högsta|full|fulla|maximala?|1[,.]0", r"betyg\w*|poäng\w*"),
    _near(
        r"ignorier(?:e|en|t)|missachte[nt]?|vergiss|vergessen sie|übergehe[nt]?",
        r"bisherigen?|vorherigen?|obigen?|früheren?|alle|allen|deine|ihre|vorstehenden?|vorangehenden?",
        r"anweisung(?:en)?|instruktion(?:en)?|vorgaben?|befehle?|prompts?|regeln|gesagte",
    ),
    _near(
        r"markier(?:e|en)|bewerte[n]?|kennzeichne[n]?|akzeptiere[n]?|bestätige[n]?|betrachte[n]?|werte[n]?|"
        r"behandle|behandeln|stufe[n]?|erkläre[n]?",
        _AUSSAGEN,
        r"belegt|gestützt|unterstützt|korrekt|wahr|richtig|akzeptiert|bestätigt|gültig|1[,.]0|geprüft"
        r"|belegte?",
    ),
    _near(r"akzeptiere[n]?|bestätige[n]?", r"alle|jede|diese|sämtliche", _AUSSAGEN),
    _near(
        r"antworte[n]?|gib|geben sie|schreibe",
        r"mit|als|nur",
        r"accept\w*|akzeptier\w*|decision|verdict|belegt",
    ),
    _near(_AUSSAGEN, r"muss|müssen|soll|sollen|ist|sind")
    + _WITHIN
    + r"(?<!\w)(?:akzeptiert werden|als (?:belegt|wahr|korrekt|richtig)|anzunehmen|bereits geprüft)(?!\w)",
    _near(
        r"an|liebe|lieber|liebes|achtung|hinweis (?:an|für)|anweisung(?:en)? (?:an|für)",
        r"ki|ki-modell|sprachmodell|prüfmodell|den prüfer|prüfinstanz|den gutachter|assistent(?:en)?",
    ),
    _near(r"du bist|sie sind|falls du|agiere als", r"ki|sprachmodell|prüfer|prüfinstanz|gutachter|assistent"),
    _near(
        r"gib|geben sie|vergib|vergeben sie|setze|bewerte[n]?",
        r"höchste|volle|maximale|beste|1[,.]0",
        r"punktzahl|bewertung|note|punkte|wertung",
    ),
)
"""Orders to a checker, in each of the languages."""

_WORD_START = r"(?<!\w)"


def _joined(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return one pattern of many: where a word begins is looked for once, not for each that begins so."""
    worded = [pattern.removeprefix(_WORD_START) for pattern in patterns if pattern.startswith(_WORD_START)]
    others = [pattern for pattern in patterns if not pattern.startswith(_WORD_START)]
    return re.compile("|".join([f"{_WORD_START}(?:{'|'.join(worded)})", *others]))


WORDED = (_joined(ORDERS),)
STRUCTURAL = tuple(re.compile(pattern) for pattern in (*REPLIES, *DELIMITERS))


GAP = "[…]"
"""The text that a model reads in the place of an injection."""

INJECTION_IN_SOURCE = "injection_in_source"
"""Reason code of what is left to a person because a passage holds an injection."""

_TAGS = {code: code - 0xE0000 for code in range(0xE0020, 0xE007F)}
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]"
)
_TURNED = "\u202e"
_HIDDEN = re.compile("[\U000e0020-\U000e007e]{3,}")
_LONGEST_DELIMITED = 2000


def find_injections(text: str, language: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences that hold an injection, in order and disjoint.

    Between two forged delimiters everything belongs to the injection. Invisible characters, letters of other
    widths and text written backwards make no difference.
    """
    if not _suspicious(text):
        return []
    sentences = split_sentences(text, language)
    worded = [(s, e) for s, e in sentences if _matches(text[s:e], WORDED) or _HIDDEN.search(text, s, e)]
    forged = [(s, e) for s, e in sentences if _matches(text[s:e], STRUCTURAL)]
    spans = _merged([*worded, *_bridged(forged)])
    # what only shows across sentences: the text as a whole is the injection
    return spans or [(0, len(text))]


def redact_injections(passage: Passage) -> Passage:
    """Return the passage with a gap in the place of each injection, in its title and headings too."""
    return replace(
        passage,
        title=_withheld(passage.title, passage.language),
        section_path=tuple(_withheld(heading, passage.language) for heading in passage.section_path),
        text=_withheld(passage.text, passage.language),
    )


def hold_injections(passages: Iterable[Passage]) -> bool:
    """Return whether any of the passages holds an injection."""
    return any(
        _suspicious(text)
        for passage in passages
        for text in (passage.title, *passage.section_path, passage.text)
    )


def is_injection(text: str) -> bool:
    """Return whether a text by itself holds an injection."""
    return _suspicious(text)


def blank_injections(text: str, language: str) -> str:
    """Return the text with blanks in the place of injections, so that every offset stays."""
    for start, end in find_injections(text, language):
        blank = "".join("\n" if letter == "\n" else " " for letter in text[start:end])
        text = text[:start] + blank + text[end:]
    return text


def _withheld(text: str, language: str) -> str:
    parts, at = [], 0
    for start, end in find_injections(text, language):
        parts += [text[at:start], GAP]
        at = end
    return "".join([*parts, text[at:]])


@functools.lru_cache(maxsize=16_384)
def _suspicious(text: str) -> bool:
    return bool(_HIDDEN.search(text)) or _matches(text, STRUCTURAL) or _matches(text, WORDED)


def _matches(text: str, patterns: Iterable[re.Pattern[str]]) -> bool:
    forms = [_plain(text)]
    if _TURNED in text:
        forms.append(forms[0][::-1])
    return any(pattern.search(form) for pattern in patterns for form in forms)


def _plain(text: str) -> str:
    """Return the comparable form: visible letters of one width and case, on one line."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text.translate(_TAGS)))
    return " ".join(text.casefold().replace("’", "'").split())


def _bridged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return forged delimiters together with what is between them."""
    bridged: list[tuple[int, int]] = []
    for start, end in spans:
        if bridged and start - bridged[-1][1] <= _LONGEST_DELIMITED:
            bridged[-1] = (bridged[-1][0], end)
        else:
            bridged.append((start, end))
    return bridged


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
