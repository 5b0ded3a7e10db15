"""From settings to an embedding model or to its tokenizer alone.

What belongs here: the two ways to load. What does not: finding and checking files (`embedding_files.py`),
computing vectors (`embedding_encoder.py`), what stages ask of a model (`embedding.py`).
"""

from qa_pipeline.embedding_encoder import SentenceEncoder, choose_precision
from qa_pipeline.embedding_files import FileTokenCounter, find_model, token_counter
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings import EmbeddingSettings


def load_token_counter(settings: EmbeddingSettings) -> FileTokenCounter:
    """Load the model's tokenizer only; takes milliseconds, where the model takes seconds.

    Raises:
        SettingsError: the model is not there; says what to do.
    """
    return token_counter(find_model(settings))


def load_embedder(settings: EmbeddingSettings) -> SentenceEncoder:
    """Find and check the model; its weights are read at the first text that must be encoded.

    Raises:
        SettingsError: the model is not there, is not safetensors, or is not the pinned revision.
    """
    files = find_model(settings)
    files.check()
    if settings.revision is not None and settings.revision != files.revision:
        raise SettingsError(
            f"embedding.revision pins {settings.revision}, but the files of {files.name} are "
            f"{files.revision}; correct the setting or restore the files"
        )
    precision = choose_precision(settings.precision)
    return SentenceEncoder(files, token_counter(files), precision, settings.batch_size)
