"""Scores a(q, k): how well each key answers each query, before the softmax.

Shapes: B batch, H heads, T positions, n hidden width; q (B, H, T_q, d_q), k (B, H, T_k, d_k), logits
(B, H, T_q, T_k). Only a score that joins widths has d_q ≠ d_k.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.base.errors import AblateError
from ablate.base.registry import OnOff, PartConfig, Stated, register
from ablate.components.initial import Draw, fan_in_uniform
from ablate.components.sizes import Part, Sizes

# Largest number of values of the additive score's hidden layer in memory at once; one query may need more.
HIDDEN_NUMBERS = 2**20
SMALLEST_TEMPERATURE = 0.01


class Score(Part):
    """Base of all scores; a subclass overrides `inner` if its score is an inner product, else `logits`."""

    joins_widths: ClassVar[Annotated[bool, Stated("whether queries and keys may differ in width")]]
    "Whether queries and keys may have different widths."

    def __init_subclass__(cls) -> None:
        """Raises `AblateError` for a subclass that overrides `logits` and inherits an `inner` other than that of
        `Score`: the fused kernel calls `inner` alone.

        Such a score would compute one thing with the kernel and another without.
        """
        super().__init_subclass__()
        for base in cls.__bases__:
            if not issubclass(base, Score) or base.inner is Score.inner:
                continue
            if cls.inner is base.inner and cls.logits is not base.logits:
                raise AblateError(
                    f"score {cls.__name__} overrides `logits` and inherits `inner` of {base.__name__}, which the fused "
                    "kernel computes in its place; define `inner` too: it returns None where there is no such form"
                )

    def inner(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, float] | None:
        """Returns q′ (B, H, T_q, n), k′ (B, H, T_k, n) and a number, for a fused softmax of number · q′ᵀk′ over the
        keys; None, as here, for a score that is not an inner product.

        A term that all keys of a query share may be left out, as a softmax does not see it; a score that has
        one overrides `logits` too.
        """
        return None

    def logits(self, q: Tensor, k: Tensor) -> Tensor:
        """Returns the score of every query with every key, (B, H, T_q, T_k), from `inner`; raises `NotImplementedError`
        where `inner` returns None.

        No term is left out, as `inner` may do.
        """
        inner = self.inner(q, k)
        if inner is None:
            raise NotImplementedError(f"{type(self).__name__} must define `inner` or `logits`")
        q, k, scale = inner
        return (q * scale) @ k.transpose(-2, -1)


@register("score", "dot")
class Dot(Score):
    """qᵀk (Luong et al. 2015, "dot").

    q and k (B, H, T, d_k) → (B, H, T_q, T_k), at d_k multiply-adds for each pair. For unit-variance entries its
    variance is d_k.
    """

    joins_widths = False
    begins_unlike = "its logits vary √d_k times as much, which is what scaling removes"

    def inner(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, float]:
        """Returns q, k and 1.0: the logits are qᵀk."""
        return q, k, 1.0


@register("score", "scaled_dot")
class ScaledDot(Score):
    """qᵀk / √d_k (Vaswani et al. 2017, equation 1).

    q and k (B, H, T, d_k) → (B, H, T_q, T_k), at d_k multiply-adds for each pair. For unit-variance entries its
    variance is 1.
    """

    joins_widths = False

    def inner(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, float]:
        """Returns q, k and 1/√d_k: the logits are qᵀk / √d_k."""
        return q, k, q.shape[-1] ** -0.5


@register("score", "bilinear")
class Bilinear(Score):
    """qᵀ M k with M ∈ R^{d_q×d_k} for each head (Luong et al. 2015, "general").

    q (B, H, T_q, d_q) and k (B, H, T_k, d_k) → (B, H, T_q, T_k), at d_k multiply-adds for each pair and d_q · d_k
    for each query.
    """

    joins_widths = True

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.matrix = nn.Parameter(torch.empty(sizes.num_heads, sizes.d_q, sizes.d_k))

    def initialise(self, draw: Draw) -> None:
        """Fills M from the normal distribution of variance 1/(d_q d_k): for q and k of unit variance the score's
        variance is 1, as in `scaled_dot`.
        """
        _, d_q, d_k = self.matrix.shape
        self.matrix.normal_(std=(d_q * d_k) ** -0.5, generator=draw("matrix"))

    def inner(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, float]:
        """Returns Mᵀq, (B, H, T_q, d_k), k and 1.0: the logits are qᵀMk."""
        return q @ self.matrix, k, 1.0


@register("score", "gaussian")
class Gaussian(Score):
    """−½‖q − k‖² / σ²: under a softmax, the Nadaraya–Watson estimate with a Gaussian kernel (Watson 1964).

    q and k (B, H, T, d_k) → (B, H, T_q, T_k), at d_k + 1 multiply-adds for each pair.
    """

    joins_widths = False

    class Config(PartConfig):
        sigma: Annotated[float, Field(ge=0.001)] | None = None
        """σ, the kernel's width, at least 0.001; when not given d_k^¼, so that qᵀk is scaled as in `scaled_dot`:
        σ² = √d_k."""
        learned: OnOff = False
        "Whether each head learns its own σ, initially `sigma`."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.sigma = config.sigma or sizes.d_k**0.25
        self.log_sigma = nn.Parameter(torch.empty(sizes.num_heads, 1, 1)) if config.learned else None

    def initialise(self, draw: Draw) -> None:
        """Fills every head's log σ with the logarithm of the initial σ; does nothing where σ is not learned."""
        if self.log_sigma is not None:
            self.log_sigma.fill_(math.log(self.sigma))

    def inner(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, float]:
        """Returns [q, 1], [k, −½‖k‖²], both of width d_k + 1, and 1/σ²; where σ is learned, [q, 1]/σ², [k, −½‖k‖²]
        and 1.0. The term −½‖q‖² / σ², which all keys share, is left out.
        """
        q_one = torch.cat([q, torch.ones_like(q[..., :1])], -1)
        k_square = torch.cat([k, -_half_square(k)], -1)
        if self.log_sigma is None:
            return q_one, k_square, self.sigma**-2
        return q_one * (-2 * self.log_sigma).exp(), k_square, 1.0

    def logits(self, q: Tensor, k: Tensor) -> Tensor:
        """Returns −½‖q − k‖² / σ² of every query and key, (B, H, T_q, T_k)."""
        q_one, k_square, scale = self.inner(q, k)
        shared = _half_square(q) * q_one[..., -1:] * scale
        return (q_one * scale) @ k_square.transpose(-2, -1) - shared

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"square": H · (queries + keys) · d_k}, how many numbers are squared, and also "exp": H where σ is
        learned.

        Those of queries are counted too, which a softmax does not need.
        """
        counts = {"square": self.sizes.num_heads * (queries + keys) * self.sizes.d_k}
        if self.log_sigma is not None:
            counts["exp"] = self.log_sigma.numel()
        return counts


def _half_square(x: Tensor) -> Tensor:
    """Returns ½‖x‖² over the last axis, (…, d) → (…, 1)."""
    return 0.5 * x.square().sum(-1, keepdim=True)


@register("score", "cosine")
class Cosine(Score):
    """cos(q, k) / τ with a learned τ ≥ 0.01 for each head (Liu et al. 2022, "Swin Transformer V2", equation 2).

    Henry et al. 2020 ("Query-Key Normalization") is the same with one factor 1/τ for all heads. q and k
    (B, H, T, d_k) → (B, H, T_q, T_k), at d_k multiply-adds for each pair.
    """

    joins_widths = False

    class Config(PartConfig):
        temperature: Annotated[float, Field(ge=SMALLEST_TEMPERATURE)] | None = None
        """Initial τ of every head, at least 0.01; when not given √(3 / d_k), so that logits begin as those of
        `scaled_dot` for q and k of variance 1/√3, between 1 and the 1/3 that projections begin with."""

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.temperature = config.temperature or (3 / sizes.d_k) ** 0.5
        self.log_temperature = nn.Parameter(torch.empty(sizes.num_heads, 1, 1))

    def initialise(self, draw: Draw) -> None:
        """Fills every head's log τ with the logarithm of the initial τ."""
        self.log_temperature.fill_(math.log(self.temperature))

    def inner(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, float]:
        """Returns q / (τ‖q‖), k / ‖k‖ and 1.0: the logits are the cosine / τ; a τ below 0.01 counts as 0.01."""
        log_temperature = self.log_temperature.clamp(min=math.log(SMALLEST_TEMPERATURE))
        scaled_q = F.normalize(q, dim=-1) * (-log_temperature).exp()
        return scaled_q, F.normalize(k, dim=-1), 1.0

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"norm": H · (queries + keys) · d_k, "exp": H}: how many numbers are normalised, and how many τ are
        computed by an exponential.
        """
        normalised = self.sizes.num_heads * (queries + keys) * self.sizes.d_k
        return {"norm": normalised, "exp": self.log_temperature.numel()}


@register("score", "additive")
class Additive(Score):
    """w_vᵀ tanh(W_q q + W_k k), without bias (Bahdanau et al. 2015, appendix A.1.2).

    q (B, H, T_q, d_q) and k (B, H, T_k, d_k) → (B, H, T_q, T_k); each head has its own W_q (d_q × hidden),
    W_k (d_k × hidden) and w_v. Every pair costs `hidden` additions, tanh and multiply-adds, and those again in the
    backward pass: the hidden layer is never stored for all pairs, so that memory grows as that of the logits.
    """

    joins_widths = True

    class Config(PartConfig):
        hidden: PositiveInt | None = None
        "Width of the hidden layer; d_k when not given."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        hidden = config.hidden or sizes.d_k
        self.query = nn.Parameter(torch.empty(sizes.num_heads, sizes.d_q, hidden))
        self.key = nn.Parameter(torch.empty(sizes.num_heads, sizes.d_k, hidden))
        self.weight = nn.Parameter(torch.empty(sizes.num_heads, hidden, 1))

    def initialise(self, draw: Draw) -> None:
        """Fills W_q, W_k and w_v from U(−2√3/√n, 2√3/√n), n the number of inputs of the map: a variance of 4/n.

        As plain linear maps, of a variance of 1/(3n), they leave tanh nearly linear. Query and key then add up
        without interacting, and what a query adds to all of its keys cancels in the softmax.
        """
        for name, parameter in self.named_parameters(recurse=False):
            fan_in_uniform(parameter, parameter.shape[1], draw(name))
            parameter.mul_(2 * 3**0.5)

    def logits(self, q: Tensor, k: Tensor) -> Tensor:
        """Returns the score of every query with every key, (B, H, T_q, T_k)."""
        query_map = self.query.transpose(-2, -1)
        key_map = self.key.transpose(-2, -1)
        weight = self.weight.transpose(-2, -1)
        query_terms = query_map @ q.transpose(-2, -1)
        key_terms = key_map @ k.transpose(-2, -1)
        return _AdditiveLogits.apply(query_terms, key_terms, weight)

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"tanh": H · hidden · queries · keys}: the hidden units of each pair and head."""
        return {"tanh": self.weight.numel() * queries * keys}


class _AdditiveLogits(torch.autograd.Function):
    """The logits w tanh(a_i + b_j), (B, H, T_q, T_k), of a (B, H, n, T_q), b (B, H, n, T_k) and w (H, 1, n), and
    their gradients.

    Computes the hidden layer for a few queries at a time, and again in the backward pass. Results are written into
    preallocated tensors: small tensors that are allocated between large temporary ones fragment the memory, so that
    the allocator cannot reuse that of the large ones.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(a: Tensor, b: Tensor, w: Tensor) -> Tensor:
        """Returns w tanh(a_i + b_j), (B, H, T_q, T_k), for each query i, a column of a (B, H, n, T_q), and each key j,
        a column of b (B, H, n, T_k); w is (H, 1, n).
        """
        logits = _zeros((*a.shape[:2], a.shape[3], b.shape[3]), a, b, w)
        for queries in _groups_of_queries(a, b):
            group = w @ _hidden(a[..., queries], b).flatten(3)
            logits[:, :, queries] = group.view_as(logits[:, :, queries])
        return logits

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        """Keeps a, b and w in `ctx` for the backward pass."""
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the gradients of a, b and w, each in the shape of its tensor, from the gradient of the logits,
        (B, H, T_q, T_k).
        """
        a, b, w = ctx.saved_tensors
        grad_a = _zeros(a.shape, a, b, w, grad)
        grad_b = _zeros(b.shape, a, b, w, grad)
        grad_w = _zeros(w.shape, a, b, w, grad)
        for queries in _groups_of_queries(a, b):
            hidden = _hidden(a[..., queries], b)
            group_grad = grad[:, :, queries].unsqueeze(2)
            grad_w += (group_grad.flatten(3) @ hidden.flatten(3).transpose(-2, -1)).sum(0)
            slope = torch.ops.aten.tanh_backward(
                group_grad, hidden
            )  # (1 − hidden²) · group_grad, in one pass
            grad_a[..., queries] = slope.sum(4)
            grad_b += slope.sum(3)
        w = w.transpose(-2, -1)
        return grad_a * w, grad_b * w, grad_w


def _groups_of_queries(a: Tensor, b: Tensor) -> list[slice]:
    """Returns slices that cut the T_q queries of `a` into groups. A query has B · H · n · T_k numbers in the hidden
    layer; a group has at most `HIDDEN_NUMBERS` such numbers, or else a single query.
    """
    size = max(1, HIDDEN_NUMBERS // max(1, b.numel()))
    return [slice(start, start + size) for start in range(0, a.shape[3], size)]


def _hidden(a: Tensor, b: Tensor) -> Tensor:
    """Returns tanh(a_i + b_j) of all pairs: a (B, H, n, T_q), b (B, H, n, T_k) → (B, H, n, T_q, T_k)."""
    return (a.unsqueeze(4) + b.unsqueeze(3)).tanh_()


def _zeros(shape: tuple[int, ...], *sources: Tensor) -> Tensor:
    """Returns zeros of `shape` to write into, on the device of `sources`; under `torch.func.vmap` the zeros are batched
    where any of `sources` is batched.
    """
    return torch.stack([source.new_zeros(()) for source in sources]).sum().new_zeros(shape)
