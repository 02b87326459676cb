"""What `ablate run` is measured against: sixteen trials in one plain script, one after the other, on one thread.

Written as one would by hand: torch's own modules and optimiser, a vectorised generator, results in a list. It
evaluates 1,024 validation examples every 100 steps, and 1,024 test examples at the end. `python plain_loop.py STEPS`.
Frozen on 2026-11-23: a change of it, or of its evaluations, would move every ratio that was published.
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

VOCAB, LENGTH, PAIRS, D_MODEL, HEADS, LAYERS = 16, 9, 4, 32, 4, 2
BATCH, EVALUATED, EVAL_EVERY, LR = 64, 1024, 100, 3e-3


class Block(nn.Module):
    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.qkv = nn.Linear(D_MODEL, 3 * D_MODEL, bias=False)
        self.out = nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)
        self.up, self.down = nn.Linear(D_MODEL, 4 * D_MODEL), nn.Linear(4 * D_MODEL, D_MODEL)
        self.activation = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, -1))
        return x + self.down(self.activation(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(VOCAB, D_MODEL), nn.Embedding(LENGTH, D_MODEL)
        self.blocks = nn.ModuleList(Block(activation) for _ in range(LAYERS))
        self.norm, self.out = nn.LayerNorm(D_MODEL), nn.Linear(D_MODEL, VOCAB)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm(x)[:, -1])


def examples(generator: np.random.Generator, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    keys = 1 + generator.random((count, 7)).argsort(1)[:, :PAIRS]
    values = generator.integers(8, VOCAB, (count, PAIRS))
    query = generator.integers(0, PAIRS, count)
    tokens = np.empty((count, LENGTH), dtype=np.int64)
    tokens[:, 0:-1:2], tokens[:, 1:-1:2] = keys, values
    tokens[:, -1] = keys[np.arange(count), query]
    return torch.from_numpy(tokens), torch.from_numpy(values[np.arange(count), query])


def evaluate(model: Model, data: tuple[torch.Tensor, torch.Tensor]) -> tuple[float, float]:
    model.eval()
    with torch.no_grad():
        logits = model(data[0])
        loss, accuracy = F.cross_entropy(logits, data[1]), (logits.argmax(1) == data[1]).float().mean()
    model.train()
    return loss.item(), accuracy.item()


def train(
    activation: nn.Module, seed: int, steps: int
) -> tuple[list[tuple[float, ...]], tuple[float, float]]:
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    model = Model(activation)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0.01)
    validation, test = examples(generator, EVALUATED), examples(generator, EVALUATED)
    curve = []
    for step in range(1, steps + 1):
        inputs, targets = examples(generator, BATCH)
        loss = F.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % EVAL_EVERY == 0:
            curve.append((step, loss.item(), norm.item(), *evaluate(model, validation)))
    return curve, evaluate(model, test)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for activation in (nn.ReLU(), nn.GELU()):
        for seed in range(8):
            print(seed, *train(activation, seed, int(sys.argv[1]))[1])
