import argparse
import random

p = argparse.ArgumentParser()
p.add_argument("--wd", type=float, default=0.0)
p.add_argument("--seed", type=int, default=0)
a = p.parse_args()
r = random.Random(a.seed)
best = 0
for e in range(1, 31):
    va = 0.7 + 0.01 * min(e, 12) - (0.006 * max(0, e - 12) if a.wd == 0 else 0) + r.gauss(0, 0.004)
    te = va - 0.02 + r.gauss(0, 0.004)
    print(
        f"Epoch: {e:03d}, Loss: {1 / e:.4f}, Train: {min(1, 0.7 + 0.02 * e):.4f}, Val: {va:.4f}, Test: {te:.4f}"
    )
