"""From settings to an embedding model or to its tokenizer alone.

What belongs here: the two ways to load. What does not: finding and checking files (`files.py`),
computing vectors (`encoder.py`, `onnx.py`), what stages ask of a model (`embeddings.py`).
"""

from pathlib import Path

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.cpu import choose_precision, integer_precision
from qa_pipeline.models.embedding_files import FileTokenCounter, find_model, token_counter
from qa_pipeline.models.encoder import SentenceEncoder
from qa_pipeline.models.graph_cache import GraphCache
from qa_pipeline.models.onnx_encoder import OnnxEncoder
from qa_pipeline.settings.generation import EmbeddingSettings


def load_token_counter(settings: EmbeddingSettings) -> FileTokenCounter:
    """Load the model's tokenizer only; takes milliseconds, where the model takes seconds.

    Raises:
        SettingsError: the model is not there; says what to do.
    """
    return token_counter(find_model(settings))


def load_embedder(settings: EmbeddingSettings, graphs: Path | None = None) -> SentenceEncoder | OnnxEncoder:
    """Find and check the model; its weights are read at the first text that must be encoded.

    Args:
        settings: which model, computed by what.
        graphs: folder that keeps exported graphs; only the backend `onnx_int8` needs one.

    Raises:
        SettingsError: the model is not there, is not safetensors, is not the pinned revision, or is not one
            that the backend can compute; or the backend is not installed.
    """
    files = find_model(settings)
    files.check()
    if settings.revision is not None and settings.revision != files.revision:
        raise SettingsError(
            f"embedding.revision pins {settings.revision}, but the files of {files.name} are "
            f"{files.revision}; correct the setting or restore the files"
        )
    if settings.backend == "torch":
        precision = choose_precision(settings.precision)
        return SentenceEncoder(files, token_counter(files), precision, settings.batch_size)
    if graphs is None:
        raise ValueError("the backend onnx_int8 keeps what it exports: name a folder")
    encoder = OnnxEncoder(files, token_counter(files), integer_precision(), GraphCache(graphs))
    encoder.check()
    return encoder
