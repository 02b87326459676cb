import argparse
import json
import os
import random

p = argparse.ArgumentParser()
p.add_argument("--output_dir", required=True)
p.add_argument("--label_smoothing_factor", type=float, default=0.0)
p.add_argument("--seed", type=int, default=42)
a = p.parse_args()
os.makedirs(a.output_dir, exist_ok=True)
rng = random.Random(a.seed)
acc = 0.85 + rng.gauss(0, 0.006) + (0.004 if a.label_smoothing_factor else 0)
history = [{"epoch": e, "step": 100 * e, "eval_accuracy": acc - 0.02 * (3 - e)} for e in (1, 2, 3)]
results = {
    "trainer_state": {"best_metric": acc, "log_history": history},
    "eval_results": {"epoch": 3.0, "eval_accuracy": acc, "eval_loss": 0.4},
    "train_results": {"epoch": 3.0, "train_loss": 0.3},
    "all_results": {"epoch": 3.0, "eval_accuracy": acc, "eval_loss": 0.4, "train_loss": 0.3},
}
for name, found in results.items():
    with open(f"{a.output_dir}/{name}.json", "w") as file:
        json.dump(found, file)
