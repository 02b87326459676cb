"""The size of a model as far as its workload describes it."""

from __future__ import annotations

from ablate.core.metric import Description, size_of


def known_parameters(description: Description) -> int | None:
    """Returns the number of trainable parameters; None of code that does not say how large its models are."""
    return description.parameters if description.parameters_by_part else None


def known_size(description: Description | None) -> dict[str, int | None]:
    """Returns the numbers of parameters and FLOPs of a model by name, as records keep them; None of what is unknown."""
    size = size_of(description)
    if description is not None:
        size["parameters"] = known_parameters(description)
    return size
