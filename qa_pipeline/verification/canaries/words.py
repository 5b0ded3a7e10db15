"""Canaries of words: names exchanged, negations put in or taken out, quantifiers raised, bounds turned.

The checks' own idea of a name must not decide what they are tested with.
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from qa_pipeline.verification.canaries.material import (
    Generator,
    Material,
    Sentence,
    lower_words,
    on_text,
    replaced,
    word_list,
    word_set,
)

_SPECIAL = re.compile(
    r"(?<![\w./’'-])(?:[A-Z][a-z]+[A-Z]\w*|[A-Z]{2}[A-Za-z0-9]*|[a-z]{2,}_[a-z_]*[a-z])(?![\w(/’'-]|\.\w)"
)
_PROPER = re.compile(r"(?<=[a-zåäöé,] )[A-ZÅÄÖ][a-zåäöé]{2,}(?: [A-ZÅÄÖ][a-zåäöé]{2,}){0,2}(?![\w’'-])")
_NO_NAMES = word_set(
    """MUST NOT SHOULD MAY SHALL REQUIRED OPTIONAL RECOMMENDED AND THE FOR NO NB NOTE TODO OK
    January February March April May June July August September October November December Monday
    Tuesday Wednesday Thursday Friday Saturday Sunday Section Figure Table Chapter Appendix Part
    Step The This That These It In Internet Web English German Swedish American European Open Source
    Förenta Europeiska Nordiska Internationella Främre Kungl Kungliga Svenska"""
)
_JOINERS = word_set("""and or och eller und oder samt sowie nor & , as like som wie""")
_MUTUAL = re.compile(
    r"\b(?:between|mellan|zwischen|both|same|similar|different|equal|equivalent|compatible|together|sowohl|"
    r"Verbindung|identi\w*|såväl|combin\w*|with each other|correspond\w*|motsvara\w*|samma|olika|gleich|"
    r"unterschied\w*|compare\w*|versus|instead|respectively|either|also known)\b",
    re.IGNORECASE,
)


def _class(name: str) -> str:
    if "_" in name:
        return "identifier"
    if name.isupper():
        return "acronym"
    return "mixed" if re.search(r"[a-z][A-Z]|[A-Z]{2}", name) else "proper"


def find(text: str, language: str, ordinary: frozenset[str]) -> list[re.Match[str]]:
    """Names of a text: identifiers, acronyms and mixed case; capitalised words too where nouns are small."""
    patterns: Sequence[re.Pattern[str]] = (_SPECIAL,) if language == "de" else (_SPECIAL, _PROPER)
    return sorted(
        (
            found
            for pattern in patterns
            for found in pattern.finditer(text)
            if not set(found[0].split()) & _NO_NAMES
            and not ({part.lower() for part in found[0].split()} & ordinary)
        ),
        key=lambda found: found.start(),
    )


@functools.lru_cache(maxsize=1024)
def _of_document(text: str, language: str) -> tuple[str, ...]:
    found = find(text, language, lower_words(text))
    return tuple(sorted({one[0] for one in found}))


def _named(sentence: Sentence, material: Material) -> list[re.Match[str]]:
    """Names that stand once in the sentence."""
    found = find(sentence.text, sentence.language, lower_words(material.document(sentence.document_id)))
    return [one for one in found if sentence.text.count(one[0]) == 1]


def _whole(text: str, found: re.Match[str]) -> bool:
    """Whether no capitalised word stands beside a name, which would make it a part of a longer one."""
    return not re.search(r"[A-ZÅÄÖ][\w-]{0,60} $", text[: found.start()]) and not re.match(
        r"[ :] ?[A-ZÅÄÖ]", text[found.end() :]
    )


def exchanged(sentence: Sentence, material: Material) -> Iterator[str]:
    """Two names of a sentence change places, where more than a conjunction stands between them."""
    names, text = _named(sentence, material), sentence.text
    for left, right in pairwise(names):
        between = text[left.end() : right.start()].split()
        if not (_whole(text, left) and _whole(text, right)):
            continue
        verbal = sum(word.strip(",.").casefold() not in _JOINERS for word in between) >= 2
        if (
            verbal
            and not re.search("[,()]", text[left.start() : right.end() + 1])
            and not _MUTUAL.search(text)
            and _differ(left[0], right[0])
        ):
            yield (
                text[: left.start()]
                + right[0]
                + text[left.end() : right.start()]
                + left[0]
                + text[right.end() :]
            )


def same_document(sentence: Sentence, material: Material) -> Iterator[str]:
    """A name of elsewhere in the document, which the passage does not name."""
    there = _of_document(material.document(sentence.document_id), sentence.language)
    yield from _put(sentence, material, there, "same document")


def other_document(sentence: Sentence, material: Material) -> Iterator[str]:
    """A name of another document, which the passage does not name."""
    others = [one for one in material.documents() if one != sentence.document_id]
    if not others:
        return
    for place in range(3):
        document = material.pick(others, sentence.text, "document", str(place))
        there = _of_document(material.document(document), sentence.language)
        found = list(_put(sentence, material, there, "other document"))
        if found:
            yield from found
            return


def _put(sentence: Sentence, material: Material, names: Sequence[str], key: str) -> Iterator[str]:
    passage = material.chunks[sentence.chunk_id].casefold()
    for found in _named(sentence, material):
        alike = [
            name
            for name in names
            if _class(name) == _class(found[0])
            and _differ(name, found[0])
            and name.casefold() not in passage
            and len(name.split()) == len(found[0].split())
            and name.endswith("s") == found[0].endswith("s")
        ]
        if alike:
            new = material.pick(alike, sentence.text, str(found.start()), key)
            yield replaced(sentence.text, found, new)


def _differ(left: str, right: str) -> bool:
    """Whether two names are surely two: no part of each other, no shared beginning."""
    one, other = left.casefold(), right.casefold()
    return one not in other and other not in one and one[:3] != other[:3] and _class(left) == _class(right)


_VERBS = {
    "en": "is are was were can could will would should must may has have",
    "sv": "är var ska skall får kan måste har bör gäller utgör blir finns",
    "de": "ist sind war waren kann können wird werden muss müssen darf dürfen sollte sollten hat haben",
}
_SUBORDINATE = {
    "en": r"\b(?:if|when|that|which|who|whose|where|while|because|unless|until|since|as|although|though|"
    r"whether|after|before|how|what|so)\b",
    "sv": r"\b(?:om|när|att|som|där|medan|eftersom|innan|sedan|vilket|vilka|då|hur|vad|för|utan|även|"
    r"ehuru|därest|såvida)\b",
    "de": r"\b(?:wenn|dass|daß|der|die|das|welche|welcher|welches|weil|da|falls|ob|während|bevor|nachdem|"
    r"damit|wie|was|wo|sobald|obwohl|als|um)\b(?=.*)",
}
_DENYING = re.compile(
    r"\b(?:not|no|never|none|without|cannot|neither|nor|nothing|nobody|unless|hardly|except|only|"
    r"inte|ej|icke|aldrig|utan|ingen|inga|inget|varken|endast|bara|annat|annan|förrän|"
    r"nicht|kein\w*|nie|niemals|ohne|weder|nichts|nur|außer)\b|n['’]t\b",
    re.IGNORECASE,
)
_PRONOUNS = {
    "sv": r"(?:han|hon|den|det|de|man|du|vi|ni|regeringen|myndigheten|rätten|styrelsen|domstolen)\b ",
    "de": r"(?:Sie|man|es|er|sie|wir|du|ich|sich|das|dies|diese|dieser|dieses|der \w+|die \w+|das \w+)\b ",
}
_NOT = {"en": "not", "sv": "inte", "de": "nicht"}
_NO_LONGER = {"en": "no longer", "sv": "inte längre", "de": "nicht mehr"}


def _main_verb(sentence: Sentence) -> re.Match[str] | None:
    """The first finite verb of a list, before anything subordinate and in a sentence that denies nothing."""
    text, language = sentence.text, sentence.language
    if _DENYING.search(text):
        return None
    found = re.search(rf"(?<![\w’'-])(?:{'|'.join(_VERBS[language].split())})(?= [\wåäöüÅÄÖÜ])", text)
    if found is None or found.start() == 0:
        return None
    ahead = text[: found.start()]
    opens = r"^(?:die|der|das)\b" if language == "de" else r"^(?:That|Which|As|So|What|Since|Då|För|Även)\b"
    inner = re.search(_SUBORDINATE[language], re.sub(opens, "", ahead, flags=re.IGNORECASE), re.IGNORECASE)
    only_articles = language == "de" and inner and not re.search(r",", ahead)
    return found if inner is None or only_articles else None


def _inserted(sentence: Sentence, word: str) -> Iterator[str]:
    found = _main_verb(sentence)
    if found is None:
        return
    text, at = sentence.text, found.end() + 1
    follows = re.compile(_PRONOUNS.get(sentence.language, r"(?!)")).match(text, at)
    at = follows.end() if follows else at
    if found[0] == "can" and word == "not":
        yield replaced(text, found, f"{found[0]}not")
    elif found[0] in ("has", "have", "hat", "haben") and text[at:].startswith(("to ", "been ")):
        return
    else:
        yield f"{text[:at]}{word} {text[at:]}"


def inserted(sentence: Sentence, material: Material) -> Iterator[str]:
    """A "not" in the main clause; in German "kein" before an indefinite article."""
    for claim in _inserted(sentence, _NOT[sentence.language]):
        yield re.sub(r"\bnicht (ein(?:e|en|em|er|es)?)\b", r"k\1", claim)


def no_longer(sentence: Sentence, material: Material) -> Iterator[str]:
    """A "no longer" in the main clause: it was so once."""
    yield from _inserted(sentence, _NO_LONGER[sentence.language])


_REMOVABLE = {
    "en": re.compile(
        r"(?<=\b(?:is|as|re|an|ld|st|es|do|id|ll|ve|be|ay)) not (?!only|just|necessarily|yet|all|every|"
        r"always|even|to be confused|really|exactly|quite|strictly|otherwise|so|as)|"
        r"(?<=\bcan)not (?!only|just)|"
        r"(?<=\b(?:is|es|re|do|id|ld|as|ve|ed))n['’]t (?!only|just|really|always|all|even|necessarily|yet)"
    ),
    "sv": re.compile(
        r" (?:inte|ej|icke) (?!bara|endast|heller|längre|minst|alla|alltid|ens|enbart|annat|mer|mindre|kan)"
    ),
    "de": re.compile(
        r"(?<![Oo]der)(?<!noch)(?<!auch)(?<!gar) nicht (?!nur|mehr|unbedingt|zuletzt|alle|immer|notwendig|"
        r"zwingend|ganz|einmal|zwangsläufig|so |wirklich|selbst)"
    ),
}
_NO_ARTICLE = re.compile(r"\bkein(en|em|er|es)\b")
_WITHOUT_MEANING = re.compile(
    r"\b(?:or not|whether|if not|why not|om inte|eller ej|eller inte|ob|wenn nicht|not to|but not|men inte|"
    r"sondern|och inte|och ej|and not|und nicht|såvida|utom|men ej)\b",
    re.IGNORECASE,
)


def removed(sentence: Sentence, material: Material) -> Iterator[str]:
    """The only negation of a sentence is taken out."""
    text = sentence.text
    if len(_DENYING.findall(text)) != 1 or _WITHOUT_MEANING.search(text):
        return
    if found := _REMOVABLE[sentence.language].search(text):
        yield replaced(text, found, " ")
    elif sentence.language == "de" and (article := _NO_ARTICLE.search(text)):
        yield replaced(text, article, f"ein{article[1]}")


_PREFIXED = {
    "en": word_list(
        """im:possible in:valid un:available un:supported un:necessary in:compatible un:safe
        un:known in:direct in:complete in:correct un:expected un:defined un:modified un:changed
        un:authorized un:encrypted un:aware un:able un:likely un:common un:stable un:related
        un:important in:consistent in:dependent in:appropriate un:official un:usual in:visible
        in:accessible in:sufficient in:active un:specified un:reliable un:trusted un:desirable
        un:restricted un:reasonable un:familiar un:clear un:affected un:ambiguous un:acceptable
        in:efficient in:effective un:successful"""
    ),
    "sv": word_list(
        """o:möjlig o:möjligt o:möjliga o:giltig o:giltigt o:giltiga o:tillåten o:tillåtet
        o:tillåtna o:känd o:kända o:känt o:lämplig o:lämpligt o:lämpliga o:behörig o:behörigt
        o:behöriga o:rimlig o:rimligt o:riktig o:riktigt o:riktiga o:väsentlig o:säker o:säkert
        o:säkra o:vanlig o:vanligt o:vanliga o:beroende o:tydlig o:tydligt o:förändrad o:begränsad
        o:begränsat o:begränsade o:betald o:betalda in:direkt in:aktiv o:medveten o:laglig o:lagligt
        o:lagliga o:tillräcklig o:tillräckligt o:tillräckliga o:avsiktlig o:gift o:nyttig
        o:fördelaktig o:skälig o:skäligt o:skäliga o:villig o:förenlig o:förenligt o:förenliga
        o:giltigt o:verksam o:verksamt"""
    ),
    "de": word_list(
        """un:möglich un:gültig un:gültige un:gültigen un:bekannt un:bekannte un:bekannten un:sicher
        un:sichere un:abhängig un:abhängige un:vollständig un:vollständige un:vollständigen
        in:direkt in:direkte un:nötig un:üblich un:erwünscht un:erwartet un:erwartete un:benutzt
        un:verändert un:begrenzt un:zulässig un:erlaubt in:kompatibel in:korrekt in:korrekte
        in:korrekten in:aktiv un:definiert un:definierte un:genau un:wichtig un:wichtige un:geeignet
        un:verschlüsselt un:sichtbar un:angemessen un:deutlich un:klar un:brauchbar un:zuverlässig
        un:verfügbar un:nützlich un:veränderte un:gewöhnlich in:explizit in:konsistent in:effizient
        un:eingeschränkt un:beschränkt"""
    ),
}


def prefixed(sentence: Sentence, material: Material) -> Iterator[str]:
    """A word gets its negative prefix, where the passage has no such word."""
    passage = material.chunks[sentence.chunk_id].casefold()
    if _DENYING.search(sentence.text):
        return
    for entry in _PREFIXED[sentence.language]:
        prefix, _, bare = entry.partition(":")
        found = (
            re.search(rf"(?<![\w-])(?<!as )(?<!som )(?<!wie ){bare}(?![\w-])", sentence.text)
            if bare.isalpha()
            else None
        )
        if found and f"{prefix}{bare}" not in passage:
            text = replaced(sentence.text, found, f"{prefix}{found[0]}")
            yield re.sub(r"\b([Aa]) (?=(?:un|in|im)\w)", r"\1n ", text)


_Table = Mapping[str, Mapping[str, str]]
_RAISED: _Table = {
    "en": {
        r"some(?= (?!of|kind|sort|time|point|way|cases?|form|extent|more|other)\w+s\b)": "all",
        r"several(?= \w+s\b)": "all",
        r"(?<!how )(?<!as )(?<!so )(?<!too )many(?= (?!of|more|other|as)\w+s\b)": "all",
        r"(?<!at )(?<!the )most(?= (?!of|likely|common|important|recent|other)\w+s\b)": "all",
        r"often": "always",
        r"sometimes": "always",
        r"usually": "always",
        r"typically": "always",
    },
    "sv": {
        r"vissa(?= (?!fall)\w+)": "alla",
        r"några(?= (?!av)\w+)": "alla",
        r"flera(?= (?!än|av|gånger)\w+)": "alla",
        r"många(?= (?!av)\w+)": "alla",
        r"ofta": "alltid",
        r"ibland": "alltid",
        r"vanligtvis": "alltid",
        r"i vissa fall": "i alla fall",
    },
    "de": {
        r"einige(?= \w+)": "alle",
        r"manche(?= \w+)": "alle",
        r"mehrere(?= \w+)": "alle",
        r"viele(?= \w+)": "alle",
        r"oft": "immer",
        r"häufig": "immer",
        r"manchmal": "immer",
        r"meistens": "immer",
        r"normalerweise": "immer",
        r"üblicherweise": "immer",
    },
}
_FLIPPED: _Table = {
    "en": {"at least": "at most", "at most": "at least", "more than": "less than", "less than": "more than"},
    "sv": {"minst": "högst", "högst": "minst", "mer än": "mindre än", "mindre än": "mer än"},
    "de": {
        "mindestens": "höchstens",
        "höchstens": "mindestens",
        "mehr als": "weniger als",
        "weniger als": "mehr als",
    },
}
_OBLIGED: _Table = {
    "en": {r"may(?! not| have| be able)": "must", r"can(?! not)": "must", r"should(?! not)": "must"},
    "sv": {r"får(?! (?:inte|ej|icke|dock inte|den|det|han))": "måste", r"kan(?! (?:inte|ej))": "måste"},
    "de": {r"kann": "muss", r"können": "müssen", r"darf": "muss", r"dürfen": "müssen"},
}
_EMPTIED: _Table = {
    "en": {r"(?:All|Every|Each)(?= (?!of|the|other)\w)": "No", r"always": "never"},
    "sv": {r"[Aa]lla(?= (?!de|av)\w)": "inga", r"[Vv]arje(?= (?!fall)\w)": "ingen", r"alltid": "aldrig"},
    "de": {r"[Aa]lle(?= (?!der|die|diese)\w)": "keine", r"[Jj]ede(?= \w)": "keine", r"immer(?! noch)": "nie"},
}
_DENIES = re.compile(
    r"\b(?:not|no|never|cannot|inte|ej|icke|aldrig|ingen|inga|nicht|kein\w*|nie)\b|n['’]t\b", re.IGNORECASE
)


def _changed(sentence: Sentence, table: _Table) -> Iterator[str]:
    """The sentence with the first word that a table changes; one that denies something is left alone."""
    if _DENIES.search(sentence.text):
        return
    for word, new in table[sentence.language].items():
        if found := re.search(rf"(?<![\w-]){word}(?![\w-])", sentence.text):
            changed = new.capitalize() if found[0][0].isupper() else new
            yield replaced(sentence.text, found, changed)


def raised(sentence: Sentence, material: Material) -> Iterator[str]:
    """Some, many or often becomes all or always."""
    yield from _changed(sentence, _RAISED)


def bound_flipped(sentence: Sentence, material: Material) -> Iterator[str]:
    """At least becomes at most and the other way round."""
    yield from _changed(sentence, _FLIPPED)


def obligation_raised(sentence: Sentence, material: Material) -> Iterator[str]:
    """What may be becomes what must be."""
    yield from _changed(sentence, _OBLIGED)


def emptied(sentence: Sentence, material: Material) -> Iterator[str]:
    """Every becomes no, always becomes never."""
    yield from _changed(sentence, _EMPTIED)


GENERATORS = (
    Generator("name", "tuning", "exchanged_in_sentence", on_text(exchanged)),
    Generator("name", "tuning", "other_of_document", on_text(same_document)),
    Generator("name", "held_out", "other_of_other_document", on_text(other_document)),
    Generator("negation", "tuning", "inserted", on_text(inserted)),
    Generator("negation", "held_out", "removed", on_text(removed)),
    Generator("negation", "held_out", "no_longer", on_text(no_longer)),
    Generator("negation", "held_out", "prefixed", on_text(prefixed)),
    Generator("quantifier", "tuning", "raised", on_text(raised)),
    Generator("quantifier", "held_out", "bound_flipped", on_text(bound_flipped)),
    Generator("quantifier", "held_out", "obligation_raised", on_text(obligation_raised)),
    Generator("quantifier", "held_out", "emptied", on_text(emptied)),
)
