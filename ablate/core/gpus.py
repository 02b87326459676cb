"""The number of GPUs that a trial takes."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError


def _shared_or_whole(gpus: float) -> float:
    """Returns a number of GPUs; refuses a part of a second one."""
    if gpus > 1 and not gpus.is_integer():
        raise PydanticCustomError(
            "rule",
            "must be a share of one GPU, or a whole number of them",
            {"allowed": "such as 0.5, 1 or 2"},
        )
    return gpus


Gpus = Annotated[float, Field(gt=0, le=1024), AfterValidator(_shared_or_whole)]
