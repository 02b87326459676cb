"""A bigram model in the manner of nanoGPT: argparse, globals at the top, a seed that is fixed."""

import argparse

import torch
from torch import nn

batch_size = 16
block_size = 8
eval_interval = 10
device = "cpu"

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, default=1e-2)
parser.add_argument("--max_iters", type=int, default=60)
parser.add_argument("--dropout", type=float, default=0.0)
parser.add_argument("--compile", action="store_true")
args = parser.parse_args()

torch.manual_seed(1337)
text = "hello world, this is a very small corpus for a very small model. " * 20
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])
train_data, val_data = data[: int(0.9 * len(data))], data[int(0.9 * len(data)) :]


def get_batch(split):
    source = train_data if split == "train" else val_data
    places = torch.randint(len(source) - block_size, (batch_size,))
    x = torch.stack([source[i : i + block_size] for i in places])
    y = torch.stack([source[i + 1 : i + block_size + 1] for i in places])
    return x.to(device), y.to(device)


model = nn.Embedding(len(chars), len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
for step in range(args.max_iters):
    if step % eval_interval == 0 or step == args.max_iters - 1:
        losses = {}
        for split in ("train", "val"):
            x, y = get_batch(split)
            losses[split] = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
        print(f"step {step}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
    x, y = get_batch("train")
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
