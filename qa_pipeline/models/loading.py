"""From settings to an embedding model or to its tokenizer alone."""

from importlib.util import find_spec

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.cpu import choose_precision
from qa_pipeline.models.embedding_files import FileTokenCounter, find_model, token_counter
from qa_pipeline.models.encoder import SentenceEncoder
from qa_pipeline.settings.generation import EmbeddingSettings

PACKAGES = {"onnx": ("optimum", "onnxruntime"), "openvino": ("optimum", "openvino")}
"""What sentence-transformers imports for each backend but torch."""


def load_token_counter(settings: EmbeddingSettings) -> FileTokenCounter:
    """Load the model's tokenizer only; takes milliseconds, where the model takes seconds.

    Raises:
        SettingsError: the model is not there; says what to do.
    """
    return token_counter(find_model(settings))


def load_embedder(settings: EmbeddingSettings) -> SentenceEncoder:
    """Find and check the model; its weights are read at the first text that must be encoded.

    Raises:
        SettingsError: the model is not there, is not safetensors, is not the pinned revision, or the packages
            of the backend are not installed.
    """
    backend = settings.backend
    missing = [name for name in PACKAGES.get(backend, ()) if find_spec(name) is None]
    if missing:
        raise SettingsError(
            f"embedding.backend is {backend}, which needs {' and '.join(missing)}; "
            f"run: pip install 'sentence-transformers[{backend}]', or set embedding.backend to torch"
        )
    files = find_model(settings)
    files.check()
    if settings.revision is not None and settings.revision != files.revision:
        raise SettingsError(
            f"embedding.revision pins {settings.revision}, but the files of {files.name} are "
            f"{files.revision}; correct the setting or restore the files"
        )
    precision = choose_precision(settings.precision) if backend == "torch" else backend
    return SentenceEncoder(files, token_counter(files), precision)
