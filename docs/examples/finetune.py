"""Fine-tune a chat model on a release, and compare it with itself untuned on documents that it was not shown.

    python docs/examples/finetune.py mydata/releases MODEL answers

MODEL is what transformers loads: a folder, a name on the hub, or a .gguf file (libraries gguf, accelerate).
answers/untuned.jsonl and tuned.jsonl are for `qa-pipeline eval run`, their reports for `eval compare`.
"""

import argparse
import copy
import json
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence as pad
from transformers import AutoModelForCausalLM, AutoTokenizer

import qa_pipeline


def load(name: str) -> tuple[Any, Any]:
    """Return a tokenizer and a model."""
    path, file = (Path(name).parent, Path(name).name) if name.endswith(".gguf") else (name, None)
    tokenizer = AutoTokenizer.from_pretrained(path, gguf_file=file, padding_side="left")
    return tokenizer, AutoModelForCausalLM.from_pretrained(path, gguf_file=file, dtype=torch.float32)


def token_losses(model: Any, tokenizer: Any, chats: list[Any]) -> tuple[torch.Tensor, ...]:
    """Return the loss of each token of each answer; of other tokens nothing is learned."""
    asked = tokenizer.apply_chat_template([chat[:-1] for chat in chats], add_generation_prompt=True)[
        "input_ids"
    ]
    answers = [chat[-1]["content"] + tokenizer.eos_token for chat in chats]
    said = tokenizer(answers, add_special_tokens=False)["input_ids"]
    both = list(zip(asked, said, strict=True))
    tokens = pad([torch.tensor(question + answer) for question, answer in both], batch_first=True).to(
        model.device
    )
    rows = torch.cat([torch.full((len(answer),), row) for row, answer in enumerate(said)])
    places = torch.cat([torch.arange(len(question), len(question + answer)) for question, answer in both])
    hidden = model.base_model(input_ids=tokens).last_hidden_state[rows, places - 1]
    scores = model.get_output_embeddings()(hidden).float()
    return cross_entropy(scores, tokens[rows, places], reduction="none").split(list(map(len, said)))


def fit(model: Any, tokenizer: Any, chats: list[Any], args: argparse.Namespace, seed: int) -> None:
    """Train all layers or the last ones on the answers, at a rate that falls to nothing."""
    torch.manual_seed(seed)
    model.requires_grad_(args.layers == 0)
    for layer in model.base_model.layers[-args.layers :]:
        layer.requires_grad_(True)
    drawn = (torch.randperm(len(chats))[: args.rows] for _ in range(args.epochs))
    parts = [part for rows in drawn for part in rows.split(args.size)]
    learned = [weights for weights in model.parameters() if weights.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=args.rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=len(parts))
    for part in parts:
        with torch.autocast(args.device, torch.bfloat16):
            torch.cat(token_losses(model, tokenizer, [chats[row] for row in part])).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()


@torch.inference_mode()
def measure(model: Any, tokenizer: Any, chats: list[Any], size: int) -> tuple[list[float], list[str]]:
    """Return the mean loss of a token of each answer, and what the model answers, without chance."""
    model, losses, answers = copy.deepcopy(model).to(torch.bfloat16), [], []
    for start in range(0, len(chats), size):
        part = chats[start : start + size]
        losses += [float(row.mean()) for row in token_losses(model, tokenizer, part)]
        questions = [chat[:-1] for chat in part]
        options = {
            "add_generation_prompt": True,
            "padding": True,
            "return_tensors": "pt",
            "return_dict": True,
        }
        asked = tokenizer.apply_chat_template(questions, **options).to(model.device)
        replies = model.generate(**asked, max_new_tokens=64, do_sample=False)
        answers += tokenizer.batch_decode(replies[:, asked["input_ids"].shape[1] :], skip_special_tokens=True)
    return losses, answers


def gain(before: torch.Tensor, after: torch.Tensor, documents: list[str]) -> str:
    """Return by how much the loss fell, with the 95 % interval of documents drawn anew (Efron 1979)."""
    place = torch.tensor([sorted(set(documents)).index(document) for document in documents])
    fell, count = (
        torch.zeros(int(place.max()) + 1).index_add(0, place, x) for x in (before - after, before**0)
    )
    draws = torch.randint(len(fell), (2000, len(fell)), generator=torch.Generator().manual_seed(0))
    low, high = (fell[draws].sum(1) / count[draws].sum(1)).quantile(torch.tensor([0.025, 0.975])).tolist()
    return f"the loss falls by {float(fell.sum() / count.sum()):.3f} ({low:.3f} to {high:.3f})"


def main(args: argparse.Namespace) -> None:
    """Train and measure with each seed, and write what was answered before and after."""
    splits = {}
    for split in ("train", args.held_out):
        columns = ("pair_id", "language", "documents", args.column)
        part = qa_pipeline.load_release(args.releases, split).select(*columns).drop_nulls().collect()
        splits[split] = [row for row in part.rows() if args.language in (None, row[1])]
    (chats, held_out), rows = ([row[3] for row in rows] for rows in splits.values()), splits[args.held_out]
    tokenizer, untuned = load(args.model)
    before = measure(untuned.to(args.device), tokenizer, held_out, args.size)
    args.to.mkdir(parents=True, exist_ok=True)
    after = torch.zeros(len(held_out))
    for seed in range(args.seeds):
        model = copy.deepcopy(untuned)
        fit(model, tokenizer, chats, args, seed)
        runs = {"untuned": before, "tuned": measure(model, tokenizer, held_out, args.size)}
        after += torch.tensor(runs["tuned"][0]) / args.seeds
        print(seed, *(f"{name} loss {sum(losses) / len(losses):.3f}" for name, (losses, _) in runs.items()))
        for name, measured in runs.items():
            with (args.to / f"{name}.jsonl").open("a" if seed else "w", encoding="utf-8") as file:
                for (pair_id, language, documents, chat), loss, answer in zip(rows, *measured, strict=True):
                    row = {"id": f"{pair_id} {seed}", "query": chat[-2]["content"], "answer": answer}
                    truth = {"ground_truth": chat[-1]["content"], "group": documents[0], "language": language}
                    file.write(json.dumps({**row, **truth, "category": f"seed {seed}", "loss": loss}) + "\n")
    print(gain(torch.tensor(before[0]), after, [documents[0] for _, _, documents, _ in rows]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("releases", type=Path)
    parser.add_argument("model")
    parser.add_argument("to", type=Path)
    parser.add_argument("--column", default="messages_with_context", help="messages show no passages")
    parser.add_argument("--language", help="rows of this language alone")
    parser.add_argument("--held-out", default="test")
    parser.add_argument("--layers", type=int, default=0, help="how many are trained, from the last; 0: all")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for option, default in {"seeds": 3, "epochs": 2, "size": 16}.items():
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument(
        "--rows", type=int, help="how many are read in an epoch, drawn by seed; all by default"
    )
    parser.add_argument("--rate", type=float, default=1e-4)
    main(parser.parse_args())
