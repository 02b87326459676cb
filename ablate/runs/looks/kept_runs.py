"""How many of the variants and seeds that a call can see it keeps: what is left out after results is a choice."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import pandas as pd

from ablate.analysis.earlier_looks import error_rate_of_best_subset
from ablate.analysis.shared_runs import error_rate_of_best_variant
from ablate.core.other_looks import RunChoice
from ablate.runs.cells import BLANK, is_number
from ablate.runs.filters import named_columns
from ablate.runs.roles import STEPS, RunColumns, joined_column


@dataclass(frozen=True)
class RunCounts:
    """The number of variants in a table, and how often its baseline repeats."""

    variants: int
    """Without the baseline."""
    repeats: int
    """The seeds of the baseline on a task; its rows where none has a seed. 0 where rows are steps or examples."""


@dataclass(frozen=True)
class KeptRuns:
    """What a call keeps, beside what it can see."""

    kept: RunCounts
    seen: RunCounts
    """Of the rows that agree with kept ones in task and conditions; repeats are those of rows of kept variants."""
    given: RunCounts
    """All rows of RUNS."""
    has_seeds: bool

    def with_seen_in(self, earlier: Iterable[RunCounts]) -> KeptRuns:
        """Returns the same with the variants and repeats that earlier tables had beyond RUNS counted as seen.

        earlier: the counts of tables with all rows of RUNS; one that is no larger than that of RUNS changes nothing.
        """
        variants = self.seen.variants
        repeats = self.seen.repeats
        for counts in earlier:
            if counts.variants > self.given.variants:
                variants = max(variants, counts.variants)
            if counts.repeats > self.given.repeats:
                repeats = max(repeats, counts.repeats)
        return replace(self, seen=RunCounts(variants, repeats))

    def choices(self) -> list[RunChoice]:
        """Returns what of the variants, seeds or runs was kept, where some were left out.

        A choice has the error rate of the best choice of so many; none where no bound is known.
        """
        kept, seen = self.kept, self.seen
        has_fewer_variants = 0 < kept.variants < seen.variants
        has_fewer_repeats = 0 < kept.repeats < seen.repeats
        choices = []
        if has_fewer_variants:
            rate: float | None = None
            if not has_fewer_repeats:
                num_seeds = max(kept.repeats, 2)
                rate = error_rate_of_best_variant(seen.variants, num_seeds, num_kept=kept.variants)
            choices.append(RunChoice("variants", kept.variants, seen.variants, rate))
        if has_fewer_repeats and self.has_seeds:
            rate = None if has_fewer_variants else error_rate_of_best_subset(seen.repeats)
            choices.append(RunChoice("seeds", kept.repeats, seen.repeats, rate))
        elif has_fewer_repeats:
            choices.append(RunChoice("runs", kept.repeats, seen.repeats, None))
        return choices


def kept_runs(columns: RunColumns, kept: pd.DataFrame, measured: Collection[str]) -> KeptRuns:
    """Returns how many variants, and repeats of the baseline, a table has and the conditions of a call keep.

    kept: the rows that they keep. measured: the columns that hold results.
    """
    table, roles = columns.table, columns.roles
    given = _counts_of(table, columns)
    if len(kept) == len(table):
        return KeptRuns(kept=given, seen=given, given=given, has_seeds="seed" in roles)

    named = named_columns(table, columns.options.where)
    choosing = {*roles["variant"], *roles.get("seed", ()), *measured}
    agreeing = [*roles.get("task", ())]
    taken = {*choosing, *agreeing}
    agreeing += [name for name in named if name not in taken and not _names_rows(table[name])]
    seen = table
    if agreeing:
        of_kept = joined_column(kept[agreeing].astype(str), agreeing)
        seen = table[joined_column(table[agreeing].astype(str), agreeing).isin(of_kept)]
    variants = joined_column(kept, roles["variant"])
    of_kept_variants = seen[joined_column(seen, roles["variant"]).isin(variants)]
    return KeptRuns(
        kept=_counts_of(kept, columns),
        seen=RunCounts(_counts_of(seen, columns).variants, _counts_of(of_kept_variants, columns).repeats),
        given=given,
        has_seeds="seed" in roles,
    )


def _names_rows(column: pd.Series) -> bool:
    """Returns whether a column has a name for each row, as an id does."""
    return bool(column.is_unique) and not column.map(is_number).all()


def _counts_of(table: pd.DataFrame, columns: RunColumns) -> RunCounts:
    """Returns the counts of the rows that have a result."""
    roles, options = columns.roles, columns.options
    with_result = table[~table[options.metric].isin(BLANK)]
    variants = joined_column(with_result, roles["variant"])
    names = variants.drop_duplicates().tolist()
    baseline = options.baseline_among(names)
    of_baseline = with_result[variants == baseline]
    return RunCounts(len([name for name in names if name != baseline]), _repeats(of_baseline, columns))


def _repeats(rows: pd.DataFrame, columns: RunColumns) -> int:
    """Returns the most seeds on one task, or rows without seeds; 0 where rows are steps or examples."""
    roles = columns.roles
    are_parts_of_runs = "example" in roles or any(str(name).lower() in STEPS for name in rows)
    if rows.empty or ("seed" not in roles and are_parts_of_runs):
        return 0
    tasks = joined_column(rows, roles["task"]) if "task" in roles else pd.Series("", rows.index)
    if "seed" not in roles:
        return int(tasks.value_counts().max())
    return int(joined_column(rows, roles["seed"]).groupby(tasks).nunique().max())
