import random
import sys

from omegaconf import OmegaConf

base = OmegaConf.create(
    {
        "seed": 0,
        "model": {"width": 64, "act": "relu", "layers": [64, 64]},
        "optim": {"lr": 1e-3, "clip": None},
        "epochs": 3,
    }
)
cfg = OmegaConf.merge(base, OmegaConf.from_cli())
r = random.Random(cfg.seed)
b = r.gauss(0, 0.01)
for e in range(cfg.epochs):
    print(f"Epoch {e + 1}/{cfg.epochs}")
    for k in range(1, 4):
        sys.stdout.write(
            "\b" * 60 * (k > 1)
            + "\r"
            + f"{k}/3 "
            + "━" * 5 * k
            + f" 0s 4ms/step - accuracy: {0.5 + 0.1 * e:.4f} - loss: {1.2 - 0.1 * e:.4f}"
        )
        sys.stdout.flush()
    v = (
        0.6
        - 0.1 * e
        + b
        + (-0.02 if cfg.model.act == "gelu" else 0)
        + (0.05 if cfg.optim.clip is not None else 0)
        + r.gauss(0, 0.002)
    )
    print(
        "\b" * 60
        + "\r"
        + f"3/3 ━━━━━━━━━━━━━━━ 0s 6ms/step - accuracy: {0.5 + 0.1 * e:.4f} - loss: {1.2 - 0.1 * e:.4f} - "
        + f"val_accuracy: {0.55 + 0.1 * e:.4f} - val_loss: {v:.4f}"
    )
