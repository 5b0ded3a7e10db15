"""Where the files of an output folder lie, and which names a batch may have."""

import unicodedata
from dataclasses import dataclass
from pathlib import Path

from qa_pipeline.errors import CorpusError
from qa_pipeline.storage.hashes import hash_text

_LONGEST_NAME = 200  # bytes: file systems allow 255, and suffixes follow
_FORBIDDEN = frozenset('/\\:*?"<>|,[]')


def check_batch_name(name: str) -> None:
    """Refuse a name that is no plain folder name on every system, or no partition key.

    Raises:
        CorpusError: with the rule that is broken.
    """
    problem = name_problem(name)
    if problem:
        raise CorpusError(refusal(name, problem))


def refusal(name: str, problem: str) -> str:
    """Return the message about a name that cannot be used."""
    return f"batch name {name!r} cannot be used: {problem}; rename the folder"


def name_problem(name: str) -> str | None:
    """Return the rule that a name breaks; None for a name that can be used."""
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
    """The output folder.

    Args:
        out: the folder, on disk or as `stored_path` gives it.
        shared: the output folder whose stores of replies, vectors and logits are used; None for its own.
        cache: the local folder of these stores; None for one in an output folder that is local.
    """

    out: Path
    shared: Path | None = None
    cache: Path | None = None

    def _of_batch(self, folder: Path, batch: str, suffix: str) -> Path:
        check_batch_name(batch)
        return folder / f"{batch}{suffix}"

    def table(self, name: str, batch: str) -> Path:
        """Return the Parquet file of one table of one batch."""
        return self._of_batch(self.out / "tables" / name, batch, ".parquet")

    def tables(self, name: str) -> list[Path]:
        """Return the files of one table, of every batch that has it."""
        return sorted((self.out / "tables" / name).glob("*.parquet"))

    def index(self, batch: str) -> Path:
        """Return the FAISS shard of one batch."""
        return self._of_batch(self.out / "indexes", batch, ".faiss")

    def export(self, name: str, batch: str) -> Path:
        """Return the JSONL export of one batch."""
        return self._of_batch(self.out / "exports" / name, batch, ".jsonl")

    def deciding(self, thresholds_id: str) -> Path:
        """Return the file of the settings that the verdicts of this id were decided by."""
        name = hash_text(thresholds_id)[:16]
        return self.out / "settings" / f"{name}.json"

    @property
    def withdrawals(self) -> Path:
        """Return the folder of the tombstones."""
        return self.out / "withdrawn"

    def tombstone(self, batch: str) -> Path:
        """Return the tombstone of a withdrawn batch."""
        return self._of_batch(self.withdrawals, batch, ".json")

    @property
    def origins(self) -> Path:
        """Return the folder with the corpus that each batch was read from."""
        return self.out / "origins"

    def origin(self, batch: str) -> Path:
        """Return the file with the location of the corpus that a batch was read from."""
        return self._of_batch(self.origins, batch, ".txt")

    def decisions(self, batch: str) -> Path:
        """Return the file of people's decisions about a batch, apart from tables, which may be remade."""
        return self._of_batch(self.out / "decisions", batch, ".jsonl")

    @property
    def asked(self) -> Path:
        """Return the folder of what people uploaded and added in the review app."""
        return self.out / "asked"

    def added_pairs(self, batch: str) -> Path:
        """Return the pairs that people added to a batch, which its next run reads like a file beside it."""
        return self._of_batch(self.asked / "added", batch, ".jsonl")

    @property
    def forgotten(self) -> Path:
        """Return the list of hashes of documents that must not come back, one JSON line each."""
        return self.out / "forgotten.jsonl"

    @property
    def releases(self) -> Path:
        """Return the folder of published releases, a folder each, with the pointer to the latest."""
        return self.out / "releases"

    @property
    def monitoring(self) -> Path:
        """Return the folder of scores of production, a file a day."""
        return self.out / "monitoring"

    @property
    def _cache(self) -> Path:
        return self.cache or (self.shared or self.out) / "cache"

    @property
    def replies(self) -> Path:
        """Store of model replies."""
        return self._cache / "replies.sqlite"

    def _memory(self, name: str, suffix: str = ".json") -> Path:
        if self.cache is None:
            return self.out / "cache" / f"{name}{suffix}"
        return self.cache / f"{name}-{hash_text(str(self.out))[:16]}{suffix}"  # of several output folders

    def finished(self, batch: str) -> Path:
        """Return the file of how a batch was when it was last run; it is run again when deleted."""
        return self._of_batch(self._memory("finished", ""), batch, ".json")

    def batch_lock(self, batch: str) -> Path:
        """Return the folder that a step locks while it works on a batch."""
        return self._of_batch(self._memory("locks", ""), batch, "")

    @property
    def vectors(self) -> Path:
        """Store of chunk and sentence vectors."""
        return self._cache / "vectors.sqlite"

    @property
    def logits(self) -> Path:
        """Store of what models said that read a passage and a claim together."""
        return self._cache / "logits.sqlite"
