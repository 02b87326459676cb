import argparse
import random
import sys
import time

p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=1e-2)
p.add_argument("--amp", action=argparse.BooleanOptionalAction, default=True)
p.add_argument("--act", choices=["relu", "gelu"], default="relu")
p.add_argument("--epochs", type=int, default=5)
p.add_argument("--seed", type=int, default=0)
a = p.parse_args()
rng = random.Random(a.seed)
noise = rng.gauss(0, 0.004)
for epoch in range(a.epochs):
    for i in range(20):
        loss = 2.3 / (1 + epoch + i / 20) + rng.random() * 0.01
        sys.stderr.write(
            f"\rEpoch {epoch + 1}/{a.epochs}: {i * 5:3d}%|{'#' * (i // 2):10s}| {i}/20 [00:00<00:00, loss={loss:.3f}]"
        )
        sys.stderr.flush()
        time.sleep(0)
    acc = 90 - 8 / (epoch + 1) + 100 * noise + (0.8 if a.act == "gelu" else 0) - (0.5 if not a.amp else 0)
    sys.stderr.write("\n")
    print(f"[{epoch + 1:>3}/{a.epochs}] train_loss={loss:.4f} | val_acc: {acc:.2f}%")
