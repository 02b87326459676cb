"""Recordings of verdicts: of the published studies, judged again, and of evidence that was made up."""

import functools
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd

from ablate.core.facts import Evidence

from . import today
from .evidence import cases
from .folders import ROOT
from .recording import Lines, table_lines

PUBLISHED = tuple(
    path.parent
    for path in sorted((ROOT / "results").glob("**/trials.parquet"))
    if "@" not in path.parent.name
)
FEW = tuple(folder for folder in PUBLISHED if folder.parent == ROOT / "results")
"""Those of the studies that are not of the atlas, which are judged in a moment."""
COLUMNS = {
    "comparisons": "variant baseline task metric exploratory n mean_variant mean_baseline diff se df level p"
    " verdict code",
    "claims": "claim hash metric task exploratory n diff ci_low ci_high verdict code",
    "stability": "variant task metric n mean_variant mean_baseline diff code",
    "speed": "variant task size metric n ratio noise_floor slack",
    "scaling": "variant task metric n slope ci_low ci_high",
    "noise": "task metric n diverged sd test_share placebo_diff",
}
"""Table → the columns that are recorded."""
Row = dict[str, object]


@functools.cache
def _rows_of(folders: tuple[Path, ...]) -> dict[str, list[Row]]:
    """Returns table → rows of published studies."""
    rows: dict[str, list[Row]] = {table: [] for table in COLUMNS}
    for folder in folders:
        tables = today.judged_folder(folder)
        if len(tables["comparisons"]):
            tables["comparisons"] = with_errors(tables["comparisons"], today.evidence_of(folder))
        for table, frame in tables.items():
            for row in with_codes(frame).to_dict("records"):
                rows[table].append({"study": folder.name, **row})
    return rows


def with_errors(comparisons: pd.DataFrame, evidence: Evidence) -> pd.DataFrame:
    """Returns the comparisons with standard errors and degrees of freedom of their differences."""
    place = ["variant", "baseline", "task", "metric"]
    errors = pd.DataFrame(today.errors(evidence), columns=[*place, "se", "df"])
    return comparisons.merge(errors, on=place, how="left")


def with_codes(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns a table with the codes of its reasons, where it has any."""
    if "reason" not in frame:
        return frame
    return frame.assign(code=[str(reason).partition(" ")[0] for reason in frame["reason"].fillna("")])


def published(table: str, folders: tuple[Path, ...]) -> list[str]:
    """Returns a table of published studies, judged again from the evidence that is committed."""
    return table_lines(["study", *COLUMNS[table].split()], _rows_of(folders)[table])


def judged_cases() -> Iterator[str]:
    """Yields every verdict and every reason of the evidence in `evidence.py`."""
    for case, (evidence, tables) in cases().items():
        frames = today.judged(evidence)
        frames["comparisons"] = with_errors(frames["comparisons"], evidence)
        for table in tables:
            columns = COLUMNS[table].split()
            if table == "comparisons":
                columns.append("mde")
            head, *lines = table_lines(columns, with_codes(frames[table]).to_dict("records"))
            yield from [f"# {case}: {table}: {head}", *lines]


VERDICTS = [Lines("judge", judged_cases)]
for _table in COLUMNS:
    VERDICTS.append(Lines(f"published-{_table}", partial(published, _table, PUBLISHED), slow=True))
    VERDICTS.append(Lines(f"few-{_table}", partial(published, _table, FEW)))
