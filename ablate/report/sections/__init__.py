"""The sections of a report, a file each, in the order in which a page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ablate.report.section import Block, Picture, ReportData, Section, applying, failed, unfolded
from ablate.report.sections.conditions import Trend
from ablate.report.sections.cost import Cost
from ablate.report.sections.curves import Curves
from ablate.report.sections.differences import Forest, Seeds
from ablate.report.sections.headline import Basis, Headline
from ablate.report.sections.interaction import Interaction
from ablate.report.sections.kept_weights import Attention, KeptWeights
from ablate.report.sections.matched import Matched
from ablate.report.sections.rates import Rates
from ablate.report.sections.runs import Compared, Incidents, Notes, Provenance
from ablate.report.sections.speed import Scaling, Speed
from ablate.report.sections.sweep import Sweep, SweepFigures
from ablate.report.sections.tuning import Tuning
from ablate.report.sections.verdicts import Claims, Comparisons, Stability, Verdicts
from ablate.report.words import Table

_VERDICTS: tuple[Section, ...] = (Forest(), Verdicts())
_OTHERS: tuple[Section, ...] = (
    Sweep(),
    Trend(),
    Interaction(),
    Claims(),
    Notes(),
    Speed(),
    Scaling(),
    Stability(),
    Rates(),
    KeptWeights(),
    Tuning(),
    SweepFigures(),
    Seeds(),
    Cost(),
    Curves(),
    Attention(),
    Incidents(),
    Matched(),
    Compared(),
    Comparisons(),
    Provenance(),
)
HEADLINE = Headline((*_VERDICTS, *_OTHERS))
SECTIONS: tuple[Section, ...] = (HEADLINE, *_VERDICTS, Basis((*_VERDICTS, *_OTHERS)), *_OTHERS)


@dataclass(frozen=True)
class Shown:
    """A section of one report, with its content."""

    section: Section
    blocks: list[Block]
    inside: str
    accent: str
    open: bool
    brief: bool
    """Whether `report.md` has it."""

    @property
    def pictures(self) -> list[Picture]:
        """The figures of the section."""
        return [block for block in unfolded(self.blocks) if isinstance(block, Picture)]

    @property
    def sources(self) -> list[str]:
        """The files that hold the numbers of its tables."""
        tables = [block for block in unfolded(self.blocks) if isinstance(block, Table)]
        return list(dict.fromkeys(table.source for table in tables if table.source))


def shown(report_data: ReportData) -> list[Shown]:
    """Returns the sections that apply to a study and have anything to show; one that fails says so."""
    found: list[Shown] = []
    for section in applying(SECTIONS, report_data):
        accent = ""
        try:
            blocks = list(section.blocks(report_data)) if section.applies(report_data) else []
            accent = section.accent(report_data)
        except Exception as error:
            blocks = [failed(f"The section “{section.title}”", error)]
        if blocks:
            is_open = section.is_open(report_data) or bool(accent) or report_data.evidence.only_measured
            is_brief = is_open or section.brief
            found.append(Shown(section, blocks, section.inside_of(report_data), accent, is_open, is_brief))
    return found


def pictures(sections: Sequence[Shown]) -> list[Picture]:
    """Returns all figures of a report."""
    found: list[Picture] = []
    for section in sections:
        found += section.pictures
    return found
