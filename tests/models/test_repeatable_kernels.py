"""Trials on CUDA allow repeatable kernels alone; no part may use an operation that has none there.

The operations are those that torch.use_deterministic_algorithms documents as raising an error.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.model import Model
from ablate.models.reference import places, section_with, signature_for

CATALOGUE.load_builtin()
SIGNATURE = Signature(seq_len=5, num_outputs=7, vocab_size=7)
UNREPEATABLE = {
    *("cumsum", "histc", "bincount", "median", "kthvalue", "put", "put_", "ctc_loss", "nll_loss2d_forward"),
    *("reflection_pad1d_backward", "upsample_linear1d_backward", "grid_sampler_2d_backward"),
    *("_adaptive_avg_pool2d_backward", "max_unpool2d", "embedding_bag"),
}


class Recorded(TorchDispatchMode):
    """The names of all operations, of the backward pass too."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(function.overloadpacket.__name__)
        return function(*args, **(kwargs or {}))


def models() -> Iterator[tuple[str, Model]]:
    for slot in places():
        for name in CATALOGUE.names(slot):
            for topology in ("encoder", "decoder") if slot in ("mixer", "position") else (None,):
                more = {} if topology is None else {"topology": topology}
                section = section_with(slot, name, d_model=8, **more)
                signature = signature_for(section, SIGNATURE)
                try:
                    yield f"{slot} {name} {topology or ''}", build_model(section, signature, device="meta")
                except Invalid:
                    continue


MODELS = dict(models())


@pytest.mark.parametrize("case", MODELS)
def test_cuda_can_repeat_every_operation(case):
    model = MODELS[case]
    tokens = torch.zeros(2, SIGNATURE.seq_len, dtype=torch.long, device="meta")
    with Recorded() as recorded:
        model(tokens, source=tokens if model.source_embedding is not None else None).sum().backward()
    assert "embedding" in recorded.names
    assert not recorded.names & UNREPEATABLE
