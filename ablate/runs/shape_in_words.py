"""How many runs a table has, of how many variants and seeds, in words."""

from __future__ import annotations

import functools
from collections import Counter

import pandas as pd

from ablate.base.wording import counted
from ablate.report.words import message
from ablate.runs.ends.statuses import more_telling
from ablate.runs.reading import KEY, RunTable


def reading_of(table: RunTable) -> str:
    """Returns as what runs were read, and how many there are, as a sentence."""
    return message("analyse.read", table.kind, shape_of(table))


def shape_of(table: RunTable) -> str:
    """Returns the number of runs in words, with those of variants and seeds: `60 runs, 15 × 4 seeds; 1 crashed`."""
    is_a_row_each = bool((table.rows["example"] == "all").all())
    runs = table.rows.drop_duplicates([*KEY, "id"] if is_a_row_each else KEY)
    num_variants = runs["variant"].nunique()
    counts = runs.groupby("variant").size()
    num_runs = sum(table.summaries[place].n for place in runs["id"]) if table.summaries else len(runs)
    words = [counted(num_runs, "run"), counted(num_variants, "variant")]
    if counts.nunique() == 1 and table.has_seeds:
        noun = "task" if table.options.over is None else "condition"
        words = [
            counted(len(runs), "run"),
            f"{num_variants} × {_runs_of_variant(runs, int(counts.iloc[0]), table.run_name, noun)}",
        ]
    if not is_a_row_each:
        words.append(counted(len(table.rows), "row"))
    # A run that failed on one example has failed.
    endings = table.rows.groupby([*KEY, "id"] if is_a_row_each else KEY, sort=False)["ended"]
    ended = [functools.reduce(more_telling, of_run) for _, of_run in endings]
    lost = [ending.why or ending.kind for ending in ended if ending.what_counts != "its number"]
    ends = [f"{count} {end}" for end, count in sorted(Counter(lost).items())]
    return "; ".join(filter(None, [", ".join(words), ", ".join(ends)]))


def _runs_of_variant(runs: pd.DataFrame, num_runs: int, run_name: str, noun: str) -> str:
    """Returns the number of runs of each variant in words, by seed and task where each task has as many.

    noun: what tasks are called.
    """
    num_tasks = runs["task"].nunique()
    counts = runs.groupby(["variant", "task"]).size()
    if num_tasks == 1 or counts.nunique() > 1 or int(counts.iloc[0]) * num_tasks != num_runs:
        return counted(num_runs, run_name)
    return f"{counted(int(counts.iloc[0]), run_name)} × {counted(num_tasks, noun)}"
