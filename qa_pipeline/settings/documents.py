"""Settings for reading, masking and splitting documents."""

import hashlib
import hmac
from typing import Annotated, Literal, get_args

from pydantic import Field, SecretStr, field_serializer, model_validator

from qa_pipeline.settings.base import PREFIX, Group

MaskingAction = Literal["off", "flag", "mask", "drop"]
MaskedKind = Literal["email", "phone", "personnummer", "iban", "card", "secret"]
MASKED_KINDS: tuple[MaskedKind, ...] = get_args(MaskedKind)
SHORTEST_MASKING_KEY = 16
MASKING_KEY_NEEDED = (
    f"set {PREFIX}DOCUMENTS__MASKING__KEY to a secret of at least {SHORTEST_MASKING_KEY} random characters"
)


class MaskingSettings(Group):
    """Personal data in documents and in files of pairs."""

    action: MaskingAction = "off"
    """flag counts an item. mask replaces it by a token such as [EMAIL-1f2e3d4c], drop by [removed]."""
    key: SecretStr | None = None
    """Secret of at least 16 characters from which tokens are derived, so that they cannot be traced back."""
    kinds: tuple[MaskedKind, ...] = MASKED_KINDS
    """Kinds of items to find."""

    @model_validator(mode="after")
    def _check_key_and_kinds(self) -> "MaskingSettings":
        if self.key is not None and len(self.key.get_secret_value()) < SHORTEST_MASKING_KEY:
            raise ValueError(f"the key is too short; {MASKING_KEY_NEEDED}")
        if self.action == "mask" and self.key is None:
            raise ValueError(f"action is mask, but the key is missing; {MASKING_KEY_NEEDED}")
        if self.action != "off" and not self.kinds:
            raise ValueError(f"action is {self.action}, but kinds is empty")
        return self

    @field_serializer("key", when_used="json")
    def _key_fingerprint(self, key: SecretStr | None) -> str | None:
        """Return a fingerprint for the stored settings, which distinguishes keys without revealing them."""
        if key is None:
            return None
        secret = key.get_secret_value().encode()
        return hmac.new(secret, b"fingerprint of the masking key", hashlib.sha256).hexdigest()[:12]


class DocumentSettings(Group):
    """Reading files."""

    max_bytes: int = Field(50_000_000, gt=0)
    """Most bytes of a file; larger files fail."""
    max_characters: int = Field(10_000_000, gt=0)
    """Most characters of a text; longer texts fail."""
    ocr: bool = False
    """Read scanned pages of PDFs; needs the ocr extra and Tesseract."""
    ocr_languages: tuple[Annotated[str, Field(pattern="^[a-z]{3}(_[a-z]+)?$")], ...] = Field(
        ("eng", "swe", "deu"), min_length=1
    )
    """Languages of scanned pages, by Tesseract's names."""
    parse_workers: int | None = Field(None, ge=1, le=64)
    """Number of parsing processes; none uses one per core, at most 8."""
    parse_seconds: float = Field(120.0, gt=0, le=86_400)
    """Time limit for parsing a file; slower files fail, and OCR needs more time."""
    parse_memory: int = Field(2_500_000_000, ge=800_000_000)
    """Memory limit in bytes of a parsing process, including 500 MB for its libraries."""
    masking: MaskingSettings = MaskingSettings()


class ChunkingSettings(Group):
    """Splitting documents into chunks."""

    max_tokens: int = Field(768, ge=16)
    """Most tokens of a chunk; the embedding model's window may lower it."""
