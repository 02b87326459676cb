"""Each score by its definition: (score, q (B, H, T_q, d_q), k (B, H, T_k, d_k)) → (B, H, T_q, T_k)."""

import math

import torch
from torch import Tensor

from ablate.components.scores import Score


def _gaussian(score: Score, q: Tensor, k: Tensor) -> Tensor:
    sigma = score.sigma if score.log_sigma is None else score.log_sigma.exp()
    return -0.5 * ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1) / sigma**2


def _additive(score: Score, q: Tensor, k: Tensor) -> Tensor:
    hidden = torch.tanh((q @ score.query)[..., :, None, :] + (k @ score.key)[..., None, :, :])
    return torch.einsum("bhijn,hn->bhij", hidden, score.weight[..., 0])


FORMULAS = {
    "dot": lambda score, q, k: torch.einsum("bhid,bhjd->bhij", q, k),
    "scaled_dot": lambda score, q, k: torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(k.shape[-1]),
    "bilinear": lambda score, q, k: torch.einsum("bhid,hde,bhje->bhij", q, score.matrix, k),
    "gaussian": _gaussian,
    "cosine": lambda score, q, k: (
        torch.cosine_similarity(q[..., :, None, :], k[..., None, :, :], -1) / score.log_temperature.exp()
    ),
    "additive": _additive,
}
