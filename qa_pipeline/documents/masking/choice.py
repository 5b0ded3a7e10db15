"""Which masking a batch gets: the settings say the least, its `batch.yaml` may ask for more.

What belongs here: the order of the actions, and the description of a batch as it may be told. What does not:
carrying actions out (`replacing`).
"""

from typing import get_args

from qa_pipeline.documents.description import BatchDescription, read_description
from qa_pipeline.documents.masking.replacing import bare_mask
from qa_pipeline.documents.sources.places import BatchFiles
from qa_pipeline.errors import CorpusError
from qa_pipeline.settings.documents import MASKING_KEY_NEEDED, MaskingAction, MaskingSettings

_STRICTER = get_args(MaskingAction)
"""From the least to the most: a removed item tells neither its kind nor that it stands elsewhere too."""


def description_and_masking(
    batch: str, files: BatchFiles, settings: MaskingSettings
) -> tuple[BatchDescription, MaskingSettings]:
    """What is said about a batch, and the masking it gets.

    Raises:
        CorpusError: the description cannot be used, asks for less than the settings or for tokens that no key
            is there for, or the batch's own name holds an item: tables and files are named by it.
    """
    description = read_description(files, bare_mask(settings))
    masking = masking_of(settings, description.masking, batch)
    mask = bare_mask(masking)
    if masking.action in ("mask", "drop") and (found := mask(batch)[1]):
        kinds = ", ".join(sorted(found))
        raise CorpusError(
            f"the name of batch {mask(batch)[0]} holds personal data ({kinds}); rename the folder"
        )
    return description.masked(mask), masking


def masking_of(settings: MaskingSettings, wanted: MaskingAction | None, batch: str) -> MaskingSettings:
    """The settings with the action for one batch.

    Raises:
        CorpusError: the batch asks for less than the settings, or for tokens that no key is there for.
    """
    if wanted is None or wanted == settings.action:
        return settings
    if _STRICTER.index(wanted) < _STRICTER.index(settings.action) and not settings.batches_may_loosen:
        raise CorpusError(
            f"{batch}/batch.yaml asks for masking: {wanted}, which is less than documents.masking.action = "
            f"{settings.action}; take the line out, or set documents.masking.batches_may_loosen"
        )
    if wanted == "mask" and settings.key is None:
        raise CorpusError(
            f"{batch}/batch.yaml asks for masking: mask, but there is no key; {MASKING_KEY_NEEDED}"
        )
    return settings.model_copy(update={"action": wanted})
