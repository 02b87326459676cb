"""A GPT as people train it, in bf16 on a GPU: one's own code of the GPU kit."""

import argparse
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """Attention and feedforward, each after a norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns the residual stream, shape (batch, length, width)."""
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class GPT(nn.Module):
    """A decoder whose output shares its weights with the embedding of tokens."""

    def __init__(self, layers: int, width: int, heads: int, length: int, vocabulary: int) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for embedding in (self.token, self.position):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Returns the logits of the next token, shape (batch, length, vocabulary)."""
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.token.weight)


def main() -> None:
    """Trains on random tokens, and prints the loss and the median time of a step after five that warm up."""
    parser = argparse.ArgumentParser()
    for name in ("layers", "width", "heads", "length", "batch", "vocabulary", "steps", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = GPT(args.layers, args.width, args.heads, args.length, args.vocabulary).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    seconds = []
    for _ in range(args.steps):
        tokens = torch.randint(args.vocabulary, (args.batch, args.length + 1), device=device)
        if device == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        with torch.autocast(device, torch.bfloat16):
            logits = model(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    counted = sorted(seconds[5:] or seconds)
    print("loss", loss.item())
    print("step", counted[len(counted) // 2])


if __name__ == "__main__":
    main()
