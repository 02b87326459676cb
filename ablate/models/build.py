"""From a study's `model:` section to a model."""

from __future__ import annotations

import torch

from ablate.core.signature import Signature
from ablate.models.initialise import initialise, materialise
from ablate.models.model import Model
from ablate.models.section import ModelSection


def build_model(
    section: ModelSection,
    signature: Signature,
    *,
    seed: int = 0,
    stream: str = "",
    device: str | torch.device = "cpu",
) -> Model:
    """The model of `section` for tasks of `signature`, with the initial values of `seed`.

    `stream` names other initialisation and dropout streams under the same seed (a placebo). On the meta
    device the model has shapes and no values. Initial values do not depend on the device, and nothing is
    drawn from torch's global generator.

    Raises `Invalid` with all size rules that fail, with paths from the section.
    """
    device = torch.device(device)
    with torch.device("meta"):
        model = Model(section, signature, seed, stream)
    if device.type == "meta":
        return model
    materialise(model)
    initialise(model, seed, stream)
    model.to(device)
    model.start_step(0)
    return model
