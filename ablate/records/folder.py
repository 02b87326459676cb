"""`results/<study>/` and what the store knows of the study: the only place that knows their files.

study.yaml                               as resolved
trials.parquet, curves.parquet           the evidence of the last report
comparisons.csv, claims.csv              its verdicts
report.html, report.md, figures/         its page
sweep.parquet, importances.csv           what a sweep tried
tuning.parquet, untuned/                 what tuned the variants, and the evidence of these as they were given
evaluation.csv, attention.npz            what was found of kept weights
rates.json, optuna.db                    measured seconds of a step; Optuna's storage of a search
../store/studies/<study>.json            the roster: see `ablate.records.roster`
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ablate.base.errors import AblateError
from ablate.base.files import remove_leftovers, replacing, write_text
from ablate.core.cell import Cell
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts
from ablate.core.search_table import SearchFacts, SearchTable
from ablate.core.trial import Trial
from ablate.records.evaluated import Evaluated
from ablate.records.roster import Roster, first_of_each
from ablate.records.tables import load_frame, read_csv, rows_and_facts, save_frame

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["sweep", "tuning"]
"""Which search came before the verdicts; also how `Facts.searched` names it."""

_STUDY = "study.yaml"
_TRIALS, _CURVES = "trials.parquet", "curves.parquet"
_COMPARISONS, _CLAIMS = "comparisons.csv", "claims.csv"
_PAGES = ("report.html", "report.md")
_FIGURES = "figures"
_TABLES: dict[str, str] = {"sweep": "sweep.parquet", "tuning": "tuning.parquet"}
_IMPORTANCES = "importances.csv"
_UNTUNED = "untuned"
_RATES = "rates.json"
_ABOUT_RATES = (
    "Seconds of a training step, measured before training on one thread: the median over blocks in which the "
    "variants of a task take turns in random order. Remove this file and run with --fresh to measure again."
)
_EVALUATION, _MAPS = "evaluation.csv", "attention.npz"
_REPORTED = (_STUDY, _TRIALS, _CURVES, _COMPARISONS, _CLAIMS, *_PAGES, _FIGURES)
"""What every report consists of."""
_BESIDE = (
    *(_EVALUATION, _MAPS, _TABLES["sweep"], _IMPORTANCES, _TABLES["tuning"]),
    *(f"{_UNTUNED}/{name}" for name in (_TRIALS, _CURVES)),
)
"""What searches and evaluations add to one."""

CLAIM_COLUMNS = (
    *("claim", "hash", "declared", "verdict", "diff", "ci_low", "ci_high", "n", "reason"),
    "exploratory",
)


class StudyFolder:
    """The files of one study under a results folder; nothing exists before it is written."""

    def __init__(self, results: Path, name: str) -> None:
        self.results = results
        self.name = name
        self.path = results / name
        self.roster = Roster(results / "store" / "studies" / f"{name}.json")

    @classmethod
    def at(cls, path: Path) -> StudyFolder:
        """The study whose folder is `path`."""
        return cls(path.parent, path.name)

    @classmethod
    def all(cls, results: Path) -> list[StudyFolder]:
        """The studies that a run has written to, by name."""
        found = {path.parent.name for name in (_TRIALS, _STUDY) for path in results.glob(f"*/{name}")}
        return [cls(results, name) for name in sorted(found - {"store"})]

    @classmethod
    def remembered(cls, results: Path) -> list[StudyFolder]:
        """The studies that the store knows of, also those whose folder is gone."""
        return [cls(results, path.stem) for path in sorted((results / "store" / "studies").glob("*.json"))]

    @property
    def study_file(self) -> Path:
        """The study as it was resolved."""
        return self.path / _STUDY

    @property
    def report_file(self) -> Path:
        """The page."""
        return self.path / _PAGES[0]

    @property
    def search_database(self) -> Path:
        """Optuna's storage of a search, where the study names no other."""
        return self.path / "optuna.db"

    @property
    def has_report(self) -> bool:
        """Whether there is evidence of a run that came to its end."""
        return (self.path / _TRIALS).is_file()

    def artifacts(self) -> list[Path]:
        """What MLflow keeps of a report."""
        names = (*_PAGES, _FIGURES, _STUDY, *_TABLES.values(), _IMPORTANCES)
        return [path for name in names if (path := self.path / name).exists()]

    def written_folders(self) -> list[Path]:
        """The folders in which files are replaced while the study is run."""
        return [self.path, self.path / _FIGURES, self.path / _UNTUNED, self.roster.path.parent]

    # A run

    def begin(self, resolved: str, cells: Iterable[Cell]) -> None:
        """Before the first trial: the resolved study, and the roster with the trials that are planned."""
        for folder in self.written_folders():
            remove_leftovers(folder)
        if not self.study_file.is_file() or self.study_file.read_bytes() != resolved.encode():
            write_text(self.study_file, resolved)
        self.roster.add(cells)

    def cells(self) -> list[Cell]:
        """Every trial that the study refers to; of a published folder without a store, those of its tables.

        Their trials have an id and a seed, and no config. Raises `AblateError` when it cannot be read.
        """
        listed = self.roster.cells()
        return listed or list(first_of_each(cell for _, cell, _ in self.rows()).values())

    def ids(self) -> set[str]:
        """Every trial that the roster or a table of the study names. Raises `AblateError`."""
        return self.roster.ids() | {cell.id for _, cell, _ in self.rows()}

    def find(self, trial_id: str) -> list[tuple[str, Cell, dict[str, Any]]]:
        """Where the study refers to a trial: its rows, or its place on the roster with an empty row."""
        if trial_id not in self.ids():
            return []
        found = [(file, cell, row) for file, cell, row in self.rows() if cell.id == trial_id]
        return found or [("", cell, {}) for cell in self.roster.cells() if cell.id == trial_id]

    def stamps(self) -> list[tuple[int, int] | None]:
        """Size and time of every file of a report; raises `ValueError` when one that each report has is missing."""
        stamps = [_stamp(self.path / name) for name in _REPORTED]
        if None in stamps:
            raise ValueError("a file of the report is missing")
        return stamps + [_stamp(self.path / name) for name in _BESIDE]

    def rows(self) -> Iterator[tuple[str, Cell, dict[str, Any]]]:
        """Every row of the study's tables: the file, the trial's place, and the row. Raises `AblateError`.

        A row of a table of trials has id, variant, task, seed, factors, status, reason and metrics. A setting of a
        search gives a row for each of its trainings, with the setting's values, status and reason.
        """
        for kind, file in _TABLES.items():
            yield from self._settings(kind, file)
        for file, note in ((_TRIALS, ""), (f"{_UNTUNED}/{_TRIALS}", " untuned")):
            if not (self.path / file).is_file():
                continue
            table, facts = rows_and_facts(self.path / file)
            levels = {variant["name"]: variant["levels"] for variant in facts.get("variants", [])}
            several = len(facts.get("tasks", [])) > 1
            for row in table:
                variant, task = f"{row['variant']}{note}", row["task"]
                of = f" on {task}" if several and task else ""
                name = f"{variant}{of} seed {row['seed']}"
                trial = Trial(row["id"], {}, row["seed"])
                yield (
                    file,
                    Cell(variant, task, row["seed"], trial, name, levels.get(row["variant"], {}), not note),
                    row,
                )

    def _settings(self, kind: str, file: str) -> Iterator[tuple[str, Cell, dict[str, Any]]]:
        if not (self.path / file).is_file():
            return
        table = self.search_table("sweep" if kind == "sweep" else "tuning")
        if table is None:
            return
        for index, cell in table.cells(swept=kind == "sweep"):
            ended = table.trials.loc[index, ["status", "reason"]].to_dict()
            place = {"id": cell.id, "variant": cell.variant, "task": cell.task, "seed": cell.seed}
            yield file, cell, place | dict(cell.levels) | ended

    # Evidence, searches, evaluations

    def evidence(self, *, untuned: bool = False) -> Evidence:
        """The evidence of the last report, or that of the variants before they were tuned. Raises `AblateError`."""
        folder = self.path / _UNTUNED if untuned else self.path
        for name in (_TRIALS, _CURVES):
            if not (folder / name).is_file():
                raise AblateError(
                    f"{folder}: has no {name}; run the study first, or name a folder of results/"
                )
        trials, facts = load_frame(folder / _TRIALS, Facts.from_dict)
        return Evidence(facts, trials, load_frame(folder / _CURVES, dict)[0])

    def facts(self) -> Facts:
        """The facts of the last report, without its frames. Raises `AblateError`."""
        return Facts.from_dict(rows_and_facts(self.path / _TRIALS, [])[1])

    def save_evidence(self, evidence: Evidence, *, untuned: bool = False) -> None:
        """Writes both frames, each whole or not at all."""
        folder = self.path / _UNTUNED if untuned else self.path
        save_frame(folder / _TRIALS, evidence.trials, evidence.facts)
        save_frame(folder / _CURVES, evidence.curves)

    @property
    def has_untuned(self) -> bool:
        """Whether there is evidence of the variants before they were tuned."""
        return all((self.path / _UNTUNED / name).is_file() for name in (_TRIALS, _CURVES))

    def search_table(self, kind: str) -> SearchTable | None:
        """What a sweep or tuning has tried; None where there is no table. Raises `AblateError`."""
        if kind not in _TABLES or not (self.path / _TABLES[kind]).is_file():
            return None
        frame, facts = load_frame(self.path / _TABLES[kind], SearchFacts.from_dict)
        return SearchTable(facts, frame)

    def search_table_file(self, kind: str) -> Path:
        """Where `search_table` reads."""
        return self.path / _TABLES[kind]

    def save_search_table(self, kind: Kind, table: SearchTable) -> None:
        """Writes what a sweep or tuning has tried."""
        save_frame(self.path / _TABLES[kind], table.trials, table.facts)

    def importances(self) -> pd.DataFrame | None:
        """Of the searched paths of a sweep; None where they were not computed. Raises `AblateError`."""
        import pandas as pd

        path = self.path / _IMPORTANCES
        if not path.is_file():
            return None
        try:
            return pd.read_csv(path, keep_default_na=False, na_values={"low": [""], "high": [""]})
        except (OSError, ValueError) as error:
            raise AblateError(f"{path}: cannot be read ({error}); run the sweep again") from error

    def save_importances(self, table: pd.DataFrame) -> None:
        """Writes the importances of a sweep."""
        with replacing(self.path / _IMPORTANCES) as path:
            table.to_csv(path, index=False)

    def forget_search(self, kind: Kind) -> None:
        """Removes what a search has left that the study no longer has; its trials stay in the store."""
        names = [_TABLES[kind], *([_IMPORTANCES] if kind == "sweep" else [])]
        if kind == "tuning":
            names += [f"{_UNTUNED}/{path.name}" for path in (self.path / _UNTUNED).glob("*")]
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def rates(self) -> dict[str, dict[str, Any]]:
        """Key of a config → its measured seconds of a training step, and how. Raises `AblateError`."""
        path = self.path / _RATES
        if not path.is_file():
            return {}
        try:
            rates: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rates"]
            if all(entry["seconds_per_step"] > 0 for entry in rates.values()):
                return rates
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
        raise AblateError(f"{path}: is not a table of rates; restore it, or remove it to measure anew")

    def save_rates(self, rates: Mapping[str, Any]) -> None:
        """Writes measured rates."""
        content = json.dumps({"about": _ABOUT_RATES, "rates": rates}, indent=1)
        write_text(self.path / _RATES, content + "\n")

    def evaluated(self) -> Evaluated:
        """What was found of kept weights. Raises `AblateError`."""
        return Evaluated.load(self.path / _EVALUATION, self.path / _MAPS)

    def save_evaluated(self, evaluated: Evaluated) -> None:
        """Writes what was found of kept weights."""
        evaluated.save(self.path / _EVALUATION, self.path / _MAPS)

    # Verdicts

    def claims(self) -> list[dict[str, str]]:
        """The claims with their dates and verdicts; none before the first run. Raises `AblateError`."""
        path = self.path / _CLAIMS
        if not path.is_file():
            return []
        wrong = AblateError(
            f"{path}: is not a table of claims; restore it, or remove it to declare them anew"
        )
        try:
            rows = read_csv(path)
        except (ValueError, csv.Error) as error:
            raise wrong from error
        if not set(CLAIM_COLUMNS) <= set(rows[0] if rows else CLAIM_COLUMNS):
            raise wrong
        return rows

    def write_claims(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes claims that have dates, and no verdicts yet."""
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, CLAIM_COLUMNS, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
        write_text(self.path / _CLAIMS, buffer.getvalue())

    def comparisons(self) -> list[dict[str, str]]:
        """The comparisons of the last report, as text. Raises `AblateError` where there are none."""
        path = self.path / _COMPARISONS
        if not path.is_file():
            raise AblateError(
                f"{self.path}: has no {path.name}; run the study first, or name a folder of results/"
            )
        return read_csv(path)

    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Comparisons and judged claims of the last report."""
        import pandas as pd

        comparisons, claims = (pd.read_csv(self.path / name) for name in (_COMPARISONS, _CLAIMS))
        return comparisons, claims[claims["verdict"].notna()].reset_index(drop=True)

    def publish(
        self,
        comparisons: pd.DataFrame,
        claims: pd.DataFrame,
        page: Mapping[str, str | bytes],
        untuned: pd.DataFrame | None = None,
    ) -> None:
        """Writes verdicts, page and figures, and removes figures of an earlier report that this one lacks.

        `page`: path in the folder → content. `untuned`: the comparisons of the variants before they were tuned.
        """
        for name, frame in ((_COMPARISONS, comparisons), (_CLAIMS, claims)):
            with replacing(self.path / name) as path:
                frame.to_csv(path, index=False)
        if untuned is not None:
            with replacing(self.path / _UNTUNED / _COMPARISONS) as path:
                untuned.to_csv(path, index=False)
        for name, content in page.items():
            with replacing(self.path / name) as path:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
        for old in (self.path / _FIGURES).glob("[!.]*"):
            if f"{_FIGURES}/{old.name}" not in page:
                old.unlink()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns
