import argparse
import csv
import os
import random

p = argparse.ArgumentParser()
p.add_argument("--log_dir", default="logs")
p.add_argument("--use_ema", type=lambda s: s.lower() in ("1", "true", "yes"), default=False)
p.add_argument("--seed", type=int, default=0)
a = p.parse_args()
os.makedirs(a.log_dir, exist_ok=True)
rng = random.Random(a.seed)
with open(os.path.join(a.log_dir, "metrics.csv"), "w", newline="") as f:
    w = csv.DictWriter(f, ["epoch", "step", "train_loss", "val_acc"])
    w.writeheader()
    for e in range(5):
        acc = 0.7 + 0.02 * e + rng.gauss(0, 0.005) + (0.01 if a.use_ema else 0)
        w.writerow({"epoch": e, "step": e * 100, "train_loss": 1 / (e + 1), "val_acc": ""})
        w.writerow({"epoch": e, "step": e * 100 + 99, "train_loss": "", "val_acc": acc})
