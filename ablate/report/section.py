"""What a report is made of: sections, each of which turns the material of a study into blocks.

A section is a subclass of `Section` in a file of its own under `report/sections/`, found by package scan. Page,
markdown and terminal know blocks, and nothing of what is in them. Modules of sections import pandas, matplotlib and
seaborn inside their functions: a run that finds everything done prints its verdicts without them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ablate.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ablate.core.evidence import Evidence
    from ablate.core.facts import Facts
    from ablate.core.search_table import SearchTable
    from ablate.records.evaluated import Evaluated


@dataclass(frozen=True)
class Material:
    """Everything that a report is made from; nothing here was written for a report."""

    evidence: Evidence
    comparisons: pd.DataFrame
    "What `analysis.compare` makes of the evidence."
    claims: pd.DataFrame
    "What `analysis.claims` makes of it."
    evaluated: Evaluated | None = None
    "What was found of kept weights, as far as it belongs to the trials of the study."
    left_out: str = ""
    "Which evaluations do not belong to them, and why, in a sentence."
    searched: SearchTable | None = None
    "The settings that were tried, by a sweep or to tune the variants: `evidence.facts.searched` says which."
    importances: pd.DataFrame | None = None
    "Of the searched paths of a sweep; None where they were not computed."
    untuned: Evidence | None = None
    "Of a tuned study: its variants as the study gives them; None where they were not run."
    untuned_comparisons: pd.DataFrame | None = None

    @property
    def facts(self) -> Facts:
        """What is known of the study beside its frames."""
        return self.evidence.facts


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    words: str
    aside: bool = False
    "An explanation, shown smaller."


@dataclass(frozen=True)
class Sentences:
    """A list of findings."""

    items: Sequence[str]


@dataclass(frozen=True)
class Terms:
    """Terms with their descriptions."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Picture:
    """One figure: its data, and how they are drawn."""

    name: str
    "Of its files: `figures/<name>.png` and `.svg`."
    title: str
    caption: str
    alt: str
    data: pd.DataFrame
    draw: Callable[[], Figure]
    "Draws the data; called inside `draw.style.context()`."


@dataclass(frozen=True)
class Folded:
    """Blocks that a reader opens."""

    title: str
    blocks: Sequence[Block]


Block = Text | Sentences | Terms | Table | Picture | Folded


class Section:
    """One section of a report. Subclasses are found by package scan and used through one instance."""

    place: ClassVar[int]
    "Sections stand in the order of their places; those of the package leave room between them."
    title: ClassVar[str]

    @property
    def name(self) -> str:
        """Of its heading in the page: the name of its module."""
        return type(self).__module__.rpartition(".")[2]

    def applies(self, material: Material) -> bool:
        """Whether a study has anything for it."""
        return True

    def heading(self, material: Material) -> str:
        """What stands over it."""
        return self.title

    def blocks(self, material: Material) -> list[Block]:
        """What it shows, in order."""
        raise NotImplementedError


@dataclass(frozen=True)
class Shown:
    """A section of one report, with what it shows."""

    section: Section
    heading: str
    blocks: list[Block] = field(default_factory=list)


def sections() -> list[Section]:
    """All sections, in order of their places."""
    import ablate.report.sections as package

    for info in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{info.name}")
    return sorted((kind() for kind in Section.__subclasses__()), key=lambda section: section.place)


def shown(material: Material) -> list[Shown]:
    """The sections that apply to a study, with their blocks."""
    return [
        Shown(section, section.heading(material), section.blocks(material))
        for section in sections()
        if section.applies(material)
    ]
