"""A training loop over a release: a small model learns to answer, and is held to rows it has not seen.

    python docs/examples/train.py mydata/releases mymodel

The rows are read and shuffled a part at a time. Only the answer is learned, and not the question.
The model is built here and knows nothing, so that nothing is downloaded: put your own in its place.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import torch
from torch.nn.utils.rnn import pad_sequence as pad
from transformers import LlamaConfig, LlamaForCausalLM

import qa_pipeline

LONGEST = 128
"""Bytes of an example that the model reads, the last ones."""
PART = 4096
"""Rows that are held at a time."""
END, NO_LOSS = 256, -100
CONFIG = LlamaConfig(
    vocab_size=257,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=1,
    num_attention_heads=4,
    max_position_embeddings=LONGEST,
    eos_token_id=END,
)


def batches(
    releases: Path, split: str, size: int, seed: int = 0
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Tokens and labels, each of shape (rows, longest); bytes are the tokens."""
    rows = qa_pipeline.load_release(releases, split).select("question", "answer")
    for part in rows.collect_batches(chunk_size=PART, maintain_order=True):
        shuffled = part.sample(fraction=1.0, shuffle=True, seed=seed)
        for own in shuffled.iter_slices(size):
            yield encode(own)


def encode(rows: pl.DataFrame) -> tuple[torch.Tensor, torch.Tensor]:
    """The bytes of question and answer, and of the answer alone as what is to be learned."""
    tokens, labels = [], []
    for question, answer in rows.iter_rows():
        asked, said = list(f"{question}\n".encode()), [*answer.encode(), END]
        tokens.append(torch.tensor((asked + said)[-LONGEST:]))
        labels.append(torch.tensor(([NO_LOSS] * len(asked) + said)[-LONGEST:]))
    return pad(tokens, batch_first=True, padding_value=END), pad(
        labels, batch_first=True, padding_value=NO_LOSS
    )


@torch.no_grad()
def held_out_loss(model: LlamaForCausalLM, releases: Path, split: str) -> float:
    """Mean loss of a byte of the answers of a split."""
    model.eval()
    total, count = 0.0, 0
    for tokens, labels in batches(releases, split, size=16):
        learned = int((labels[:, 1:] != NO_LOSS).sum())
        total += float(model(input_ids=tokens, labels=labels).loss) * learned
        count += learned
    return total / count if count else float("nan")


def train(
    releases: Path, held_out: str = "validation", epochs: int = 5, size: int = 16, to: Path | None = None
) -> tuple[float, float]:
    """Go through the rows some times; return the held-out loss before and after."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    before = held_out_loss(model, releases, held_out)
    model.train()
    for epoch in range(epochs):
        for tokens, labels in batches(releases, "train", size, seed=epoch):
            model(input_ids=tokens, labels=labels).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    if to is not None:
        model.save_pretrained(to)
    return before, held_out_loss(model, releases, held_out)


if __name__ == "__main__":
    losses = train(Path(sys.argv[1]), to=Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    print("held-out loss before {:.3f}, after {:.3f}".format(*losses))
