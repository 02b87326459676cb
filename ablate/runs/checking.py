"""The rows of runs that exist, checked: typed, one a run, with the reason of each run without a result.

What is wrong raises `AblateError`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np
import pandas as pd

from ablate.base.errors import Gather, Invalid, Problem, listed
from ablate.base.numerals import whole_in
from ablate.core.ending import DIVERGED, Ending
from ablate.core.facts import EXAMPLE_COLUMNS, frame_of
from ablate.core.metric import Metric
from ablate.core.record import Status
from ablate.runs.cells import is_number, number_in
from ablate.runs.clusters import with_sources
from ablate.runs.ends.statuses import have_results, more_telling
from ablate.runs.number_marks import is_marked_number
from ablate.runs.reading import KEY, RunTable

SEED = "must be a whole number of at most 64 bits, with all its digits"
ONCE_A_BLOCK = "A name that stands once, above the rows that it is of, is written in each of them"
"""The hint for rows without a name, as spreadsheets leave them below a merged cell."""
EMPTY = "must not be empty"
NO_SEED = ("is missing, which other runs have", "Leave the run out: remove it from RUNS, or use --where")
"""The rule and the hint for a run without a seed."""
NAMED_SEEDS = "has names, and seeds are whole numbers"
NUMBER_SEEDS = "Number them, one number for each name, so that runs with the same one are a pair"
MEAN = "Write a mean with its deviation as 91.2 ± 0.4"
MARKS = "A comma may be a decimal point or a mark of thousands: write 12901 or 12.901"
NUMBER = "must be a number; nan for a run that diverged; empty for one that failed"
_NO_NUMBER = ("", "nan", "-nan")


@dataclass(frozen=True)
class CheckedRuns:
    """The runs of a table, checked."""

    trials: pd.DataFrame
    """A row a run, as `Evidence.trials`, with the reason of a run without a result, and how each `ended`."""
    examples: pd.DataFrame
    """The metrics of each example, as `Evidence.examples`."""
    reruns: pd.DataFrame
    """The runs that another run of the same seed replaces, a row a run with the column `ended`."""
    kept: Sequence[str] = ()
    """The ids of runs whose status says that a loop has kept the change."""
    are_summaries: bool = False
    """Whether each row has means of several runs."""

    @property
    def variants(self) -> list[str]:
        """The variants in the order of their first runs."""
        return [*dict.fromkeys(self.trials["variant"])]

    @property
    def is_left_out(self) -> pd.Series:
        """Whether the pair of each trial is left out, by how its run ended."""
        return self.trials["ended"].map(lambda ending: ending.leaves_out_its_pair).astype(bool)

    @property
    def compared(self) -> pd.DataFrame:
        """The trials whose pairs are not left out."""
        return self.trials[~self.is_left_out]


def checked(table: RunTable, metrics: Mapping[str, Metric]) -> CheckedRuns:
    """Returns the trials and examples of a table of runs. Raises `Invalid`."""
    rows = _typed_rows(table.rows, [*metrics])
    is_replaced = _replaced(rows)
    reruns = rows[is_replaced].drop_duplicates(KEY)
    rows = rows[~is_replaced]
    _refuse_duplicates(rows, table.has_seeds)
    _refuse_other_examples(rows)
    grouped = rows.sort_values("example", kind="stable").groupby(KEY, sort=False)
    # A run that failed on one example has failed.
    columns = {
        "id": "first",
        "ended": lambda ends: functools.reduce(more_telling, ends),
        **dict.fromkeys(metrics, "mean"),
    }
    trials = grouped.agg(columns).reset_index()
    statuses = trials["ended"].map(_status)
    trials.insert(4, "status", statuses)
    trials.insert(5, "reason", trials["ended"].map(lambda ending: ending.why))
    # A metric that is the same on all examples is of the run.
    varying = [name for name in metrics if grouped[name].nunique().max() > 1]
    # The mean over some examples is not that over all of them, which other runs have.
    has_all = grouped[varying].count().eq(grouped.size(), axis=0).reset_index(drop=True)
    trials[varying] = trials[varying].where(has_all)
    examples: list[tuple[str, str, list[float]]] = []
    for name in varying:
        examples += [
            (run, name, of_run) for run, of_run in zip(trials["id"], grouped[name].agg(list), strict=True)
        ]
    values = frame_of(examples, EXAMPLE_COLUMNS)
    if "source" in rows:
        values = with_sources(values, rows)
    return CheckedRuns(trials, values, reruns, kept=table.kept, are_summaries=table.are_summaries)


def _status(ending: Ending) -> Status:
    """Returns the status that trials of a study have which ended so."""
    match ending.what_counts:
        case "its number":
            return "completed"
        case "the floor":
            return "diverged"
        case "nothing":
            return "pruned" if ending.kind == "pruned" else "failed"
        case _ as counts:
            assert_never(counts)


def _typed_rows(rows: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    """Returns the rows with numbers as such, and with how their runs ended. Raises `Invalid`.

    A number beside the end of a run without a result does not count.
    """
    ends = rows["ended"]
    cells = rows.drop(columns="ended")
    texts = cells.astype(str).where(cells.notna(), "").apply(lambda column: column.str.strip())
    is_completed = have_results(ends)
    numbers = texts[metrics].apply(lambda column: column.map(number_in).astype(float))
    # As objects: a column of numbers with one that is none is one of floats, which are not exact.
    seeds = pd.Series([whole_in(text) for text in texts["seed"]], texts.index, dtype=object, name="seed")
    is_blank = texts[metrics].apply(lambda column: column.str.lower().isin(_NO_NUMBER))

    is_no_number = numbers[metrics].isna() & ~is_blank
    is_no_number = is_no_number.apply(lambda column: column & is_completed)
    is_wrong = pd.concat([seeds.isna(), is_no_number], axis=1)
    with Gather() as at:
        for name in ("variant", "task", "example"):
            places = texts.index[texts[name] == ""].tolist()
            if places:
                rule = EMPTY if len(places) == 1 else f"{EMPTY}, as it is in {len(places)} rows"
                at.problems.append(Problem(rule, hint=ONCE_A_BLOCK, source=f"{places[0]}: {name}"))
        if _refuse_names_of_seeds(at, texts["seed"]):
            is_wrong["seed"] &= texts["seed"] == ""
        for name in is_wrong:
            for place, given in texts.loc[is_wrong[name], name].head(8).items():
                hint = _hint(given) if name in metrics else ""
                rule = SEED if name == "seed" else NUMBER
                if name == "seed" and given == "":
                    rule, hint = NO_SEED
                at.problems.append(Problem(rule, given=given, hint=hint, source=f"{place}: {name}"))

    judged = metrics[0]
    is_blank_run = is_completed & (texts[judged] == "")
    ends = ends.mask(is_completed & ~np.isfinite(numbers[judged]), DIVERGED)
    ends = ends.mask(is_blank_run, rows["ended"].map(_without_number))
    has_result = have_results(ends)
    numbers[metrics] = numbers[metrics].where(has_result, np.nan)
    return texts.assign(**numbers, seed=seeds.astype("int64"), ended=ends)


def _hint(given: str) -> str:
    """Returns how to write the number that a cell may be meant to be; empty where it looks like none."""
    if is_marked_number(given):
        return MARKS
    return MEAN if "±" in given else ""


def _refuse_names_of_seeds(at: Gather, seeds: pd.Series) -> bool:
    """Adds one problem for seeds that are names; returns whether they are."""
    names = seeds[[whole_in(text) is None and text != "" for text in seeds]]
    if names.nunique() < 2 or names.map(is_number).any():
        return False
    given = listed(names.unique(), 6)
    at.problems.append(Problem(NAMED_SEEDS, given=given, hint=NUMBER_SEEDS, source="seed"))
    return True


def _without_number(ending: Ending) -> Ending:
    """Returns the end of a run that has no number, although nothing says that it did not end well."""
    return replace(ending, why="has no value", lacks_number=True)


def _replaced(rows: pd.DataFrame) -> pd.Series:
    """Returns whether a row is of a run without a result that another run of the same seed replaces.

    Of several without a result, the last counts.
    """
    key = [*KEY, "example"]
    has_no_result = rows["ended"].map(lambda ending: ending.is_replaceable).astype(bool)
    has_result = (~has_no_result).groupby([rows[name] for name in key]).transform("any")
    is_last = ~rows.duplicated(key, keep="last")
    return has_no_result & (has_result | ~is_last)


def _refuse_duplicates(rows: pd.DataFrame, has_seeds: bool) -> None:
    """Raises `Invalid` where two rows are of the same run, and example."""
    key = [*KEY, "example"] if has_seeds else ["variant", "task", "example"]
    if not has_seeds and (rows["example"] == "all").all():
        return
    duplicates = rows[rows.duplicated(key, keep=False)].sort_values(key, kind="stable")
    if duplicates.empty:
        return
    first = duplicates.iloc[0]
    run = ", ".join(f"{name} {first[name]}" for name in key if first[name] not in ("", "all"))
    one, other, *_ = duplicates.index
    hint = (
        "Keep the one that counts, by --where COLUMN=VALUE, or name the column that tells them apart: "
        "--column ROLE NAME; where such rows are steps of one run, --at last"
    )
    raise Invalid("", f"{one} and {other} are the same run: {run}", hint=hint)


def _refuse_other_examples(rows: pd.DataFrame) -> None:
    """Raises `Invalid` where a run lacks examples of its task; a run without a result may lack some."""
    has_no_result = rows["ended"].map(lambda ending: ending.what_counts == "nothing").astype(bool)
    has_failed = has_no_result.groupby([rows[name] for name in KEY]).transform("any")
    ended = rows[~has_failed]
    num_runs = ended.drop_duplicates(KEY).groupby("task").size()
    shares = ended.groupby(["task", "example"]).size().div(num_runs, level="task")
    lacking = shares[shares < 1]
    with Gather() as at:
        at.refuse(
            len(lacking),
            "RUNS",
            "every run of a task must have the same examples",
            f"not in all: {listed(lacking.index, 3)}",
            hint="Leave out examples that some runs lack",
        )
