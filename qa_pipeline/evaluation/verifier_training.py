"""A cross-encoder of your own: trained on labelled rows and on claims of known verdict made from documents.

Rows are split by group, never row by row: the rows of one source are on one side. What the figures say of a
data set is measured by a model that was trained without it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.detection import Task, measure
from qa_pipeline.evaluation.scorers import word_overlap
from qa_pipeline.evaluation.statistics import Resamples, estimate, rounded
from qa_pipeline.models.cpu import quiet_transformers
from qa_pipeline.settings.thresholds import Thresholds, thresholds_bytes
from qa_pipeline.storage import write_bytes
from qa_pipeline.verification.canaries.material import gather
from qa_pipeline.verification.canaries.seeding import KINDS, seed_canaries

Floats = npt.NDArray[np.float64]
Watch = Callable[[str], object]
LABELS = {0: "not_entailment", 1: "entailment"}
MADE = "falsifications"
"""The data set of claims made from documents."""
TARGET = 0.98
_WINDOW = 160
"""Words of a passage that are read beside a claim, those that share most words with it."""
_BATCH_TOKENS = 4096
_WARM_UP = 0.1
_FIGURES = ("auroc", "balanced_accuracy_best")


@dataclass(frozen=True, slots=True)
class Training:
    """How a model is trained; `rate` is the learning rate, `input_tokens` the most of an input."""

    base: Path
    epochs: int = 2
    rate: float = 5e-5
    input_tokens: int = 256
    seed: int = 0


def training_rows(items: pl.DataFrame) -> pl.DataFrame:
    """Labelled items (`ITEMS`) as passage, claim, label, dataset and group_id.

    Raises:
        InputError: the items are of one label only.
    """
    rows = items.select(
        "id",
        pl.struct("context", "answer", "language")
        .map_elements(lambda row: _nearest(row["context"], row["answer"]), return_dtype=pl.String())
        .alias("passage"),
        claim="answer",
        label="label",
        dataset="dataset",
        group_id=pl.format("{}/{}", "dataset", "group_id"),
    )
    if rows["label"].n_unique() < len(LABELS):
        raise InputError(
            "the labelled rows are all of one label; training needs supported and unsupported ones"
        )
    return rows


def made_rows(chunks: pl.DataFrame, per_kind: int) -> pl.DataFrame:
    """Claims of known verdict made from chunks, in the columns of `training_rows`; a group is a document."""
    material = gather(chunks)
    texts = dict(chunks.select("chunk_id", "text").iter_rows())
    return pl.DataFrame(
        [
            {
                "passage": _nearest([texts[one.draft.chunk_id]], one.draft.claim),
                "claim": one.draft.claim,
                "label": int(one.generator.expected == "supported"),
                "dataset": MADE,
                "group_id": f"{MADE}/{material.owners[one.draft.chunk_id]}",
            }
            for one in seed_canaries(material, per_kind, KINDS)
        ],
        schema={name: pl.String() for name in ("passage", "claim")}
        | {"label": pl.Int8(), "dataset": pl.String(), "group_id": pl.String()},
    )


def joined(labelled: pl.DataFrame, made: pl.DataFrame) -> pl.DataFrame:
    """Both kinds of rows in the columns that training reads."""
    return pl.concat([labelled, made], how="diagonal_relaxed")


def _nearest(context: Sequence[str], claim: str) -> str:
    """The run of words of the passages that holds most words of the claim; the first of equals."""
    spoken = "\n".join(context).split(" ")
    starts = range(0, max(len(spoken) - _WINDOW // 2, 1), _WINDOW // 2)
    windows = [" ".join(spoken[start : start + _WINDOW]) for start in starts]
    wanted = set(claim.casefold().split())
    return max(windows, key=lambda one: len(wanted & set(one.casefold().split())))


def held_out(rows: pl.DataFrame, share: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows to train on, and those of about a `share` of the groups."""
    chosen = pl.col("group_id").hash(seed) % 1000 < round(1000 * share)
    return rows.filter(~chosen), rows.filter(chosen)


def train(rows: pl.DataFrame, how: Training, watch: Watch) -> tuple[Any, Any]:
    """Fine-tune the base model on rows; the model and its tokenizer, on a GPU where there is one.

    Both labels weigh alike. Equal rows, base and seed give equal weights on one machine.

    Raises:
        InputError: the base cannot be loaded as an encoder.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(how.seed)
    try:
        with quiet_transformers(warnings=False):
            tokenizer = AutoTokenizer.from_pretrained(str(how.base))
            model = AutoModelForSequenceClassification.from_pretrained(
                str(how.base),
                num_labels=len(LABELS),
                id2label=LABELS,
                label2id={name: place for place, name in LABELS.items()},
                ignore_mismatched_sizes=True,
                use_safetensors=True,
                trust_remote_code=False,
            )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"--base {how.base} cannot be loaded as an encoder ({reason})") from error
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.to(device).train()
    inputs = _encoded(tokenizer, rows, how.input_tokens)
    labels = rows["label"].to_list()
    ones = sum(labels)
    weights = torch.tensor(
        [len(labels) / (2 * (len(labels) - ones)), len(labels) / (2 * ones)], device=device
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=how.rate, weight_decay=0.01)
    drawn = np.random.default_rng(how.seed)
    plan = [batch for _ in range(how.epochs) for batch in _batches(inputs, drawn)]
    pace = torch.optim.lr_scheduler.LambdaLR(optimiser, partial(_pace, steps=len(plan)))
    for step, places in enumerate(plan, start=1):
        batch = tokenizer.pad([inputs[place] for place in places], return_tensors="pt").to(device)
        wanted = torch.tensor([labels[place] for place in places], device=device)
        loss = torch.nn.functional.cross_entropy(model(**batch).logits, wanted, weight=weights)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        pace.step()
        optimiser.zero_grad()
        if step % 50 == 0 or step == len(plan):
            watch(f"step {step} of {len(plan)}, loss {loss.item():.3f}")
    return model.eval(), tokenizer


def _pace(step: int, steps: int) -> float:
    """Share of the learning rate: it rises over the first tenth of the steps and falls to nothing."""
    rising = max(_WARM_UP * steps, 1.0)
    return min((step + 1) / rising, (steps - step) / max(steps - rising, 1.0), 1.0)


def _encoded(tokenizer: Any, rows: pl.DataFrame, most: int) -> list[dict[str, list[int]]]:
    """Token ids of each passage and claim; of a long passage the end is cut."""
    found = tokenizer(
        rows["passage"].to_list(), rows["claim"].to_list(), truncation="longest_first", max_length=most
    )
    return [{name: found[name][place] for name in found} for place in range(rows.height)]


def _batches(inputs: Sequence[Mapping[str, list[int]]], drawn: np.random.Generator) -> Iterator[list[int]]:
    """Places of inputs of about one length, as many as fit into a batch, the batches in a drawn order."""
    lengths = np.array([len(one["input_ids"]) for one in inputs])
    ordered = np.argsort(lengths + drawn.random(len(lengths)) * 16, kind="stable")
    some: list[list[int]] = [[]]
    for place in ordered:
        if some[-1] and (len(some[-1]) + 1) * int(lengths[place]) > _BATCH_TOKENS:
            some.append([])
        some[-1].append(int(place))
    for turn in drawn.permutation(len(some)):
        yield some[turn]


def scores(model: Any, tokenizer: Any, rows: pl.DataFrame, input_tokens: int) -> Floats:
    """Probability of entailment of each row."""
    import torch

    inputs = _encoded(tokenizer, rows, input_tokens)
    found = np.full(len(inputs), np.nan)
    with torch.inference_mode():
        for places in _batches(inputs, np.random.default_rng(0)):
            batch = tokenizer.pad([inputs[place] for place in places], return_tensors="pt").to(model.device)
            found[places] = model(**batch).logits.float().softmax(dim=1)[:, 1].cpu().numpy()
    return found


def figures(rows: pl.DataFrame, found: Floats, resamples: int, seed: int) -> dict[str, Any]:
    """AUROC and best balanced accuracy of the scores and of word overlap, and how far the scores are ahead.

    Intervals are of 95 %, over draws of groups that all three share.
    """
    overlap = word_overlap(rows["claim"].to_list(), [[text] for text in rows["passage"]])
    label = rows["label"].cast(pl.Boolean()).to_numpy()
    draws = Resamples(rows["group_id"].to_list(), "verifier", resamples, seed)
    both = {
        name: draws.over(partial(measure, Task(one, label, None, None, probability=False), target=TARGET))
        for name, one in (("model", found), ("word_overlap", overlap))
    }
    ahead = {name: both["model"][name] - both["word_overlap"][name] for name in _FIGURES}
    shown = {name: {one: estimate(values[one]) for one in _FIGURES} for name, values in both.items()}
    document: dict[str, Any] = rounded(
        {"rows": rows.height, **shown, "ahead": {name: estimate(values) for name, values in ahead.items()}}
    )
    return document


def left_out_figures(
    rows: pl.DataFrame, how: Training, resamples: int, watch: Watch
) -> dict[str, dict[str, Any]]:
    """The figures of each data set with people's labels, by a model that was trained on the others.

    Raises:
        InputError: there is one data set only.
    """
    sets = rows.filter(pl.col("dataset") != MADE)["dataset"].unique().sort().to_list()
    if len(sets) < 2:
        raise InputError(
            "leaving a data set out needs two of them; name more with --data, or use --no-leave-out"
        )
    found = {}
    for name in sets:
        watch(f"training without {name}")
        model, tokenizer = train(rows.filter(pl.col("dataset") != name), how, watch)
        measured = rows.filter(pl.col("dataset") == name)
        found[name] = figures(
            measured, scores(model, tokenizer, measured, how.input_tokens), resamples, how.seed
        )
        watch(f"{name}: {json.dumps(found[name]['model']['auroc'])}")
    return found


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write weights as safetensors, tokenizer and configuration."""
    with quiet_transformers(warnings=False):
        model.to("cpu").save_pretrained(folder, safe_serialization=True)
        tokenizer.save_pretrained(folder)


def describe(folder: Path, about: Mapping[str, Any], thresholds: Thresholds | None) -> None:
    """Write thresholds, where there are any, figures and the model card beside a model."""
    if thresholds:
        write_bytes(folder / "thresholds.json", thresholds_bytes(thresholds))
    write_bytes(folder / "figures.json", json.dumps(about, indent=1, ensure_ascii=False).encode())
    write_bytes(folder / "README.md", card(about).encode())


def card(about: Mapping[str, Any]) -> str:
    """The model card: what it was made of, how, and how good it is, as `figures.json` has it too."""
    lines = [
        f"# A verifier trained on {', '.join(about['sets'])}",
        "",
        "Reads a passage and a claim; `entailment` is the probability that the passage states the claim.",
        f"`verification.entailment.model` names this folder. {about['thresholds']}.",
        "",
        f"Base: {about['base']}. Trained with {json.dumps(about['training'])}.",
        "",
        "| file | SHA-256 |",
        "|---|---|",
        *(f"| {one['name']} | {one['sha256']} |" for one in about["files"]),
        "",
        f"{about['made']} claims of known verdict were made from documents.",
        "",
        "AUROC with 95 % intervals over sources; a data set's own rows were not trained on:",
        "",
        "| measured on | rows | model | word overlap | ahead |",
        "|---|---|---|---|---|",
    ]
    for name, one in about["figures"].items():
        of = (one["model"], one["word_overlap"], one["ahead"])
        lines.append(f"| {name} | {one['rows']} | {' | '.join(_shown(each['auroc']) for each in of)} |")
    return "\n".join([*lines, ""])


def _shown(one: Mapping[str, float | None]) -> str:
    bounds = "" if one["low"] is None else f" ({one['low']:.3f} to {one['high']:.3f})"
    return "unknown" if one["value"] is None else f"{one['value']:.3f}{bounds}"
