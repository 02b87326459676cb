"""Inputs as vectors of unit variance, which is the scale that every addition to them begins with too."""

import torch
from torch import Tensor, nn

from ablate.components.initial import Draw, as_linear
from ablate.core.signature import Signature


class TokenEmbedding(nn.Module):
    """One learned vector per token: (B, T) → (B, T, D); with `scaled`, the weights begin √D times smaller and the
    vectors are multiplied by √D.
    """

    def __init__(self, vocab_size: int, d_model: int, scaled: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.scale = d_model**0.5 if scaled else 1.0

    def initialise(self, draw: Draw) -> None:
        """Fills the weight in place with normal values of variance 1, or of 1/D with `scaled`."""
        self.weight.normal_(generator=draw("weight")).div_(self.scale)

    def forward(self, tokens_bt: Tensor) -> Tensor:
        """Returns the vectors (B, T, D) of tokens (B, T)."""
        x_btd = nn.functional.embedding(tokens_bt, self.weight)
        return x_btd if self.scale == 1 else x_btd * self.scale


class FeatureEmbedding(nn.Linear):
    """A linear map of each feature vector: (B, T, num_features) → (B, T, D); with `scaled`, the map begins √D times
    smaller and its outputs are multiplied by √D.
    """

    def __init__(self, num_features: int, d_model: int, scaled: bool = False) -> None:
        super().__init__(num_features, d_model)
        self.scale = d_model**0.5 if scaled else 1.0

    def initialise(self, draw: Draw) -> None:
        """Fills weight and bias in place, so that features of variance 1 become vectors of variance 1 or,
        with `scaled`, of 1/D.

        These are multiplied by √D later. The bias is 0.
        """
        as_linear(self.weight, self.bias, self.in_features, draw)
        self.weight.mul_(3**0.5 / self.scale)

    def forward(self, x_btf: Tensor) -> Tensor:
        """Returns the vectors (B, T, D) of features (B, T, num_features)."""
        x_btd = super().forward(x_btf)
        return x_btd if self.scale == 1 else x_btd * self.scale


def embedding_of(signature: Signature, d_model: int, scaled: bool) -> nn.Module:
    """Returns a new embedding: of tokens where the signature has `vocab_size`, else of feature vectors. Raises
    `ValueError` for a signature with neither `vocab_size` nor `num_features`.
    """
    if signature.vocab_size is not None:
        return TokenEmbedding(signature.vocab_size, d_model, scaled)
    if signature.num_features is not None:
        return FeatureEmbedding(signature.num_features, d_model, scaled)
    raise ValueError("a signature needs vocab_size (tokens) or num_features (vectors)")
