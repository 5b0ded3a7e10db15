"""Where each output lives below the output folder: the one place that knows paths.

What belongs here: names of files and folders. What does not: reading or writing them (`storage.py`).
Batch names reach a path only after `check_batch_name`.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from qa_pipeline.documents.batches import check_batch_name


@dataclass(frozen=True, slots=True)
class Layout:
    """The output folder."""

    out: Path

    def table(self, name: str, batch: str) -> Path:
        """Parquet file of one table of one batch."""
        check_batch_name(batch)
        return self.out / "tables" / name / f"{batch}.parquet"

    def tables(self, name: str) -> list[Path]:
        """The files of one table, of every batch that has it."""
        return sorted((self.out / "tables" / name).glob("*.parquet"))

    def index(self, batch: str) -> Path:
        """FAISS shard of one batch."""
        check_batch_name(batch)
        return self.out / "indexes" / f"{batch}.faiss"

    def export(self, name: str, batch: str) -> Path:
        """JSONL export of one batch."""
        check_batch_name(batch)
        return self.out / "exports" / name / f"{batch}.jsonl"

    def deciding(self, thresholds_id: str) -> Path:
        """The settings that the verdicts of this id were decided by."""
        name = hashlib.sha256(thresholds_id.encode()).hexdigest()[:16]
        return self.out / "settings" / f"{name}.json"

    @property
    def exports_card(self) -> Path:
        """Dataset card of the exports folder."""
        return self.out / "exports" / "README.md"

    @property
    def withdrawals(self) -> Path:
        """What is moved aside, a folder a batch."""
        return self.out / "withdrawn"

    def tombstone(self, batch: str) -> Path:
        """Why and since when a batch is withdrawn; what was moved aside lies beside it."""
        check_batch_name(batch)
        return self.withdrawals / batch / "tombstone.json"

    @property
    def origins(self) -> Path:
        """Which corpus each batch was read from."""
        return self.out / "origins"

    def origin(self, batch: str) -> Path:
        """Location of the corpus that a batch was read from."""
        check_batch_name(batch)
        return self.origins / f"{batch}.txt"

    def decisions(self, batch: str) -> Path:
        """What people decided about a batch: apart from the tables, which may be deleted and made anew."""
        check_batch_name(batch)
        return self.out / "decisions" / f"{batch}.jsonl"

    @property
    def replies(self) -> Path:
        """Store of model replies."""
        return self.out / "cache" / "replies.sqlite"

    @property
    def vectors(self) -> Path:
        """Store of chunk and sentence vectors."""
        return self.out / "cache" / "vectors.sqlite"

    @property
    def logits(self) -> Path:
        """Store of what models said that read a passage and a claim together."""
        return self.out / "cache" / "logits.sqlite"

    @property
    def graphs(self) -> Path:
        """Models exported for the backend onnx_int8."""
        return self.out / "cache" / "graphs"
