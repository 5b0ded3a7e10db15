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
    problem = name_problem(name)
    if problem:
        raise CorpusError(refusal(name, problem))


def refusal(name: str, problem: str) -> str:
    """Return the error message for an invalid name."""
    return f"batch name {name!r} cannot be used: {problem}; rename the folder"


def name_problem(name: str) -> str | None:
    """Return the rule that a name breaks; None if the name is valid."""
    length = len(name.encode("utf-8", "surrogatepass"))
    rules = (
        (not name, "it is empty"),
        (length > _LONGEST_NAME, f"it is longer than {_LONGEST_NAME} bytes"),
        (name.startswith("."), "it starts with a dot"),
        (name.endswith(".") or "..." in name, "it ends with a dot or holds three in a row"),
        (name != name.strip(), "it starts or ends with a space"),
        (not name.isprintable(), "it holds control or invisible characters"),
        (not _FORBIDDEN.isdisjoint(name), f"it holds one of {' '.join(sorted(_FORBIDDEN))}"),
        (not unicodedata.is_normalized("NFC", name), "its accents are not composed (NFC)"),
    )
    return next((problem for broken, problem in rules if broken), None)


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of an output folder.

    Args:
        out: the folder, on disk or a result of `stored_path`.
        cache: the local folder of replies, vectors and logits; None for `cache` in a local `out`.
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

    @property
    def withdrawals(self) -> Path:
        """Return the folder of tombstones."""
        return self.out / "withdrawn"

    def tombstone(self, batch: str) -> Path:
        """Return the tombstone of a withdrawn batch."""
        return self._of_batch(self.withdrawals, batch, ".json")

    @property
    def origins(self) -> Path:
        """Return the folder that records the corpus of each batch."""
        return self.out / "origins"

    def origin(self, batch: str) -> Path:
        """Return the file with the location of the corpus of a batch."""
        return self._of_batch(self.origins, batch, ".txt")

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

    def _memory(self, name: str, suffix: str = ".json") -> Path:
        if self.cache is None:
            return self.out / "cache" / f"{name}{suffix}"
        return self.cache / f"{name}-{hash_text(str(self.out))[:16]}{suffix}"  # shared by output folders

    def finished(self, batch: str) -> Path:
        """Return the file that records the last complete run of a batch. Deleting it forces a new run."""
        return self._of_batch(self._memory("finished", ""), batch, ".json")

    def batch_lock(self, batch: str) -> Path:
        """Return the folder that a step locks while it processes a batch."""
        return self._of_batch(self._memory("locks", ""), batch, "")

    @property
    def vectors(self) -> Path:
        """Return the database of chunk and sentence vectors."""
        return self.stores / "vectors.sqlite"

    @property
    def logits(self) -> Path:
        """Return the database of logits of cross-encoders, which read a passage and a claim together."""
        return self.stores / "logits.sqlite"
