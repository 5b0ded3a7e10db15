"""Find twins: pairs of a batch with the same question and answer, verbatim or nearly.

Near twins have the same terms: stems of content words, values of numbers and dates, signs, names, negations
and opposites. This equals MinHash at a similarity of 1, and is found by a join. Below 1, MinHash would group
questions that differ in a single important word or number. The ledger later keeps one pair of each group.
"""

import re
from collections.abc import Set

import polars as pl

from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.reading import Reading

_BETWEEN = "\x1f"
_RUN = re.compile(r"\w+(?:[-./:]\w+)*")  # a word, such as "read-only" or "1.5"
_MARK = re.compile(r"\w[-./:_]\w")  # a sign inside a word
_OPENING = r"""(^|\s)["'“”„«»‚‘’(\[¿¡]+"""  # as in “Pump
_CLOSING = r"""["'“”„«»‚‘’,.;:!?…)\]]+(\s|$)"""  # as in pump.)


def normalised(text: pl.Expr) -> pl.Expr:
    """Fold Unicode form (NFKC), case, spacing and punctuation at word edges: "(The  Pump)." is "the pump".

    "C++", "-5", "1.5" and ".NET" keep their signs, so that different answers never look equal. Text of
    punctuation alone is unchanged, because it must not equal every other such text.
    """
    folded = text.str.normalize("NFKC").str.to_lowercase()
    folded = folded.str.replace_all(_OPENING, "$1").str.replace_all(_CLOSING, "$1")
    folded = folded.str.replace_all(r"\s+", " ").str.strip_chars()
    return pl.when(folded != "").then(folded).otherwise(text)


def find_twins(pairs: pl.DataFrame) -> pl.DataFrame:
    """Group pairs with an answer that may be twins. The name of a group is its lowest pair_id.

    Pairs of an `exact_group` differ at most in case, spacing and punctuation. Pairs of a `near_group` have
    the same terms, in the same order in the answer. Tests (with an expected verdict) have no row.
    """
    stated = pairs.drop_nulls(["question", "answer"]).filter(pl.col("expected_verdict").is_null())
    keyed = stated.with_columns(
        question_key=normalised(pl.col("question")), answer_key=normalised(pl.col("answer"))
    )
    lowest_id = pl.col("pair_id").min()
    candidates = keyed.with_columns(exact_group=lowest_id.over("question_key", "answer_key"))
    distinct = candidates.filter(pl.col("pair_id") == pl.col("exact_group"))  # a row per exact group
    rows = distinct.select("question", "answer", "language", "question_key", "answer_key").iter_rows()
    terms = pl.Series("terms", [_terms_of_pair(*row) for row in rows], pl.String())
    # terms are stems of a language, so equal terms of two languages show nothing
    near_group = lowest_id.over("language", "terms")
    near = distinct.with_columns(terms).select("exact_group", near_group=near_group)
    joined = candidates.join(near, on="exact_group", maintain_order="left")
    return joined.select("pair_id", "exact_group", "near_group")


def _terms_of_pair(question: str, answer: str, language: str, question_key: str, answer_key: str) -> str:
    """Return the terms of a question and answer. A text without terms is represented by its full wording."""
    vocabulary = lexicon(language)
    weighty = vocabulary.negations | vocabulary.contrasted  # these change the meaning of a question
    question_terms = sorted(_terms(question, language, weighty)) or [question_key]
    answer_terms = _terms(answer, language, weighty | vocabulary.qualifying) or [answer_key]
    return _BETWEEN.join([*question_terms, _BETWEEN, *answer_terms])


def _terms(text: str, language: str, weighty: Set[str]) -> list[str]:
    """Return the terms of a text in order, then words with inner marks, such as "mod_ssl" and "1.5"."""
    words = Reading(text, language).words
    significant = [word for word in words if word.content or word.folded in weighty]
    stated = [word.stem if word.content else word.folded for word in significant]
    return stated + [run for run in _RUN.findall(text.casefold()) if _MARK.search(run)]
