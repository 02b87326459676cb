"""Each score on one query and one key, read off its definition."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ablate.components.scores import Score


def _bilinear(score: Score, head: int, q: Tensor, k: Tensor) -> Tensor:
    pairs = [(i, j) for i in range(len(q)) for j in range(len(k))]
    return sum((q[i] * score.matrix[head, i, j] * k[j] for i, j in pairs), torch.zeros(()))


def _gaussian(score: Score, head: int, q: Tensor, k: Tensor) -> Tensor:
    sigma = score.sigma if score.log_sigma is None else score.log_sigma[head].exp().squeeze()
    return -0.5 * torch.linalg.vector_norm(q - k) ** 2 / sigma**2


def _cosine(score: Score, head: int, q: Tensor, k: Tensor) -> Tensor:
    return torch.cosine_similarity(q, k, dim=0) / score.log_temperature[head].exp().squeeze()


def _additive(score: Score, head: int, q: Tensor, k: Tensor) -> Tensor:
    hidden = torch.tanh(score.query[head].T @ q + score.key[head].T @ k)
    return torch.dot(score.weight[head, :, 0], hidden)


FORMULAS: dict[str, Callable[[Score, int, Tensor, Tensor], Tensor]] = {
    "dot": lambda score, head, q, k: torch.dot(q, k),
    "scaled_dot": lambda score, head, q, k: torch.dot(q, k) / math.sqrt(len(k)),
    "bilinear": _bilinear,
    "gaussian": _gaussian,
    "cosine": _cosine,
    "additive": _additive,
}
"""By name: (score, head, q (d_q), k (d_k)) → the score."""
