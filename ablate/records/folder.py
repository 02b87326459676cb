"""The files of `results/<study>/`, and those of the study in the store.

study.yaml                               as resolved
trials.parquet, curves.parquet           the evidence of the last report
examples.parquet                         the same by test example, where seeds share them
*.parquet                                what stages have measured or trained beside it, by name
answer.txt, comparisons.csv, claims.csv  its verdicts
*.csv                                    the other tables of the report
report.html, report.md, figures/         its page
paper/                                   tables and figures for a paper, where no other folder was named for them
variants.json                            the variants as they were judged, and who chose them
plan.json                                the plans of the study with their dates, each written before its first trial
evaluation.csv, attention.npz            evaluations of kept weights
../store/studies/<study>.json            the list of trials: see `ablate.records.trial_list`
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ConfigDict, TypeAdapter

from ablate.base.errors import AblateError, Problem
from ablate.base.files import digest_of_file, remove_leftovers, write_files, write_text
from ablate.base.kept import content_of, validated
from ablate.base.text import printable
from ablate.core import names
from ablate.core.dated_plan import DatedPlan
from ablate.core.facts import TRIALS
from ablate.core.judged_variants import JudgedVariants
from ablate.core.overhead import Overhead
from ablate.core.stage_facts import FactsT
from ablate.core.trial import Cell
from ablate.records.evidence_folder import CURVES, EvidenceFolder
from ablate.records.store import newest
from ablate.records.tables import read_csv, rows_and_facts, write_csv
from ablate.records.trial_list import TrialList

if TYPE_CHECKING:
    import pandas as pd

    from ablate.core.facts import Evidence, StudyFacts
    from ablate.study.study import Study

ANSWER = "answer.txt"
COMPARISONS = "comparisons.csv"
CLAIMS = "claims.csv"
STABILITY = "stability.csv"
SPEED = "speed.csv"
SCALING = "scaling.csv"
CONDITIONS = "conditions.csv"
TRENDS = "trends.csv"
BESIDE = (STABILITY, SPEED, SCALING, CONDITIONS, TRENDS)  # The tables of some studies.
_NAMES = ("variant", "label", "baseline", "task", "metric")
"""Columns of names, which are text whatever they look like: `0.10`, `NA`."""
_VERDICT = ("verdict", "diff", "ci_low", "ci_high", "n", "reason")
CLAIM_COLUMNS = ("claim", "hash", "declared", *_VERDICT, "exploratory")
FIGURES = "figures"
_STUDY = "study.yaml"
_PAGE = "report.html"
_MARKDOWN = "report.md"
_VARIANTS = "variants.json"
_PLAN = "plan.json"
_REPORTED = (_STUDY, TRIALS, CURVES, COMPARISONS, CLAIMS, _PAGE, _MARKDOWN)  # The files of every report.
_NEWEST = 3  # Lists of trials by which the overhead of a further run is told.
# The endings of the files that a report writes from the evidence.
_WRITTEN_AGAIN = (".csv", ".txt", ".html", ".md", ".svg", ".png")

_JUDGED = TypeAdapter(JudgedVariants)
_PLANS = TypeAdapter(list[DatedPlan], config=ConfigDict(defer_build=True))


class ReportTables(NamedTuple):
    """Tables of the last report; one that it lacks has neither rows nor columns."""

    comparisons: pd.DataFrame
    claims: pd.DataFrame  # Those that were judged.
    stability: pd.DataFrame
    speed: pd.DataFrame


class StudyFolder(EvidenceFolder):
    """The files of one study under a results folder; nothing exists before it is written."""

    def __init__(self, results: Path, name: str) -> None:
        self.results = results
        self.name = name
        self.path = results / name
        self.trial_list = TrialList(_trial_lists(results) / f"{name}.json")
        self.study_file = self.path / _STUDY
        self.report_file = self.path / _PAGE
        self.markdown_file = self.path / _MARKDOWN
        self.paper = self.path / "paper"

    @classmethod
    def at(cls, path: Path) -> StudyFolder:
        """Returns the study whose folder is `path`."""
        return cls(path.parent, path.name)

    @classmethod
    def all(cls, results: Path) -> list[StudyFolder]:
        """Returns the studies that a run has written to, by name."""
        files = [*results.glob(f"*/{TRIALS}"), *results.glob(f"*/{_STUDY}")]
        studies = {file.parent.name for file in files}
        return [cls(results, name) for name in sorted(studies - {*names.RESERVED})]

    @classmethod
    def listed(cls, results: Path) -> list[StudyFolder]:
        """Returns the studies of which the store has a list of trials, by name, also those whose folder was removed."""
        lists = _trial_lists(results).glob("*.json")
        return [cls(results, name) for name in sorted(path.stem for path in lists)]

    @property
    def written(self) -> StudyFolder | None:
        """The report of the study as written, from which this one differs; None where this one is that report."""
        name = names.written(self.name)
        return None if name is None else StudyFolder(self.results, name)

    def of_study(self) -> list[StudyFolder]:
        """Returns the reports that make the claims of a study: as written, and of runs that differ from it."""
        as_written = self.written or self
        folders = {as_written.name: as_written, self.name: self}
        for other in StudyFolder.all(self.results):
            if other.written is not None and other.written.name == as_written.name:
                folders[other.name] = other
        return list(folders.values())

    @property
    def has_report(self) -> bool:
        """True where there is evidence, of a completed run or of its speed alone."""
        return (self.path / TRIALS).is_file()

    @property
    def has_trials(self) -> bool:
        """True where a trial of the study was reported, or that is unknown; `ablate bench` reports without any."""
        try:
            return self.has_report and bool(self.statuses())
        except AblateError:
            return True

    def artifacts(self) -> list[Path]:
        """Returns the files of a report that MLflow keeps."""
        pages = [self.path / name for name in (_PAGE, _MARKDOWN, FIGURES, _STUDY, _VARIANTS, _PLAN)]
        tables = [*self.path.glob("*.csv"), *self._files_of_stages().values()]
        return [*filter(Path.exists, pages), *sorted(tables)]

    def report_files(self) -> dict[str, Path]:
        """Returns the files that every report has, by name; those that are there."""
        paths = {name: self.path / name for name in _REPORTED}
        return {name: path for name, path in paths.items() if path.is_file()}

    def usual_overhead(self) -> Overhead | None:
        """Returns the overhead of the run of the last report, else of the newest report of the store that has one.

        None where none of the newest lists of trials has any.
        """
        lists = newest(_trial_lists(self.results).glob("*.json"), _NEWEST)
        for trial_list in (self.trial_list, *map(TrialList, lists)):
            with suppress(AblateError):
                report = trial_list.report()
                if report is not None and report.overhead is not None:
                    return report.overhead
        return None

    def begin(self, resolved: str) -> None:
        """Writes the resolved study, and makes the list of its trials, before the first is trained."""
        remove_leftovers(self.path)
        remove_leftovers(self.results / "store")
        if not self.study_file.is_file() or self.study_file.read_bytes() != resolved.encode():
            write_text(self.study_file, resolved)
        self.trial_list.add([])

    def cells(self) -> list[Cell]:
        """Returns every trial that the study refers to; of a published folder without a store, those of its tables.

        Their trials have an id and a seed, and no config. Raises `AblateError` when it cannot be read.
        """
        return self.trial_list.cells() or [cell for cell, _ in self.rows()]

    def ids(self) -> set[str]:
        """Returns every trial that the list of trials or a table of the study names. Raises `AblateError`."""
        listed_ids = {cell.id for cell in self.trial_list.cells()}
        return listed_ids | super().ids()

    def find(self, trial_id: str) -> list[Cell]:
        """Returns the study's references to a trial: those of its tables, or its place on the list of trials."""
        reported = [cell for cell, _ in self.rows() if cell.id == trial_id]
        return reported or [cell for cell in self.trial_list.cells() if cell.id == trial_id]

    def stamps(self) -> list[tuple[str, int | str, int]]:
        """Returns a stamp of every file of a report: its name, and its size and time.

        Of what `ablate report` writes again from the others it has the content instead, which is then the same.

        Raises `OSError` when a file that every report has is missing.
        """
        required = [self.path / name for name in _REPORTED]
        present = filter(Path.exists, [*self.path.glob("[!.]*.*"), *(self.path / FIGURES).glob("[!.]*.*")])
        stamps: list[tuple[str, int | str, int]] = []
        for path in sorted({*required, *present}):
            state = path.stat()
            name = str(path.relative_to(self.path))
            if path.suffix in _WRITTEN_AGAIN:
                stamps.append((name, digest_of_file(str(path)), 0))
            else:
                stamps.append((name, state.st_size, state.st_mtime_ns))
        return stamps

    def variants(self) -> JudgedVariants | None:
        """Returns the variants as they were judged, with their configs; None where no report has kept them.

        Raises `AblateError` where they cannot be read.
        """
        path = self.path / _VARIANTS
        remedy = f"Restore it, or run {self.name} again, which replaces it"
        content = content_of(path, remedy)
        return None if content is None else validated(_JUDGED, content, path, remedy)

    def plans(self) -> list[DatedPlan]:
        """Returns the plans of the study, the first one first; none of a folder that is older than they are.

        Raises `AblateError` where they cannot be read.
        """
        path = self.path / _PLAN
        remedy = "Restore it. Without it nothing shows what was planned before there were results"
        content = content_of(path, remedy)
        if content is None:
            return []
        plans = validated(_PLANS, content, path, remedy)
        edited = [number for number, plan in enumerate(plans) if not plan.is_whole]
        if edited:
            raise AblateError(
                str(Problem("was edited: its digest is another", (edited[0],), hint=remedy, source=str(path)))
            )
        return plans

    def readable_plans(self) -> list[DatedPlan]:
        """Returns the plans of the study, as `plans`; none where they cannot be read."""
        try:
            return self.plans()
        except AblateError:
            return []

    def write_plans(self, plans: Sequence[DatedPlan]) -> None:
        """Writes the plans of the study, before a trial of the last one is trained."""
        content = TypeAdapter(list[DatedPlan]).dump_json(list(plans), indent=1)
        write_text(self.path / _PLAN, content.decode() + "\n")

    def statuses(self) -> list[str]:
        """Returns the status of every trial of the last report. Raises `AblateError`."""
        rows, _ = rows_and_facts(self.path / TRIALS, ["status"])
        return [row["status"] for row in rows]

    def reported_seeds(self) -> set[int]:
        """Returns the seeds of the trials of the last report. Raises `AblateError`."""
        rows, _ = rows_and_facts(self.path / TRIALS, ["seed"])
        return {row["seed"] for row in rows}

    def reported_facts(self) -> StudyFacts | None:
        """Returns the facts of the report; None where there is none that can be read."""
        try:
            return self.facts() if self.has_report else None
        except AblateError:
            return None

    def reported(self, kind: type[FactsT]) -> FactsT | None:
        """Returns what a stage kept in the report; None where there is nothing that can be read."""
        facts = self.reported_facts()
        try:
            return facts.of(kind) if facts is not None else None
        except AblateError:
            return None

    def save(self, evidence: Evidence, study: Study) -> None:
        """Writes the evidence of a run, and the variants as they were judged."""
        self.save_evidence(evidence)
        write_text(self.path / _VARIANTS, json.dumps(asdict(study.judged_variants()), indent=1) + "\n")

    def save_page(self, page: Mapping[str, str | bytes]) -> None:
        """Writes page and figures, path in the folder → content; removes figures that only an earlier report has."""
        earlier = self._figures_of_page()
        write_files(self.path, page)
        written = {self.path / name for name in page}
        for figure in earlier - written:
            if not figure.is_dir():
                figure.unlink(missing_ok=True)

    def _figures_of_page(self) -> set[Path]:
        """Returns the figures to which the pages of the last report link; another file beside them is a user's."""
        figures: set[Path] = set()
        for page in (self.markdown_file, self.path / _PAGE):
            text = page.read_text("utf-8", "replace") if page.is_file() else ""
            links = re.findall(rf"""[("]({FIGURES}/[\w.-]+\.(?:svg|png))[)"]""", text)
            figures |= {self.path / name for name in links}
        return figures

    def claims(self) -> list[dict[str, str]]:
        """Returns the claims with their dates and verdicts; none before the first run. Raises `AblateError`."""
        return read_csv(self.path / CLAIMS, CLAIM_COLUMNS)

    def write_claims(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes claims that have dates, and no verdicts yet."""
        write_csv(self.path / CLAIMS, CLAIM_COLUMNS, rows)

    def comparisons(self) -> list[dict[str, str]]:
        """Returns the comparisons of the last report, as text. Raises `AblateError` where there are none."""
        if not (self.path / COMPARISONS).is_file():
            raise AblateError(f"{self.path}: has no {COMPARISONS}; run the study first")
        return read_csv(self.path / COMPARISONS, ("variant",))

    def beside(self, name: str) -> list[dict[str, str]]:
        """Returns the rows of one of the tables `BESIDE` the verdicts of the last report, as text; none without it."""
        return read_csv(self.path / name)

    def frames(self) -> ReportTables:
        """Returns comparisons, judged claims, stability and speed of the last report. Raises `AblateError`."""
        claims = self._frame(CLAIMS, CLAIM_COLUMNS)
        return ReportTables(
            comparisons=self._frame(COMPARISONS, ("variant",)),
            claims=claims[claims["verdict"].notna()].reset_index(drop=True),
            stability=self._frame(STABILITY),
            speed=self._frame(SPEED),
        )

    def _frame(self, name: str, columns: Sequence[str] = ()) -> pd.DataFrame:
        """Returns a CSV file of the folder as a frame, empty if there is no such file. Raises `AblateError` when it
        cannot be read, lacks one of `columns`, or holds a faulty cell.
        """
        import pandas as pd

        path = self.path / name
        read_csv(path, columns)  # Refuses what no report has written.
        if not path.is_file():
            return pd.DataFrame()
        names = dict.fromkeys(_NAMES, str)
        return pd.read_csv(path, dtype=names, keep_default_na=False, na_values=[""])

    def answer(self) -> list[str]:
        """Returns the answer of the last report in sentences; none where it has none."""
        path = self.path / ANSWER
        return path.read_text("utf-8", "replace").splitlines() if path.is_file() else []

    def save_verdicts(self, tables: Mapping[str, pd.DataFrame], answer: Sequence[str] = ()) -> None:
        """Writes tables by the names of their files, but no empty one `BESIDE` the verdicts, and the answer."""
        files: dict[str, str | None] = {}
        for name, frame in tables.items():
            empty = name in BESIDE and frame.empty
            files[name] = None if empty else frame.to_csv(index=False)
        files[ANSWER] = "".join(f"{' '.join(printable(sentence).split())}\n" for sentence in answer)
        write_files(self.path, files)


def _trial_lists(results: Path) -> Path:
    """Returns the folder of the lists of trials, a file a study."""
    return results / "store" / "studies"
