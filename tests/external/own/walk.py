"""A script as people have them: flags, globals, a log. Its loss depends on the seed, and nothing reads `dead`."""

import argparse
import random

import ends

STEPS = 6
RATE: float = 0.5  # per step
SEED = 3
UNUSED = 1

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=RATE)
parser.add_argument("--act", default="relu")
parser.add_argument("--dead", type=int, default=0)
parser.add_argument("--seed", type=int, default=SEED)
parser.add_argument("--steps", type=int, default=STEPS)
args = parser.parse_args()

generator = random.Random(args.seed)
loss = 4.0
for step in range(args.steps):
    loss -= args.rate * (0.2 if args.act == "gelu" else 0.1) + 0.01 * generator.random()
    print(f"step {step}: train loss {loss:.4f}, val loss {loss + ends.GAP:.4f}")
