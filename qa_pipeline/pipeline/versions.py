"""The code version of each asset: everything except its inputs that affects its result.

The UI marks an asset as outdated when its code version changes. Settings that only affect speed or duration
(workers, time limits, caps) are excluded. Otherwise raising a cap would mark everything.
"""

from collections.abc import Mapping
from importlib import metadata
from operator import attrgetter
from typing import cast

from qa_pipeline.documents.parsing import ONLY_SPEED
from qa_pipeline.prompts.loading import SYSTEM_PROMPTS, PromptName, load_prompt, part_text
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.hashes import hash_json
from qa_pipeline.text.lexicon.languages import LANGUAGES

_ONLY_SPEED = {
    "documents": set(ONLY_SPEED),
    "llm": {
        *("workers", "timeout_seconds", "max_tries", "wait_minutes", "requests_per_minute"),
        *("budget", "store"),
    },
}
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "documents": ("documents",),
    "chunks": ("chunking", "embedding"),
    "embeddings": ("embedding",),
    "index": (),
    "questions": ("generation", "retrieval", "embedding", "llm"),
    "pairs": ("generation", "llm", "embedding", "documents.masking"),
    "claims": ("embedding", "verification", "llm"),
    "claim_verdicts": ("verification", "llm"),
    "canaries": ("canaries", "embedding", "verification", "judging", "llm"),
    "assessments": ("judging", "verification", "llm"),
    "verdicts": ("verification", "judging"),
    "training_examples": ("training", "embedding", "quality"),  # a gate may pass with another limit
    "llm_calls": (),
    "gates": ("quality",),
    "release": ("quality", "release"),
    "production_quality": ("embedding", "verification"),
}
"""Groups of settings that affect an asset."""

PROMPTS: Mapping[str, tuple[str, ...]] = {
    "questions": ("questions", "standalone"),
    "pairs": ("validate_reference", "guard", "answer"),
    "claims": ("split",),
    "claim_verdicts": ("verify",),
    "canaries": ("verify", "judge"),
    "assessments": ("judge", "answer", "compare"),
    "training_examples": SYSTEM_PROMPTS,
}
"""Prompts that affect an asset."""


def code_version(asset: str, settings: Settings) -> str:
    """Return the package version and a hash of the settings and prompts that an asset depends on."""
    resources = {
        "settings": {group: _group(settings, group) for group in SETTINGS[asset]},
        "prompts": {
            f"{language}/{name}": _wording(language, name, settings)
            for name in PROMPTS.get(asset, ())
            for language in LANGUAGES
        },
    }
    try:
        version = metadata.version("qa-pipeline")
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        version = "checkout"
    return f"{version}-{hash_json(resources)[:12]}"


def _wording(language: str, name: str, settings: Settings) -> str:
    if name in SYSTEM_PROMPTS:
        return part_text(language, name)
    return load_prompt(language, cast("PromptName", name), settings.llm).hash


def _group(settings: Settings, group: str) -> dict[str, object]:
    values: dict[str, object]
    values = attrgetter(group)(settings).model_dump(mode="json", exclude=_ONLY_SPEED.get(group))
    if group == "verification":  # the content of a thresholds file counts, not its path
        values["thresholds"] = settings.verification.fitted.id
    return values
