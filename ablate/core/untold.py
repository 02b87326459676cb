"""Differences between variants that may never reach the training code."""

from dataclasses import dataclass

from ablate.base.errors import Problem


@dataclass(frozen=True)
class Untold:
    """A difference between two variants, or a setting that a stage varies, that may never reach the training code."""

    problem: Problem
    """The mistake, with a hint. Its path is the key of the study that varies the setting; empty for variants."""
    is_certain: bool
    """True where no code can know of it, and the study is refused; else it is a note, which runs may contradict."""
    variants: tuple[str, str] | None = None
    """The variant that cannot be told apart, and the one that looks the same; None for a setting."""
