"""The whole model: inputs → embedding → stack → logits."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ablate.components.dropout import Dropout
from ablate.components.initial import Draw
from ablate.components.sizes import Sizes
from ablate.errors import Gather
from ablate.models import parameters
from ablate.signature import Signature
from ablate.streams import stream_seed
from ablate.study.sections.model import ModelSection


class TokenEmbedding(nn.Module):
    """One learned vector per token: (B, T) → (B, T, D)."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))

    def initialise(self, draw: Draw) -> None:
        """N(0, 1/D): vectors of unit length."""
        self.weight.normal_(std=self.weight.shape[1] ** -0.5, generator=draw("weight"))

    def forward(self, tokens_bt: Tensor) -> Tensor:
        """(B, T) → (B, T, D)."""
        return nn.functional.embedding(tokens_bt, self.weight)


class Model(nn.Module):
    """A sequence model as a study's `model:` section describes it; made by `build_model`.

    `seed` and `stream` name its dropout streams.
    """

    def __init__(self, section: ModelSection, signature: Signature, seed: int = 0, stream: str = "") -> None:
        super().__init__()
        self.seed, self.stream, self.readout = seed, stream, signature.readout
        d_model = section.d_model
        sizes = Sizes(d_model=d_model, max_len=signature.seq_len, dropout=section.dropout.model_dump())
        self.embedding = _embedding(signature, d_model)
        with Gather() as at:
            with at("position"):
                self.position = section.position.build(sizes)
            with at():
                self.stack = section.topology.build(sizes, section)
        self.embedding_dropout = Dropout(section.dropout.embedding)
        self.output = nn.Linear(d_model, signature.num_outputs)
        self._sites = {
            path: module
            for path, module in self.named_modules()
            if isinstance(module, Dropout) and module.rate > 0
        }

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Logits (B, num_outputs), or (B, T, num_outputs) where the task reads every position.

        `inputs` are tokens (B, T) or vectors (B, T, num_features); `mask` is boolean, broadcastable to
        (B, 1, T_q, T_k), True where a query may attend.
        """
        x_btd = self.embedding_dropout(self.position.embed(self.embedding(inputs)))
        x_btd = self.stack(x_btd, self.position, mask)
        if self.readout == "last":
            return self.output(x_btd[:, -1])
        if self.readout == "mean":
            return self.output(x_btd.mean(1))
        return self.output(x_btd)

    def start_step(self, step: int) -> None:
        """Seeds every dropout site for `step`; call it before the forward pass of each training step."""
        for path, site in self._sites.items():
            site.reseed(stream_seed(self.seed, "dropout", self.stream, path, step), self.device)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.output.weight.device

    def parameters_by_part(self) -> dict[str, int]:
        """Number of trainable parameters by part; the counts sum to the total."""
        return parameters.parameters_by_part(self)


def _embedding(signature: Signature, d_model: int) -> nn.Module:
    if signature.vocab_size is not None:
        return TokenEmbedding(signature.vocab_size, d_model)
    if signature.num_features is not None:
        return nn.Linear(signature.num_features, d_model)
    raise ValueError("a signature needs vocab_size (tokens) or num_features (vectors)")
