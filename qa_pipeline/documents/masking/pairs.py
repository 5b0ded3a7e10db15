"""Texts and references that were not parsed here, masked so that they still fit the documents.

What belongs here: the masks for files of existing pairs. What does not: which fields of a pair they are for
(`qa_pipeline.generation.pair_masking`).
"""

from collections.abc import Callable, Sequence

from qa_pipeline.documents.characters import clean
from qa_pipeline.documents.masking.paths import mask_path
from qa_pipeline.documents.masking.replacing import bare_mask, text_mask
from qa_pipeline.settings.documents import MaskingSettings

_BETWEEN = "\x1e\x1e"
"""What `clean` takes out of every text; no item goes on behind it."""


def texts_mask(settings: MaskingSettings) -> Callable[[Sequence[str]], list[str]]:
    """Masks texts that belong together; one in which nothing is found stays as it is, to the byte."""
    mask = text_mask(settings)

    def masked(texts: Sequence[str]) -> list[str]:
        cleaned = [clean(text) for text in texts]
        joined, found = mask(_BETWEEN.join(cleaned))
        if not found:
            return list(texts)
        parts = joined.split(_BETWEEN)
        if len(parts) != len(texts):  # what was found reaches over the end of a text, so each is read alone
            parts = [mask(text)[0] for text in cleaned]
        changed = zip(texts, cleaned, parts, strict=True)
        return [text if part == before else part for text, before, part in changed]

    return masked


def reference_mask(settings: MaskingSettings) -> Callable[[str], str]:
    """Masks what names a document, as its path was masked."""
    mask = bare_mask(settings)
    return lambda reference: mask_path(reference, mask).path
