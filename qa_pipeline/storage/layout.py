"""Define the paths of files in an output folder, and the valid names of batches."""

import unicodedata
from dataclasses import dataclass
from pathlib import Path

from qa_pipeline.errors import CorpusError
from qa_pipeline.storage.hashes import hash_text

_LONGEST_NAME = 200  # bytes: file systems allow 255, and suffixes follow
_FORBIDDEN = frozenset('/\\:*?"<>|,[]')


def check_batch_name(name: str) -> None:
    """Raise a CorpusError unless a name is valid as a folder on every system and as a partition key."""
    is_short = 0 < len(name.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
    is_plain = name.isprintable() and "..." not in name and _FORBIDDEN.isdisjoint(name)
    is_trimmed = name == name.strip() and name == name.strip(".")
    if is_short and is_plain and is_trimmed and unicodedata.is_normalized("NFC", name):
        return
    raise CorpusError(
        f"batch name {name!r} cannot be used: it may have 1 to {_LONGEST_NAME} bytes of printable text in "
        f"Unicode's composed form (NFC), without {' '.join(sorted(_FORBIDDEN))} and three dots in a row, and "
        "may not start or end with a dot or space; rename the folder"
    )


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of an output folder, on disk or from `stored_path`.

    `cache` is the local folder of replies, vectors and logits; by default `cache` in a local `out`.
    """

    out: Path
    cache: Path | None = None

    def _of_batch(self, folder: Path, batch: str, suffix: str) -> Path:
        check_batch_name(batch)
        return folder / f"{batch}{suffix}"

    def table(self, name: str, batch: str) -> Path:
        """Return the Parquet file of a table of a batch."""
        return self._of_batch(self.out / "tables" / name, batch, ".parquet")

    def tables(self, name: str) -> list[Path]:
        """Return the existing files of a table, of all batches."""
        return sorted((self.out / "tables" / name).glob("*.parquet"))

    def index(self, batch: str) -> Path:
        """Return the FAISS index file of a batch."""
        return self._of_batch(self.out / "indexes", batch, ".faiss")

    def export(self, name: str, batch: str) -> Path:
        """Return the JSONL export of a batch."""
        return self._of_batch(self.out / "exports" / name, batch, ".jsonl")

    def tombstone(self, batch: str) -> Path:
        """Return the tombstone of a withdrawn batch."""
        return self._of_batch(self.out / "withdrawn", batch, ".json")

    def origin(self, batch: str) -> Path:
        """Return the file with the location of the corpus of a batch."""
        return self._of_batch(self.out / "origins", batch, ".txt")

    def decisions(self, batch: str) -> Path:
        """Return the file of people's decisions about a batch. Unlike tables, it cannot be rebuilt."""
        return self._of_batch(self.out / "decisions", batch, ".jsonl")

    @property
    def uploads(self) -> Path:
        """Return the folder of documents uploaded in the review app."""
        return self.out / "asked"

    @property
    def forgotten(self) -> Path:
        """Return the file of hashes of forgotten documents, a JSON line each."""
        return self.out / "forgotten.jsonl"

    @property
    def releases(self) -> Path:
        """Return the folder of published releases and the pointer to the latest release."""
        return self.out / "releases"

    @property
    def monitoring(self) -> Path:
        """Return the folder of scores from production, with a file per day."""
        return self.out / "monitoring"

    @property
    def stores(self) -> Path:
        """Return the folder of replies, vectors and logits."""
        return self.cache or self.out / "cache"

    @property
    def replies(self) -> Path:
        """Return the database of model replies."""
        return self.stores / "replies.sqlite"

    def _state_folder(self, name: str) -> Path:
        if self.cache is None:
            return self.out / "cache" / name
        return self.cache / f"{name}-{hash_text(str(self.out))[:16]}"  # output folders may share a cache

    def finished(self, batch: str) -> Path:
        """Return the file that records the last complete run of a batch. Deleting it forces a new run."""
        return self._of_batch(self._state_folder("finished"), batch, ".json")

    def batch_lock(self, batch: str) -> Path:
        """Return the folder that a step locks while it processes a batch."""
        return self._of_batch(self._state_folder("locks"), batch, "")

    @property
    def vectors(self) -> Path:
        """Return the database of vectors of texts, and of the entailment model's logits."""
        return self.stores / "vectors.sqlite"
