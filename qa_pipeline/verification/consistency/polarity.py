"""What turns or limits a statement: negations, opposites, quantifiers, bounds, causes and frequencies.

The numbers that bounds stand beside are `quantities.py`; single words out of place are `alignment.py`.
"""

import functools
import re
from collections.abc import Iterator, Sequence, Set

from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.words import Token, content_stems, recall
from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.reading import Reading

_REACH = 3
_BESIDE = 6
"""Characters between a number and the words that bound it."""
_NEAR, _FAR = 2, 6
_WALK = 24
_CLAUSE_END = re.compile(r"[.!?;:\n]")
_CLAUSE_END_WITH_COMMA = re.compile(r"[.!?;:,\n]")


def polarity_findings(claim: Reading, evidence: Reading) -> Findings:
    """Everything in which claim and evidence say the opposite of each other."""
    language = claim.language
    return (
        _negations(claim, evidence)
        + _opposites(_without_bounds(claim), _without_bounds(evidence), language)
        + _prefixes(claim, evidence)
    )


def _negations(claim: Reading, evidence: Reading) -> Findings:
    """A negation on one side whose words stand on the other side without one.

    A claim and its evidence may each hold several negations, so each is looked at with the words it
    negates. One on either side that belong to different words of both is a moved negation. A negation by
    meaning ("fails to"), and any negation whose words the other side lacks, stays open; so does one too
    many or too few among words that are negated on both sides ("instead of" hides a "not" beside it).
    """
    added, dropped = _unmatched(claim, evidence), _unmatched(evidence, claim)
    sure = [[one for one in side if one[1]] for side in (added, dropped)]
    unsure = [f'only one of claim and evidence has "{word}"' for word, _ in (*added, *dropped)][:1]
    if sure[0] and sure[1]:
        return Findings((f"{sure[0][0][0]} and {sure[1][0][0]} negate different words",))
    conflicts = [f'the claim has "{word}", the evidence does not' for word, _ in sure[0][:1]]
    conflicts += [f'the evidence has "{word}", the claim leaves it out' for word, _ in sure[1][:1]]
    unsure = unsure or _uneven(claim, evidence)
    return Findings(tuple(conflicts), () if conflicts else tuple(unsure))


def _uneven(claim: Reading, evidence: Reading) -> list[str]:
    """A difference in number between the claim's negations and those the evidence has of its words."""
    words = {token.stem for token in claim.words if token.content}
    scopes = [_scope(evidence, place, _FAR) for place in _negative_places(evidence.words)]
    theirs = sum(not scope or not words.isdisjoint(scope) for scope in scopes)
    mine = len(_negative_places(claim.words))
    return [f"{mine} negations in the claim, {theirs} in the evidence"] if mine != theirs else []


def _unmatched(side: Reading, other: Reading) -> list[tuple[str, bool]]:
    """Negations of one text that the other does not share, and whether it says their words un-negated."""
    soft = lexicon(side.language).soft_negations
    stems = {token.stem for token in other.words if token.content}
    negated = {stem for place in _negative_places(other.words) for stem in _scope(other, place, _FAR)}
    found = []
    for place in _negative_places(side.words):
        scope = _scope(side, place, _NEAR)
        if not negated.intersection(scope):
            word = side.words[place].folded
            found.append((word, bool(scope) and scope[0] in stems and word not in soft))
    return found


def _negative_places(tokens: Sequence[Token]) -> list[int]:
    return [place for place, token in enumerate(tokens) if token.negative]


def _scope(reading: Reading, place: int, reach: int) -> list[str]:
    """What a negation negates, nearest first: the content words after it in its clause, at most `reach`.

    Where none follow, as at the end of a German main clause, those before it.
    """
    return _run(reading, place, reach, step=1) or _run(reading, place, reach + 1, step=-1)


def _run(reading: Reading, place: int, reach: int, *, step: int) -> list[str]:
    words, known = reading.words, lexicon(reading.language)
    marks = _CLAUSE_END_WITH_COMMA if known.comma_ends_clause else _CLAUSE_END
    stems: list[str] = []
    at = place + step
    while 0 <= at < len(words) and len(stems) < reach and abs(at - place) <= _WALK:
        left, right = sorted((words[at - step], words[at]), key=lambda token: token.start)
        if marks.search(reading.text, left.end, right.start) or words[at].folded in known.clause_openers:
            break
        stems += [words[at].stem] if words[at].content else []
        at += step
    return stems


def _reached(tokens: Sequence[Token], place: int, reach: int) -> set[str]:
    """Content words on either side of a place, function words not counted as distance."""
    after = [token.stem for token in tokens[place + 1 : place + 12] if token.content][:reach]
    before = [token.stem for token in tokens[max(0, place - 12) : place] if token.content][-reach:]
    return set(after) | set(before)


def _without_bounds(reading: Reading) -> list[Token]:
    """The words, without those that bound a number beside them: "10 or more" denies no "at least 10"."""
    known = lexicon(reading.language)
    bounding = {word for phrase in (*known.lower_bounds, *known.upper_bounds) for word in phrase.split()}
    return [
        token
        for token in reading.words
        if token.folded not in bounding
        or not any(
            0 <= number.start - token.end <= _BESIDE or 0 <= token.start - number.end <= _BESIDE
            for number in reading.numbers
        )
    ]


def _opposites(claim: Sequence[Token], evidence: Sequence[Token], language: str) -> Findings:
    """A word of the claim whose opposite the evidence uses beside the same words.

    With a negation within reach on either side ("not allowed", "forbidden") the two may agree: open.
    """
    mine, theirs = {t.folded for t in claim}, {t.folded for t in evidence}
    conflicts: list[str] = []
    open_points: list[str] = []
    for left, right in lexicon(language).opposites:
        for ours, opposite in ((left, right), (right, left)):
            stated, denied = mine & ours, theirs & opposite
            if not stated or not denied or mine & opposite or theirs & ours:
                continue
            here, there = _beside(claim, stated), _beside(evidence, denied)
            if not here & there:
                continue
            words = f"{min(stated)} instead of {min(denied)}"
            negated = _negative_near(claim, stated) != _negative_near(evidence, denied)
            (open_points if negated else conflicts).append(words)
    return Findings(tuple(conflicts), tuple(open_points))


def _beside(tokens: Sequence[Token], words: set[str]) -> set[str]:
    places = [place for place, token in enumerate(tokens) if token.folded in words]
    return {stem for place in places for stem in _reached(tokens, place, 2)}


def _negative_near(tokens: Sequence[Token], words: set[str]) -> bool:
    return any(
        token.negative and token.folded not in words
        for place, anchor in enumerate(tokens)
        if anchor.folded in words
        for token in tokens[max(0, place - _REACH) : place + _REACH + 1]
    )


def _prefixes(claim: Reading, evidence: Reading) -> Findings:
    """`unsupported` against `supported`: one side has a word only with a negative prefix."""
    prefixes = lexicon(claim.language).negative_prefixes
    mine, theirs = (sorted(side.bound_words) for side in (claim, evidence))
    conflicts = []
    for here, there in ((mine, theirs), (theirs, mine)):
        for word in here:
            for prefix in prefixes if word.startswith(prefixes) else ():
                bare = word.removeprefix(prefix).lstrip("-")
                if (
                    len(bare) >= 4
                    and bare != word
                    and bare in there
                    and bare not in here
                    and word not in there
                ):
                    conflicts.append(f"{word} against {bare}")
    negated = any(t.negative for t in claim.words) != any(t.negative for t in evidence.words)
    return Findings((), tuple(conflicts)) if negated else Findings(tuple(conflicts))


def quantifier_findings(claim: Reading, evidence: Reading) -> Findings:
    """All against some, must against may, an added "only", a condition left out.

    All for some and must for may is a conflict. What is only added or left out stays open, since a
    paraphrase may carry it in other words.
    """
    known = lexicon(claim.language)
    mine, theirs = {t.folded for t in claim.words}, {t.folded for t in evidence.words}
    conflicts, open_points = [], []
    for strong, weak in ((known.universal, known.partial), (known.strong, known.weak)):
        conflicts += _flipped(mine, theirs, strong, weak) or _flipped(mine, theirs, weak, strong)
        if strong is not known.strong or not (_negated(claim.words) and _negated(evidence.words)):
            open_points += _added(mine, theirs, strong)
    open_points += _added(mine, theirs, known.exclusive)
    stated, held = _line(claim.words), _line(evidence.words)
    left_out = [one for one in known.conditions if f" {one} " in held and f" {one} " not in stated]
    open_points += [f'the evidence has "{one}", the claim does not' for one in left_out[:1]]
    open_points += [
        f'the evidence has "{word}", the claim does not'
        for word in sorted((theirs & known.partial) - mine)[:1]
    ]
    if claim.words and {t.folded for t in claim.words[:1]} & known.polarity_answers:
        open_points.append("a yes or no can only be read with its question")
    return Findings(tuple(conflicts), tuple(open_points))


def _negated(tokens: Sequence[Token]) -> bool:
    """Must not and do not oblige alike, so an obligation is nothing added beside a negation."""
    return any(token.negative for token in tokens)


def _line(tokens: Sequence[Token]) -> str:
    return f" {' '.join(token.folded for token in tokens)} "


def _flipped(mine: Set[str], theirs: Set[str], ours: Set[str], opposite: Set[str]) -> list[str]:
    stated, denied = mine & ours, theirs & opposite
    if stated and denied and not mine & opposite and not theirs & ours:
        return [f"{min(stated)} instead of {min(denied)}"]
    return []


def _added(mine: Set[str], theirs: Set[str], group: Set[str]) -> list[str]:
    return [f'"{word}" is not in the evidence' for word in sorted(mine & group)[:1] if not theirs & group]


_HELD, _FOREIGN = 0.6, 0.4
_SAME = 0.9
_FEWEST = 2


def exchanged_clauses(claim: Reading, evidence: Reading) -> Findings:
    """The claim's cause is the evidence's effect and the other way round, by the same connective.

    "B if A" says what "If A, B" says, so the connective tells the sides and not by the order.
    """
    for kind in ("causes", "conditions", "effects"):
        mine, theirs = _sides(claim, kind), _sides(evidence, kind)
        if mine and theirs and _crossed(mine, theirs):
            return Findings((f"{_NAMED[kind]} are exchanged",))
    return Findings()


def same_clauses(claim: Reading, evidence: Reading) -> bool:
    """Both join the same two clauses by the same connective, in whatever order."""
    for kind in ("causes", "conditions"):
        mine, theirs = _sides(claim, kind), _sides(evidence, kind)
        if mine and theirs:
            return all((recall(own, theirs[side]) or 0.0) >= _SAME for side, own in enumerate(mine))
    return False


_NAMED = {
    "causes": "cause and effect",
    "conditions": "condition and consequence",
    "effects": "cause and effect",
}
_Sides = tuple[list[str], list[str]]


@functools.cache
def _connective(language: str, kind: str) -> re.Pattern[str]:
    known = lexicon(language)
    words = {
        "causes": known.cause_connectives,
        "conditions": known.condition_connectives,
        "effects": known.effect_verbs,
    }[kind]
    names = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{names})(?!\w)", re.IGNORECASE)


def _sides(reading: Reading, kind: str) -> _Sides | None:
    """Content words of the clause after the connective, and of the rest; None without exactly one."""
    found = list(_connective(reading.language, kind).finditer(reading.text))
    if len(found) != 1:
        return None
    text, start, end = reading.text, found[0].start(), found[0].end()
    comma = text.find(",", end)
    first = not text[:start].strip("\"'„“”( ")
    if first and comma < 0:
        return None
    stop = comma if first else len(text)
    inner = content_stems(text[end:stop], reading.language)
    outer = content_stems(f"{text[:start]} {text[stop:]}", reading.language)
    return (inner, outer) if min(len(set(inner)), len(set(outer))) >= _FEWEST else None


def _crossed(mine: _Sides, theirs: _Sides) -> bool:
    return all(
        (recall(own, theirs[1 - side]) or 0.0) >= _HELD and (recall(own, theirs[side]) or 0.0) <= _FOREIGN
        for side, own in enumerate(mine)
    )


_COUNTING = re.compile(
    r"(?:bi|semi|tri|half|two|three|halv|två|tre|kvarts|halb|zwei|drei|vier|viertel)"
    r"-?(?=\w{3,40}$)(\w*(?:ly|annual|lich|lig|ligen|vis|s))",
    re.IGNORECASE,
)
_SKIPPING = {
    "en": r"every\s(?:other|second|third|fourth|fifth|sixth|two|three|four|five|six|\d{1,4})\s(\w{1,40})",
    "sv": r"(?:varannan|vartannat|vart?\s(?:andra|annat|tredje|fjärde|femte|sjätte|\d{1,4}:e))\s(\w{1,40})",
    "de": r"(?:alle\s(?:zwei|drei|vier|fünf|sechs|\d{1,4})|jede[nrsm]?\s(?:zweite|dritte|vierte)[nrsm]?)"
    r"\s(\w{1,40})",
}
_EVERY = {
    "en": r"(?:every|each|per|an?)\s(\w{1,40})",
    "sv": r"(?:varje|per|en\sgång\si|en\sgång\sper|i)\s(\w{1,40})",
    "de": r"(?:jede[nrsm]?|pro|je)\s(\w{1,40})",
}


def frequency_findings(claim: Reading, evidence: Reading) -> Findings:
    """A word that stands with a counting prefix or a skipping word on one side only."""
    sides = ((claim, evidence), (evidence, claim))
    found = [words for mine, theirs in sides for words in (*_prefixed(mine, theirs), *_skipped(mine, theirs))]
    return Findings(tuple(dict.fromkeys(found)))


def _prefixed(counted: Reading, other: Reading) -> Iterator[str]:
    mine, theirs = counted.bound_words, other.bound_words
    for word in sorted(mine - theirs):
        found = _COUNTING.fullmatch(word)
        if found and found[1] in theirs and found[1] not in mine:
            yield f"{word} against {found[1]}"


def _skipped(skipping: Reading, other: Reading) -> Iterator[str]:
    rare, every = _patterns(skipping.language)
    theirs = {stem for found in rare.finditer(other.text) for stem in content_stems(found[1], other.language)}
    plain = {stem for found in every.finditer(other.text) for stem in content_stems(found[1], other.language)}
    for found in rare.finditer(skipping.text):
        stems = set(content_stems(found[1], skipping.language))
        if stems & plain and not stems & theirs:
            yield f"{found[0].casefold()} against every one"


@functools.cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    rare, every = (forms.get(language, forms["en"]) for forms in (_SKIPPING, _EVERY))
    return re.compile(rf"\b{rare}", re.IGNORECASE), re.compile(rf"\b{every}", re.IGNORECASE)
