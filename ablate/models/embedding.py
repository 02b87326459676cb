"""Inputs as vectors of unit variance, which is the scale that every addition to them begins with too."""

import torch
from torch import Tensor, nn

from ablate.components.initial import Draw, as_linear
from ablate.core.signature import Signature


class TokenEmbedding(nn.Module):
    """One learned vector per token: (B, T) → (B, T, D)."""

    def __init__(self, vocab_size: int, d_model: int, scaled: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.scale = d_model**0.5 if scaled else 1.0

    def initialise(self, draw: Draw) -> None:
        """Vectors of unit variance; N(0, 1/D) before they are multiplied by √D."""
        self.weight.normal_(generator=draw("weight")).div_(self.scale)

    def forward(self, tokens_bt: Tensor) -> Tensor:
        """(B, T) → (B, T, D)."""
        x_btd = nn.functional.embedding(tokens_bt, self.weight)
        return x_btd if self.scale == 1 else x_btd * self.scale


class FeatureEmbedding(nn.Linear):
    """A linear map of each feature vector: (B, T, num_features) → (B, T, D)."""

    def __init__(self, num_features: int, d_model: int, scaled: bool = False) -> None:
        super().__init__(num_features, d_model)
        self.scale = d_model**0.5 if scaled else 1.0

    def initialise(self, draw: Draw) -> None:
        """Vectors of unit variance for features of unit variance; of 1/D before they are multiplied by √D."""
        as_linear(self.weight, self.bias, self.in_features, draw)
        self.weight.mul_(3**0.5 / self.scale)

    def forward(self, x_btf: Tensor) -> Tensor:
        """(B, T, num_features) → (B, T, D)."""
        x_btd = super().forward(x_btf)
        return x_btd if self.scale == 1 else x_btd * self.scale


def embedding_of(signature: Signature, d_model: int, scaled: bool) -> nn.Module:
    """The embedding of a task's tokens, or of its feature vectors."""
    if signature.vocab_size is not None:
        return TokenEmbedding(signature.vocab_size, d_model, scaled)
    if signature.num_features is not None:
        return FeatureEmbedding(signature.num_features, d_model, scaled)
    raise ValueError("a signature needs vocab_size (tokens) or num_features (vectors)")
