"""Injections: text of a document that speaks to whoever checks it, and not to its reader.

Finding them is a second line of defence: nobody can list all wordings. The first is that passages stand
between delimiters they cannot close. What a model says of a passage with an injection is left to a person.

The patterns of every language are tried on every text, folded and casefolded. They speak of checking
(claims, verdicts, scores) and not of orders at large: manuals and statutes consist of orders.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace

from qa_pipeline.records import Passage
from qa_pipeline.text.characters import blank, clean, fold
from qa_pipeline.text.sentences import split_sentences

_STRUCTURAL = (
    # replies of a checker
    r"(?:decision|verdict|llm_decision)\"?\s*[:=]\s*[\"']?(?:accept|support|reject|unsure|pass|true)",
    r"[\"'](?:relevance|correctness|completeness|grounding|question_quality)[\"']\s*:\s*[01]",
    r"[\"'](?:supported|entailed|is_supported|accepted)[\"']\s*:\s*(?:true|1)",
    r"[\"']reasoning[\"']\s*:",
    # ends of the delimiters of this and of other prompts
    r"</?\s*(?:passage|claim|question|answer|text)(?:-\w+)+\s*>",
    r"</?\s*(?:passage|claim|instructions?|system_?prompt)s?\s*>",
    r"</\s*(?:question|answer|text)\s*>",
    r"<\|?(?:im_start|im_end|eot_id|endoftext|system|user|assistant)\|?>",
    r"\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>",
    r"(?:^|\s)#{2,}\s*(?:instructions?|response|system|assistant)\s*:",
    r"(?:^|\s)(?:system|developer|assistant)\s*:\s*\S",
)

_WITHIN = r"[^.!?\n]{0,80}?"
_CLOSE = r"[^.!?\n]{0,40}?"


def _near(*parts: str, within: str = _WITHIN) -> str:
    """Return a pattern of alternatives that follow one another in a sentence."""
    return within.join(rf"(?<!\w)(?:{part})(?!\w)" for part in parts)


_MODEL = r"ai|llm|large language model|language model|ai model|ai assistant|chatbot|gpt|gemini|claude"
_CHECKER = rf"{_MODEL}|checker|verifier|validator|grader|evaluator|fact[- ]checker|judging model|auto-?grader"
_CLAIMS = r"claims?|answers?|statements?|assertions?|responses?|question-answer pairs?|qa pairs?"
_GOOD = (
    r"support(ed|s)|correct|true|accept(ed|able)?|verified|valid|approved|proven|proved|grounded|faithful"
    r"|entailed|right|passed|perfect"
)
_PASTAENDEN = r"påståenden?|påståendena|påståendet|svar|svaret|svaren|utsagor(na)?|utsagan?"
_AUSSAGEN = r"behauptung(en)?|aussagen?|antwort(en)?|feststellung(en)?"

_ORDERS = (
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
    + r"(\W|$)",
    _near(r"claims?|answers?", r"must|should|shall|is to be|are to be|have to be|needs? to be")
    + _WITHIN
    + r"(?<!\w)(accepted|approved|marked|rated|supported|considered|treated|scored|deemed)(?!\w)",
    r"(?<!\w)(claim|answer)s? (is|are|ha(s|ve) been) (already )?(checked|vetted)(?!\w)",
    r"(?<!\w)(claim|answer)s? (is|are|has|have) already (been )?(verified|approved|checked)(?!\w)",
    _near(
        r"dear|attention|(note|notice|message|instructions?) (to|for)|hint for",
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
    r"(?<!\w)(new|updated|real|actual|system) instructions?\s*:",
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
    + r"(?<!\w)(godkännas|godtas|accepteras|markeras|bedömas|anses|räknas|betraktas)(?!\w)",
    _near(_PASTAENDEN, r"är|har")
    + r" (redan )?(kontrollera\w*|granska[td]\w*|verifiera[td]\w*|godkän[td]\w*)",
    _near(
        r"till|kära|bästa|obs|instruktion(er)? (till|för)",
        r"språkmodell(en)?|ai:n|ai|ai-modell(en)?|granskaren|bedömaren|verifieraren|kontrollmodellen"
        r"|assistenten",
    ),
    _near(r"du är|om du är|agera som", r"ai|språkmodell|granskare|assistent|bedömare|faktagranskare"),
    _near(r"ge|sätt|tilldela", r"högsta|full|fulla|maximala?|1[,.]0", r"betyg\w*|poäng\w*"),
    _near(
        r"ignorier(e|en|t)|missachte[nt]?|vergiss|vergessen sie|übergehe[nt]?",
        r"bisherigen?|vorherigen?|obigen?|früheren?|alle|allen|deine|ihre|vorstehenden?|vorangehenden?",
        r"anweisung(en)?|instruktion(en)?|vorgaben?|befehle?|prompts?|regeln|gesagte",
    ),
    _near(
        r"markier(e|en)|bewerte[n]?|kennzeichne[n]?|akzeptiere[n]?|bestätige[n]?|betrachte[n]?|werte[n]?|"
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
    + r"(?<!\w)(akzeptiert werden|als (belegt|wahr|korrekt|richtig)|anzunehmen|bereits geprüft)(?!\w)",
    _near(
        r"an|liebe|lieber|liebes|achtung|hinweis (an|für)|anweisung(en)? (an|für)",
        r"ki|ki-modell|sprachmodell|prüfmodell|den prüfer|prüfinstanz|den gutachter|assistent(en)?",
    ),
    _near(r"du bist|sie sind|falls du|agiere als", r"ki|sprachmodell|prüfer|prüfinstanz|gutachter|assistent"),
    _near(
        r"gib|geben sie|vergib|vergeben sie|setze|bewerte[n]?",
        r"höchste|volle|maximale|beste|1[,.]0",
        r"punktzahl|bewertung|note|punkte|wertung",
    ),
)
"""Orders to a checker, in each of the languages."""

_WORD = r"(?<!\w)"
_WORDED = (re.compile(f"{_WORD}(?:{'|'.join(order.removeprefix(_WORD) for order in _ORDERS)})"),)
"""One pattern, in which the beginning of a word is looked for once and not for each order."""
_FORGED = tuple(map(re.compile, _STRUCTURAL))
GAP = "[…]"
"""The text that a model reads in the place of an injection."""

INJECTION_IN_SOURCE = "injection_in_source"
"""Reason code of what is left to a person because a passage holds an injection."""

_TAGS = {code: code - 0xE0000 for code in range(0xE0020, 0xE007F)}
_TURNED = "\u202e"
_HIDDEN = re.compile("[\U000e0020-\U000e007e]{3,}")
_LONGEST_DELIMITED = 2000


def find_injections(text: str, language: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences that hold an injection, in order and disjoint.

    All text between two forged delimiters belongs to the injection.
    """
    if not is_injection(text):
        return []
    sentences = split_sentences(text, language)
    worded = [(s, e) for s, e in sentences if _matches(text[s:e], _WORDED) or _HIDDEN.search(text, s, e)]
    forged = [(s, e) for s, e in sentences if _matches(text[s:e], _FORGED)]
    spans = _united([*worded, *_united(forged, _LONGEST_DELIMITED)])
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
    """Return True if any of the passages holds an injection."""
    return any(
        is_injection(text)
        for passage in passages
        for text in (passage.title, *passage.section_path, passage.text)
    )


def blank_injections(text: str, language: str) -> str:
    """Return the text with blanks in place of injections, so that every offset stays."""
    for start, end in find_injections(text, language):
        text = blank(text, start, end)
    return text


def _withheld(text: str, language: str) -> str:
    parts, at = [], 0
    for start, end in find_injections(text, language):
        parts += [text[at:start], GAP]
        at = end
    return "".join([*parts, text[at:]])


@functools.lru_cache(maxsize=16_384)
def is_injection(text: str) -> bool:
    """Return True if a text by itself holds an injection."""
    return bool(_HIDDEN.search(text)) or _matches(text, _FORGED) or _matches(text, _WORDED)


def _matches(text: str, patterns: Iterable[re.Pattern[str]]) -> bool:
    plain = text if text.isascii() else unicodedata.normalize("NFKC", clean(text.translate(_TAGS)))
    forms = [fold(plain).casefold()]
    if _TURNED in text:
        forms.append(forms[0][::-1])
    return any(pattern.search(form) for pattern in patterns for form in forms)


def _united(spans: Iterable[tuple[int, int]], gap: int = 0) -> list[tuple[int, int]]:
    """Return spans in order, those at most `gap` characters apart as one."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if united and start - united[-1][1] <= gap:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        else:
            united.append((start, end))
    return united
