"""Statements that deny a proof, planted in its passage."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from qa_pipeline.evaluation.abilities.sources import Proved, Row, Source, Text, fold_text, stems
from qa_pipeline.storage.hashes import draw_number, hash_parts
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.text.words import folded_words, recall
from qa_pipeline.verification.canaries.known import GENERATORS
from qa_pipeline.verification.canaries.material import Sentence, is_prose, words

VALUES, OTHERS = ("date", "number", "unit"), ("name", "negation")
"""The kinds of change in a planted statement: a value where one suits, else a name or negation, drawn."""
_LEAST_TOLD = 0.8
"""Share of a denied sentence's words that the answer has: with fewer the denial may be of something that the
answer does not say."""


def plant_denial(source: Source, pair: Proved) -> tuple[Text, Row] | None:
    """Return the passage with one statement of the proof denied, and that statement as it was and is now."""
    passage = pair.passages[0]
    others = sorted(OTHERS, key=lambda kind: draw_number(source.seed, "kind", pair.pair_id, kind))
    for kind in (*VALUES, *others):
        for true, claim in _denials(source, pair, kind):
            match = re.search(r"\s+".join(map(re.escape, true.split())), passage.text)
            if match is None:
                continue
            text = f"{passage.text[: match.start()]}{claim}{passage.text[match.end() :]}"
            removed = Counter(folded_words(true, pair.language)) - Counter(folded_words(claim, pair.language))
            present = set(folded_words(text, pair.language))
            if fold_text(true) not in fold_text(text) and (
                kind == "negation" or not present & removed.keys()
            ):
                name = hash_parts(passage.name, claim)[:32]
                document = f"{name[:8]}{Path(passage.document).suffix}"
                planted = replace(passage, name=name, document=document, text=text)
                return planted, {"true": true, "false": claim, "kind": kind, "document": document}
    return None


def _denials(source: Source, pair: Proved, kind: str) -> Iterator[tuple[str, str]]:
    """Yield a sentence of the proof and its denial, which changes the answer and no other question."""
    answer = set(folded_words(pair.answer, pair.language))
    question = set(folded_words(pair.question, pair.language))
    for sentence in _sentences(pair):
        overlap = recall(stems(sentence.text, pair.language), stems(pair.answer, pair.language)) or 0.0
        for generator in GENERATORS:
            if generator.kind != kind:
                continue
            for made in generator.make(sentence, source.material):
                first, second = (folded_words(text, pair.language) for text in (sentence.text, made.claim))
                removed = Counter(first) - Counter(second)
                of_answer = bool(removed) and removed.keys() <= answer - question
                is_named = kind != "name" or _are_names(source, sentence, made.claim)
                if overlap >= _LEAST_TOLD if kind == "negation" else of_answer and is_named:
                    yield sentence.text, made.claim


def _are_names(source: Source, sentence: Sentence, claim: str) -> bool:
    """Return whether the words that differ are names wherever they are, and no labels as in Table 1.

    Where all nouns have a capital, only abbreviations are told from them.
    """
    differ = set(words(sentence.text)) ^ set(words(claim))
    numbered = any(re.search(rf"\b{re.escape(word)} \d", sentence.text) for word in differ)
    small = any(word.casefold() in source.small_words for word in differ)
    nouns = lexicon(sentence.language).nouns_capitalised and not all(word.isupper() for word in differ)
    return not (numbered or small or nouns)


def _sentences(pair: Proved) -> Iterator[Sentence]:
    for quote in dict.fromkeys(proof.quote for proof in pair.proofs):
        for start, end in split_sentences(quote, pair.language):
            line = " ".join(quote[start:end].split())
            if is_prose(line):
                where = pair.passages[0]
                yield Sentence(where.name, where.document, pair.language, line, None)
