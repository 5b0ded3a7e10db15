"""What a person should know of the chosen settings, though nothing is wrong with them.

What belongs here: gathering the notes. What does not: errors, which stop a run (`tree.py`).
"""

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.models import HOSTED, same_model_warning
from qa_pipeline.settings.tree import Settings
from qa_pipeline.verification.thresholds.reading import check_models


def check_model(settings: Settings, model: str | None) -> None:
    """Refuse a model named on the command line that no provider would be asked for.

    Raises:
        SettingsError: the provider is none that is asked over the network.
    """
    if model is not None and all(one.provider not in HOSTED for one in settings.llm.models):
        raise SettingsError(
            f"--model {model} would not be asked: the provider is {settings.llm.provider}; "
            f"add --provider {' or --provider '.join(HOSTED)}"
        )


def notes(settings: Settings) -> list[str]:
    """One sentence for each thing worth knowing.

    Raises:
        SettingsError: the thresholds cannot be used.
    """
    judged = same_model_warning(settings.llm) if settings.judging.enabled else None
    fitted = check_models(
        settings.verification.thresholds,
        embedding=settings.embedding.model,
        entailment=settings.verification.entailment.model,
    )
    return [note for note in (judged, fitted) if note is not None]
