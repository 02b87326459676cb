"""The contract of a report: sections, each of which turns the data of a study into blocks.

A section is a subclass of `Section` in a file under `report/sections/`, named in the tuple there. Page and markdown
know blocks, and nothing of what is in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ablate.base.errors import described
from ablate.base.text import DEFAULT_RESULTS
from ablate.core.facts import Evidence, frame_of
from ablate.core.other_looks import OtherRuns
from ablate.report.words import Table, message

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ablate.core.facts import StudyFacts, TaskFacts
    from ablate.records.evaluated import Evaluated


@dataclass(frozen=True, eq=False)
class ReportData:
    """Everything that a report is made from; nothing here was written for a report.

    - comparisons, claims: what `analysis.compare` and `analysis.claims` make of the evidence.
    - evaluated: what kept weights show.
    - tables: name → what `analysis.stability` and `analysis.speed_tables` make of the evidence.
    - results: the results folder, in which the records of trials are kept.
    - other_runs: other runs of the variants, which are not counted.
    - dated: ISO 8601 date and time of the first plan of the study; empty where none was kept.
    """

    evidence: Evidence
    comparisons: pd.DataFrame
    claims: pd.DataFrame
    evaluated: Evaluated | None = None
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    results: Path = DEFAULT_RESULTS
    other_runs: OtherRuns = field(default_factory=OtherRuns)
    dated: str = ""

    def table(self, name: str) -> pd.DataFrame:
        """Returns one of the tables; without rows where there is none."""
        return self.tables[name] if name in self.tables else frame_of((), ())

    @property
    def facts(self) -> StudyFacts:
        """The facts of the study beside its frames."""
        return self.evidence.facts


@dataclass(frozen=True)
class Text:
    """A paragraph; an `aside` is an explanation, shown smaller, a `fault` what could not be drawn: a warning too."""

    words: str
    aside: bool = False
    fault: bool = False


@dataclass(frozen=True)
class Items:
    """A list. `lead`: paragraphs in large letters; `findings`: what comes before a colon is emphasised."""

    items: Sequence[str]
    look: str = "ul"


@dataclass(frozen=True)
class Terms:
    """Terms with their descriptions; a term that is a verdict has its mark."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Picture:
    """One figure: its data, and the function that draws them with the `options`, inside `figures.theme.theme()`.

    Its file is `figures/<name>.svg`; the title is shown where it differs from the heading of the section.
    """

    name: str
    title: str
    caption: str
    alt: str
    data: pd.DataFrame
    drawing: Callable[..., Figure]
    options: Sequence[Any] = ()

    def draw(self) -> Figure:
        """Returns the figure."""
        return self.drawing(self.data, *self.options)


@dataclass(frozen=True)
class Folded:
    """Blocks that a reader opens; on paper they are open."""

    title: str
    blocks: Sequence[Block]


def failed(what: str, error: Exception) -> Text:
    """Returns a paragraph on what could not be drawn, and why."""
    return Text(message("page.failed", what, described(error)[0]), aside=True, fault=True)


Block = Text | Items | Terms | Table | Picture | Folded


class Section:
    """One section of a report, of which `report/sections/__init__.py` has an instance. Its `class` statement says:

    - open: whether its content is seen at once; of the others the heading unfolds, with `inside`, a few words on what
      a reader finds.
    - brief: whether `report.md` has it too: by default, where it is open.
    - needs_trials: whether it has nothing to say of a study that was timed and never trained.
    """

    title: ClassVar[str]
    inside: ClassVar[str]
    open: ClassVar[bool]
    brief: ClassVar[bool]
    needs_trials: ClassVar[bool]

    def __init_subclass__(
        cls,
        *,
        title: str,
        inside: str = "",
        open: bool = False,
        brief: bool = False,
        needs_trials: bool = True,
    ) -> None:
        cls.title = title
        cls.inside = inside
        cls.open = open
        cls.brief = brief
        cls.needs_trials = needs_trials

    @property
    def name(self) -> str:
        """Identifies its heading in the page: the name of its class."""
        return re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()

    def applies(self, report_data: ReportData) -> bool:
        """Returns whether a study has anything for it."""
        return True

    def accent(self, report_data: ReportData) -> str:
        """Returns the colour of `figures.theme.PALETTE` that makes it stand out from the others; none by default."""
        return ""

    def blocks(self, report_data: ReportData) -> Iterable[Block]:
        """Returns its content, in order."""
        raise NotImplementedError

    def is_open(self, report_data: ReportData) -> bool:
        """Returns whether its content is seen at once: by default, as its `class` statement says."""
        return self.open

    def inside_of(self, report_data: ReportData) -> str:
        """Returns a few words on what unfolds, beside the heading."""
        return self.inside

    def answers(self, report_data: ReportData) -> list[str]:
        """Returns sentences for the answer to the question, which page, terminal and MLflow show first."""
        return []

    def warnings(self, report_data: ReportData) -> list[str]:
        """Returns sentences on what a reader must know of the verdicts, shown below the answer."""
        return []

    def findings(self, report_data: ReportData) -> list[str]:
        """Returns sentences on what the verdicts rest on, folded below the table of verdicts."""
        return []


def unfolded(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yields the blocks, those of folded blocks in place of these."""
    for block in blocks:
        if isinstance(block, Folded):
            yield from unfolded(block.blocks)
        else:
            yield block


def applying(sections: Iterable[Section], report_data: ReportData) -> list[Section]:
    """Returns the sections that a study of this kind can have: of one that was only timed, those without trials."""
    timed = report_data.evidence.only_measured
    return [section for section in sections if not (timed and section.needs_trials)]


def by_task(facts: StudyFacts) -> list[tuple[TaskFacts, str, str]]:
    """Returns each task with the end of the names of its pictures, and of their titles: empty for the only task."""
    if len(facts.tasks) == 1:
        return [(facts.tasks[0], "", "")]
    named = []
    for place, task in enumerate(facts.tasks, start=1):
        named.append((task, f"-{place}-{slug(task.name)}", f" on {task.name}"))
    return named


def slug(name: str) -> str:
    """Returns a name as part of the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "x"
