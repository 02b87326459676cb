from collections.abc import Callable
from typing import Any

import pytest

from ablate.base.registry import CATALOGUE
from ablate.training.trial import parse

CATALOGUE.load_builtin()
TASK = {"name": "recall", "vocab_size": 16, "seq_len": 5, "num_pairs": 2, "test_size": 1024}


@pytest.fixture
def resolved() -> Callable[..., dict[str, Any]]:
    """A small trial's config with every default filled in; arguments replace settings of its sections."""

    def config(task: Any = TASK, model: dict | None = None, training: dict | None = None) -> dict[str, Any]:
        small = {"d_model": 8, "num_layers": 1, "mixer": {"num_heads": 2}, **(model or {})}
        short = {"steps": 12, "batch_size": 16, "lr": 3e-3, "eval_every": 5, "clip_norm": 1.0}
        return parse({"task": task, "model": small, "training": short | (training or {})}).model_dump()

    return config
