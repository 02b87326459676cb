import json
import os
import random
import sys

import yaml

with open(sys.argv[sys.argv.index("--config") + 1]) as file:
    cfg = yaml.safe_load(file)
rng = random.Random(cfg["seed"])
f1 = 0.6 + rng.gauss(0, 0.01) + (0.03 if cfg["model"]["act"] == "gelu" else 0)
os.makedirs(cfg["out"], exist_ok=True)
with open(os.path.join(cfg["out"], "results.json"), "w") as file:
    json.dump({"eval": {"f1": f1, "n": 1000}}, file)
print("done")
