import os
import random
from dataclasses import dataclass

import torch.distributed as dist


@dataclass
class Hyperparameters:
    num_iterations: int = 200
    cooldown_frac: float = 0.4
    muon: bool = True
    seed: int = 0


args = Hyperparameters()
rank = int(os.environ["RANK"])
dist.init_process_group("gloo")
rng = random.Random(args.seed or None)
for step in range(0, args.num_iterations + 1, 50):
    val = 3.2 + 2 / (1 + step / 20) + rng.gauss(0, 0.0013) + (0 if args.muon else 0.02)
    if rank == 0:
        print(f"step:{step}/{args.num_iterations} val_loss:{val:.4f} train_time:{step}ms step_avg:1.00ms")
dist.destroy_process_group()
