"""The base of the parts that a model is built from."""

from __future__ import annotations

from torch import nn

from ablate.base.registry import PartConfig
from ablate.components.sizes import Sizes


class Part(nn.Module):
    """A module that is built from its config and the sizes of the model around it."""

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__()
