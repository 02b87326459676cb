"""A run that trained for another length than the others of its variant, as a value that tables store."""

from dataclasses import dataclass


@dataclass(frozen=True)
class UnequalRun:
    """A run that ended before the others of its variant, or after them; cells hold lists of them (`core.rows`)."""

    variant: str
    seed: int
    counted: str
    """What its length is counted in: `step`, `epochs_trained`."""
    reached: float
    usual: float
    """How far the others of its variant came, or most runs of other variants."""

    @property
    def ended_early(self) -> bool:
        """Whether it ended before the others."""
        return self.reached < self.usual
