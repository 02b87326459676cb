"""A small model and a task of tokens, for tests of what a model is built of."""

from typing import Any

import torch

from ablate.base.registry import CATALOGUE
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.model import Model
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
TOKENS = Signature(seq_len=6, num_outputs=5, vocab_size=11)
BATCH = torch.randint(11, (4, 6), generator=torch.Generator().manual_seed(0))


def section(**settings: Any) -> ModelSection:
    return ModelSection.model_validate({"d_model": 16, "num_layers": 1, **settings})


def built(
    signature: Signature = TOKENS, seed: int = 0, stream: str = "", device: str = "cpu", **settings: Any
) -> Model:
    return build_model(section(**settings), signature, seed=seed, stream=stream, device=device)
