"""The files of `results/<study>/`, and those of the study in the store.

study.yaml                               as resolved
trials.parquet, curves.parquet           the evidence of the last report
examples.parquet                         the same by test example, where seeds share them
*.parquet                                what features have measured or trained beside it, by name
answer.txt, comparisons.csv, claims.csv  its verdicts
*.csv                                    the other tables of the report
report.html, report.md, figures/         its page
paper/                                   tables and figures for a paper, where no other folder was named for them
variants.json                            the variants as they were judged, and who chose them
evaluation.csv, attention.npz            evaluations of kept weights
../store/studies/<study>.json            the list of trials: see `ablate.records.trial_list`
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.files import remove_leftovers, write_files, write_text
from ablate.core import names
from ablate.core.trial import Cell
from ablate.records.tables import (
    CURVES,
    TRIALS,
    EvidenceFolder,
    read_csv,
    rows_and_facts,
    write_csv,
)
from ablate.records.trial_list import TrialList

if TYPE_CHECKING:
    import pandas as pd

    from ablate.core.facts import Evidence, StudyFacts
    from ablate.study.study import Study

ANSWER, COMPARISONS, CLAIMS = "answer.txt", "comparisons.csv", "claims.csv"
STABILITY, SPEED, SCALING = "stability.csv", "speed.csv", "scaling.csv"
BESIDE = (STABILITY, SPEED, SCALING)  # The tables of some studies.
_VERDICT = ("verdict", "diff", "ci_low", "ci_high", "n", "reason")
CLAIM_COLUMNS = ("claim", "hash", "declared", *_VERDICT, "exploratory")
_STUDY = "study.yaml"
_PAGES = ("report.html", "report.md")
FIGURES = "figures"
_VARIANTS = "variants.json"
_REPORTED = (_STUDY, TRIALS, CURVES, COMPARISONS, CLAIMS, *_PAGES)  # The files of every report.


class StudyFolder(EvidenceFolder):
    """The files of one study under a results folder; nothing exists before it is written."""

    def __init__(self, results: Path, name: str) -> None:
        self.results = results
        self.name = name
        self.path = results / name
        self.trial_list = TrialList(results / "store" / "studies" / f"{name}.json")
        self.study_file = self.path / _STUDY
        self.report_file, self.markdown_file = (self.path / name for name in _PAGES)
        self.paper = self.path / "paper"

    @property
    def written(self) -> StudyFolder | None:
        """The report of the study as written, from which this one differs; None where it is that one itself."""
        name = names.written(self.name)
        return None if name is None else StudyFolder(self.results, name)

    @classmethod
    def at(cls, path: Path) -> StudyFolder:
        """The study whose folder is `path`."""
        return cls(path.parent, path.name)

    @classmethod
    def all(cls, results: Path) -> list[StudyFolder]:
        """The studies that a run has written to, by name."""
        found = {path.parent.name for name in (TRIALS, _STUDY) for path in results.glob(f"*/{name}")}
        return [cls(results, name) for name in sorted(found - {*names.RESERVED})]

    @property
    def has_report(self) -> bool:
        """Whether there is evidence, of a completed run or of its speed alone."""
        return (self.path / TRIALS).is_file()

    @property
    def has_trials(self) -> bool:
        """Whether some trial of the study was reported, as far as can be told; `ablate bench` reports without any."""
        try:
            return self.has_report and bool(self.statuses())
        except AblateError:
            return True

    def artifacts(self) -> list[Path]:
        """The files of a report that MLflow keeps."""
        names = (*_PAGES, FIGURES, _STUDY, _VARIANTS)
        tables = [*self.path.glob("*.csv"), *self._beside().values()]
        return [*filter(Path.exists, (self.path / name for name in names)), *sorted(tables)]

    def readable(self) -> dict[str, Path]:
        """The files that every report has, by name; those that are there."""
        return {name: path for name in _REPORTED if (path := self.path / name).is_file()}

    def begin(self, resolved: str, cells: Iterable[Cell]) -> None:
        """Before the first trial: writes the resolved study, and adds the planned trials to the list of trials."""
        remove_leftovers(self.path)
        remove_leftovers(self.results / "store")
        if not self.study_file.is_file() or self.study_file.read_bytes() != resolved.encode():
            write_text(self.study_file, resolved)
        self.trial_list.add(cells)

    def cells(self) -> list[Cell]:
        """Every trial that the study refers to; of a published folder without a store, those of its tables.

        Their trials have an id and a seed, and no config. Raises `AblateError` when it cannot be read.
        """
        return self.trial_list.cells() or [cell for cell, _ in self.rows()]

    def ids(self) -> set[str]:
        """Every trial that the list of trials or a table of the study names. Raises `AblateError`."""
        return {cell.id for cell in self.trial_list.cells()} | super().ids()

    def find(self, trial_id: str) -> list[Cell]:
        """The study's references to a trial: those of its tables, or its place on the list of trials."""
        reported = [cell for cell, _ in self.rows() if cell.id == trial_id]
        return reported or [cell for cell in self.trial_list.cells() if cell.id == trial_id]

    def stamps(self) -> list[tuple[str, int, int]]:
        """Name, size and time of every file of a report; raises `OSError` when one that each has is missing."""
        others = filter(Path.exists, (*self.path.glob("[!.]*.*"), self.path / FIGURES))
        states = [(p, p.stat()) for p in sorted({*(self.path / name for name in _REPORTED), *others})]
        return [(str(path.relative_to(self.path)), s.st_size, s.st_mtime_ns) for path, s in states]

    def variants(self) -> Mapping[str, Any] | None:
        """The variants as they were judged, with their configs; None where no report has kept them."""
        path = self.path / _VARIANTS
        return json.loads(path.read_text("utf-8")) if path.is_file() else None

    def statuses(self) -> list[str]:
        """The status of every trial of the last report. Raises `AblateError`."""
        return [row["status"] for row in rows_and_facts(self.path / TRIALS, ["status"])[0]]

    def reported_facts(self) -> StudyFacts | None:
        """Returns the facts of the report; None where there is none that can be read."""
        try:
            return self.facts() if self.has_report else None
        except (AblateError, KeyError, TypeError):
            return None

    def save(self, evidence: Evidence, study: Study) -> None:
        """Writes the evidence of a run, and the variants as they were judged."""
        self.save_evidence(evidence)
        write_text(self.path / _VARIANTS, json.dumps(study.judged_variants(), indent=1) + "\n")

    def save_page(self, page: Mapping[str, str | bytes]) -> None:
        """Writes page and figures, path in the folder → content, and removes figures of an earlier report that this
        one lacks.
        """
        write_files(self.path, page)
        for old in (self.path / FIGURES).glob("[!.]*.[ps][nv]g"):
            if f"{FIGURES}/{old.name}" not in page:
                old.unlink()

    def claims(self) -> list[dict[str, str]]:
        """The claims with their dates and verdicts; none before the first run. Raises `AblateError`."""
        return read_csv(self.path / CLAIMS, CLAIM_COLUMNS)

    def write_claims(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes claims that have dates, and no verdicts yet."""
        write_csv(self.path / CLAIMS, CLAIM_COLUMNS, rows)

    def comparisons(self) -> list[dict[str, str]]:
        """The comparisons of the last report, as text. Raises `AblateError` where there are none."""
        if not (self.path / COMPARISONS).is_file():
            raise AblateError(f"{self.path}: has no {COMPARISONS}; run the study first")
        return read_csv(self.path / COMPARISONS, ("variant",))

    def beside(self, name: str) -> list[dict[str, str]]:
        """The rows of one of the tables `BESIDE` the verdicts of the last report, as text; none where it has none."""
        return read_csv(self.path / name)

    def frames(self) -> list[pd.DataFrame]:
        """Comparisons, judged claims, stability and speed of the last report; those without rows that it lacks."""
        import pandas as pd

        paths = [self.path / name for name in (COMPARISONS, CLAIMS, STABILITY, SPEED)]
        comparisons, claims, *more = (
            pd.read_csv(path) if path.is_file() else pd.DataFrame() for path in paths
        )
        return [comparisons, claims[claims["verdict"].notna()].reset_index(drop=True), *more]

    def answer(self) -> list[str]:
        """The answer of the last report in sentences; none where it has none."""
        path = self.path / ANSWER
        return path.read_text("utf-8", "replace").splitlines() if path.is_file() else []

    def save_verdicts(self, tables: Mapping[str, pd.DataFrame], answer: Sequence[str] = ()) -> None:
        """Writes tables by the names of their files, but of those `BESIDE` the verdicts none without rows."""
        texts = {
            name: None if name in BESIDE and frame.empty else frame.to_csv(index=False)
            for name, frame in tables.items()
        }
        write_files(self.path, {**texts, ANSWER: "".join(f"{' '.join(line.split())}\n" for line in answer)})


def report_folder(path: Path, results: Path) -> StudyFolder:
    """The folder of a report, from a study file, the name of a study, or the folder itself.

    Raises `AblateError` where there is none, and `StudyError` for an invalid file.
    """
    name = path.name
    if path.is_file():
        from ablate.study.document import read_document  # which a name does not need

        name = str(read_document(path).data.get("name", path.stem))
    folder, here = StudyFolder(results, name), StudyFolder.at(path)
    # A name alone means that of a study, even where a folder of that name lies here.
    if here.has_report and not (folder.has_report and path == Path(name)):
        return here
    if not folder.has_report and not folder.path.is_dir() and not path.exists():
        names = [each.name for each in StudyFolder.all(results)]
        runs = [each for each in names if each.startswith(f"{path.name}@")]
        hint = nearest(path.name, [*names, *sorted(file.name for file in path.parent.glob("*.yaml"))])
        problem = Problem(
            f"is neither a study file nor the name of a study under {results}",
            allowed=listed(names),
            hint=f"Did you mean {runs[0]!r}?" if runs else hint or "Run the study first",
            source=str(path),
        )
        raise AblateError(str(problem))
    return folder
