"""Named random streams derived from a seed.

Every draw of the harness comes from a generator that belongs to one purpose: the initial values of one parameter, the
training data, one dropout site at one step. Two variants under one seed therefore share the random numbers of
everything that they have in common, whatever else differs between them: common random numbers, which make paired
differences vary less than independent ones (Law, Simulation Modeling and Analysis, section on variance reduction).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def stream_seed(seed: int, *names: str | int) -> int:
    """Returns a 63-bit seed for the stream `names` of `seed`; different names give independent streams."""
    text = "\x1f".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def numpy_stream(seed: int, *names: str | int) -> np.random.Generator:
    """Returns a numpy generator for the stream `names` of `seed`."""
    return np.random.default_rng(stream_seed(seed, *names))


def torch_stream(seed: int, *names: str | int) -> torch.Generator:
    """Returns a torch generator, on the CPU, for the stream `names` of `seed`."""
    import torch

    return torch.Generator().manual_seed(stream_seed(seed, *names))
