"""Rows that share the id of one run: evaluations of one run, which nothing numbers as its steps.

That rows have one `run_id` says that they are of one run. That they have one `run_name`, or one start, says so where a
variant has several of them; else it may be a name of the variant, or a job that trained all its runs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from ablate.base.errors import Invalid
from ablate.report.words import message
from ablate.runs.reader import RunsFound
from ablate.runs.roles import RunColumns, joined_column, plain_name
from ablate.runs.settings import is_fold

IDS = ("run_id", "runid", "trial_id", "trialid", "id", "uuid", "run_uuid", "wandb_id")
"""Names of columns with ids, of which a run has one and no other run has the same, in small letters."""
NAMES = ("run", "run_name", "trial", "trial_name", "name", "job_id", "log_dir", "logdir", "run_dir")
"""Names of columns that tell runs apart and that two runs may share, in small letters."""
_OTHER_NAMES = (
    *("exp_id", "experiment", "experiment_id", "experiment_name", "exp_name", "jobid", "slurm_job_id", "pid"),
    *("output_dir", "out_dir", "save_dir", "work_dir", "workdir", "logging_dir", "checkpoint_dir"),
    *("created", "created_at", "start_time", "started_at", "started", "start", "date_started"),
)
"""Further such names, and those of the time at which a run began."""
_OF_VARIANTS = ("name", "experiment", "experiment_name", "exp_name")
"""Those that usually name a variant, where each variant has one."""
_MOST = 0.5
"""The least share of names that stand in several rows, if they are of runs with several rows each."""


@dataclass(frozen=True)
class SharedId:
    """A column in which rows of one variant have the same id."""

    name: str
    is_of_runs: bool
    """Whether rows of one id are surely rows of one run."""


def shared_id(columns: RunColumns, found: RunsFound) -> SharedId | None:
    """Returns the column by which several rows are, or may be, of one run, a sure one first; None where none is.

    None where seeds, examples, steps or folds tell such rows apart, or the call says that they are runs.
    """
    table, roles = columns.table, columns.roles
    has_folds = any(is_fold(str(name)) for name in table)
    is_told = has_folds or not {"seed", "example", "step", "run"}.isdisjoint(roles)
    if is_told or found.rows_are_runs or found.means or columns.options.replicates:
        return None
    taken = {*itertools.chain(*roles.values()), *columns.options.metrics()}
    variants = joined_column(table, roles["variant"])
    runs = table[[*roles["variant"], *roles.get("task", ())]]
    shared = []
    for name in table:
        if name not in taken and plain_name(name) in (*IDS, *NAMES, *_OTHER_NAMES):
            shared.append(_sharing(table[name], variants, runs))
    return min(filter(None, shared), key=lambda column: not column.is_of_runs, default=None)


def _sharing(ids: pd.Series, variants: pd.Series, runs: pd.DataFrame) -> SharedId | None:
    """Returns a column by which rows of one variant and task share ids; None where they do not.

    None too where an id is blank, of two variants, or the name of its variant. ids: a column with its name.
    """
    name = plain_name(ids.name)
    texts = ids.astype(str).str.strip()
    pairs = pd.DataFrame({"variant": variants, "id": texts}).drop_duplicates()
    if (texts == "").any() or not pairs["id"].is_unique or _are_dates(texts):
        return None
    if all(_is_named_after(text, variant) for variant, text in pairs.itertuples(index=False)):
        return None
    counts = runs.assign(_id=texts).value_counts()
    if counts.max() == 1:
        return None
    has_several = bool(pairs["variant"].duplicated().any())
    may_number_variants = name == "id" and texts.str.fullmatch(r"\d{1,3}").all()
    if name in IDS and not may_number_variants:
        return SharedId(str(ids.name), is_of_runs=True)
    if name in _OF_VARIANTS and not has_several:
        return None
    is_usual = (counts > 1).mean() >= _MOST
    return SharedId(str(ids.name), is_of_runs=has_several) if is_usual else None


def _are_dates(texts: pd.Series) -> bool:
    """Returns whether texts are days, on which several runs may have begun."""
    return bool(texts.str.fullmatch(r"\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{2,4}").all())


def _is_named_after(name: str, variant: str) -> bool:
    """Returns whether an id is the name of its variant, or a folder of that name."""
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    return _letters(variant) in (_letters(name), _letters(last))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def rows_of_one_run(columns: RunColumns, found: RunsFound) -> Iterator[str]:
    """Yields the sentence on an id that rows of one variant share, and that may be of one run.

    columns: of a table of which each row counts. Raises `Invalid` for an id that is surely of one run.
    """
    column = shared_id(columns, found)
    if column is None:
        return
    ids = columns.table[column.name]
    first = ids[ids.duplicated()].iloc[0]
    if not column.is_of_runs:
        yield message("analyse.shared_id", column.name, str(first), int((ids == first).sum()))
        return
    raise Invalid(
        "RUNS",
        f"has several rows of one {column.name}: rows of one run are not replicates, and nothing numbers them",
        f"{first} in {int((ids == first).sum())} rows",
        hint="Say what they are: --at last takes them for steps of one run, of which the last row counts; "
        "--column example NAME for its examples; --seed NAME where a column numbers runs; "
        "--replicates states that each is a run",
    )
