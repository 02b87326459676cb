"""Weightings turn scores into the weights of a mean over keys; logits and weights are (B, H, T_q, T_k)."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from ablate.base.registry import Stated, register
from ablate.components.sizes import Part


class Weighting(Part):
    """Base of all weightings: modules that turn logits into weights over the keys, both (B, H, T_q, T_k)."""

    fused: ClassVar[Annotated[bool, Stated("whether torch's fused softmax takes its place")]]
    "Whether it is the softmax: torch's fused kernel then computes it, and `forward` is not called."
    reads_scores: ClassVar[Annotated[bool, Stated("whether scores matter")]]
    "Whether scores matter; if not, attention has no queries."
    surrogate_gradient: ClassVar[str | None] = None
    "The weighting whose gradient it uses in place of its own."

    def forward(self, logits: Tensor) -> Tensor:
        """Returns weights that sum to 1 over the keys of each query, (B, H, T_q, T_k) → (B, H, T_q, T_k). Logits are −∞
        at masked keys, and at least one key of each query is not masked. Subclasses override this method, which raises
        `NotImplementedError` here.
        """
        raise NotImplementedError


@register("weighting", "softmax")
class Softmax(Weighting):
    """exp(a_j) / Σ_i exp(a_i) over the keys that are not masked (Vaswani et al. 2017, equation 1)."""

    fused = True
    reads_scores = True

    def forward(self, logits: Tensor) -> Tensor:
        return logits.softmax(-1)

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"exp": H · queries · keys}: one exponential for each pair of query and key, and head."""
        return {"exp": self.sizes.num_heads * queries * keys}


@register("weighting", "uniform")
class Uniform(Weighting):
    """1 / n over the n keys that are not masked: average pooling, whatever the scores."""

    fused = False
    reads_scores = False

    def forward(self, logits: Tensor) -> Tensor:
        open_bhqk = logits.isneginf().logical_not().to(logits.dtype)
        return open_bhqk / open_bhqk.sum(-1, keepdim=True)


@register("weighting", "hard")
class Hard(Softmax):
    """1 on the key of the highest score, the first of several equal ones, and 0 elsewhere: a look-up in a database.
    The gradient is that of the softmax.

    This surrogate gradient is the straight-through estimator (Bengio et al. 2013) as in Jang et al. 2017, section 2.2,
    without its noise.
    """

    fused = False
    reads_scores = True
    surrogate_gradient = "softmax"

    def forward(self, logits: Tensor) -> Tensor:
        soft = super().forward(logits)
        # The largest logit, since a softmax may round two of them together; `argmax` gives the first of equal ones.
        hard = torch.zeros_like(soft).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
        return hard + (soft - soft.detach())
