"""Notes on what the source of a program shows, which its runs may contradict."""

from dataclasses import dataclass
from typing import Literal

About = Literal["seeds", "settings"]
"""What has no effect by a note: the seeds of trials, or settings of a study."""


@dataclass(frozen=True)
class CodeNote:
    """A note on the source of a program: a sign that seeds or settings have no effect."""

    text: str
    """A sentence without its full stop."""
    about: About
    settings: tuple[str, ...] = ()
    """The paths that have no effect; empty of seeds."""
