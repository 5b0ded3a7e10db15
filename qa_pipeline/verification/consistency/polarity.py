"""Negations and opposites of a claim held against the evidence.

What belongs here: words that turn a statement into its opposite. What does not: quantifiers, bounds and
obligations (`quantifiers.py`).
"""

import re
from collections.abc import Sequence

from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.reading import Reading, bound_words
from qa_pipeline.verification.lexicon.language import lexicon
from qa_pipeline.verification.words import Token

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
        return Findings((f"{sure[0][0][0]} and {sure[1][0][0]} stand with different words",))
    conflicts = [f'the claim has "{word}", the evidence states it without' for word, _ in sure[0][:1]]
    conflicts += [f'the evidence has "{word}", the claim leaves it out' for word, _ in sure[1][:1]]
    unsure = unsure or _uneven(claim, evidence)
    return Findings(tuple(conflicts), () if conflicts else tuple(unsure))


def _uneven(claim: Reading, evidence: Reading) -> list[str]:
    """A difference in number between the claim's negations and those the evidence has of its words."""
    words = {token.stem for token in claim.words if token.content}
    scopes = [_scope(evidence, place, _FAR) for place in _negative_places(evidence.words)]
    theirs = sum(not scope or not words.isdisjoint(scope) for scope in scopes)
    mine = len(_negative_places(claim.words))
    return [f"{mine} negations, the evidence has {theirs}"] if mine != theirs else []


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
            said, denied = mine & ours, theirs & opposite
            if not said or not denied or mine & opposite or theirs & ours:
                continue
            here, there = _beside(claim, said), _beside(evidence, denied)
            if not here & there:
                continue
            words = f"{min(said)}: the evidence says {min(denied)}"
            negated = _negative_near(claim, said) != _negative_near(evidence, denied)
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
    mine, theirs = (sorted(bound_words(side.text, side.language)) for side in (claim, evidence))
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
