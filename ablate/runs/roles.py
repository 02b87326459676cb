"""What each column of a table of runs means: as the call says, as the format says, or by its name and cells."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from ablate.base.errors import Gather, listed, nearest
from ablate.report.words import message
from ablate.runs.ends.statuses import is_kept, status_columns
from ablate.runs.judged import is_measured, with_baseline, with_metric
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import RunsFound
from ablate.runs.seeds_in_names import (
    SEED_AT_END,
    checked_pattern,
    ends_with_seeds,
    hint_of_numbers,
    holds_name,
    with_seeds,
)
from ablate.runs.settings import PREFIXES, is_seed, underscored

CONDITION_NUMBERS = ("scale", "along")
"""Roles of columns with a number of each condition, which options of the call name."""
JOINED = ("variant", "task")
"""Roles that several columns may have together, each combination another one."""
_SEVERAL = (*JOINED, "status")
"""Roles that several columns may have."""
NAMES_OF_VARIANTS = ("variant", "method", "model")
"""Names of columns that hold variants and nothing else, in small letters."""
_VARIANTS = (
    *NAMES_OF_VARIANTS,
    *("name", "experiment", "configuration", "config", "algorithm", "approach"),
    *("architecture", "arch", "system", "condition", "ablation", "treatment", "setting", "run_name", "run"),
    *("label", "commit", "sha"),
)
"""Names of columns that hold variants, in small letters, likely ones first."""
STEPS = (
    "step",
    "_step",
    "global_step",
    "trainer/global_step",
    "epoch",
    "iteration",
    "iter",
    "training_iteration",
)
"""Names of columns that number the steps of a run, in small letters."""


@dataclass(frozen=True)
class RunColumns:
    """A table with the role of each column, and the options that the call leaves to be guessed."""

    table: pd.DataFrame
    options: AnalysisOptions
    roles: Mapping[str, Sequence[str]]
    """Role → its columns."""
    guessed: Sequence[str] = field(default=())
    """The guesses as options: `--column variant Name`."""


def bare(name: object) -> str:
    """Returns the name of a column in small letters, without what says that it is a setting."""
    text = str(name).lower()
    prefix = next((prefix for prefix in PREFIXES if text.startswith(prefix)), "")
    return text.removeprefix(prefix)


def plain_name(name: object) -> str:
    """Returns the name of a column with underscores, without what says that it is a setting: `Job ID` is `job_id`."""
    return bare(underscored(str(name)))


def columns_of(found: RunsFound, options: AnalysisOptions) -> RunColumns:
    """Returns the columns of runs by their roles. Raises `Invalid`."""
    columns = identifying_columns(found, options)
    table = columns.table
    roles = {**columns.roles}
    guessed = [*columns.guessed]
    if "status" not in roles:
        taken = {*_taken(roles), *_named_metrics(options)}
        statuses = status_columns(table, taken, has_examples="example" in roles)
        if statuses:
            roles["status"] = statuses
            guessed += _guess("status", statuses)
    options = with_metric(options, table, _taken(roles), guessed)
    if not options.baseline:
        is_stream = bool(is_kept(table, roles.get("status", ())).any())
        variants = joined_column(table, roles["variant"])
        options = with_baseline(options, variants, guessed, is_stream=is_stream)
    return RunColumns(table, options, roles, guessed)


def identifying_columns(found: RunsFound, options: AnalysisOptions) -> RunColumns:
    """Returns the columns that say of which run a row is, with those that call and format name. Raises `Invalid`.

    These are the columns of variants, seeds, tasks and examples.
    """
    table = found.table
    roles = _given(table, options)
    guessed: list[str] = []
    for role, names in found.roles.items():
        roles.setdefault(role, list(names))
    if "variant" not in roles:
        roles["variant"] = _variant_columns(table, options, _taken(roles))
        guessed += _guess("variant", roles["variant"])
    _refuse_absent(roles["variant"], table)
    if options.seed in table:
        roles["seed"] = [options.seed]
    elif options.seed and "seed" not in roles:  # A reader may have found them in the names of folders.
        table = with_seeds(table, roles["variant"], options.seed)
        roles["seed"] = ["seed"]
    elif "seed" not in roles:
        measured = {*_named_metrics(options), *(each.metric for each in found.means)}
        seeds = _seed_columns(table, _taken(roles) | measured)
        if seeds:
            roles["seed"] = seeds
            guessed += _guess("seed", seeds)
        elif ends_with_seeds(table, roles["variant"]):
            table = with_seeds(table, roles["variant"], SEED_AT_END)
            roles["seed"] = ["seed"]
            guessed.append(f"--seed {shlex.quote(SEED_AT_END)}")
    for role in ("task", "example"):
        named = [str(name) for name in table if bare(name) == role and name not in _taken(roles)]
        named = [name for name in named if (table[name] != "").any()]
        if role not in roles and named:
            roles[role] = [role] if role in named else named[:1]
            guessed += _guess(role, roles[role])
    return RunColumns(table, options, roles, guessed)


def _guess(role: str, names: Sequence[str]) -> list[str]:
    """Returns the option that says outright which columns have a role; none where they have its name."""
    return [] if [*names] == [role] else [f"--column {role} {shlex.quote(','.join(names))}"]


def _refuse_absent(variants: Sequence[str], table: pd.DataFrame) -> None:
    """Raises `Invalid` for columns of variants that the table lacks."""
    names = [*map(str, table.columns)]
    with Gather() as at:
        for name in dict.fromkeys(variants):
            hint = nearest(name, names) or "Say which it is: --variant COLUMN"
            at.refuse(name not in table, "RUNS", f"has no column {name!r}", "", listed(names), hint)


def _named_metrics(options: AnalysisOptions) -> list[str]:
    """Returns the columns that the call names as metrics."""
    return [options.metric, *options.also]


def _given(table: pd.DataFrame, options: AnalysisOptions) -> dict[str, list[str]]:
    """Returns role → the columns that the call names."""
    given: dict[str, list[str]] = {}
    for role, name in options.columns:
        names = [name] if name in table or role not in _SEVERAL else name.split(",")
        given.setdefault(role, []).extend(names)
    return given


def _taken(roles: Mapping[str, Sequence[str]]) -> set[str]:
    """Returns the columns that have a role."""
    return {*itertools.chain(*roles.values())}


def _variant_columns(table: pd.DataFrame, options: AnalysisOptions, taken: set[str]) -> list[str]:
    """Returns the columns that hold the variants: those in which the baseline stands. Raises `Invalid`."""
    baseline = options.baseline
    joined = [part.partition("=")[0].strip() for part in baseline.split(",")]
    if "=" in baseline and all(name in table for name in joined):
        return joined
    open_columns = [name for name in table if name not in taken and name != options.metric]
    pattern = (
        SEED_AT_END if not options.seed or options.seed in table else checked_pattern(options.seed, table)
    )
    by_name = sorted(
        (name for name in open_columns if bare(name) in _VARIANTS),
        key=lambda name: _VARIANTS.index(bare(name)),
    )
    if not baseline:
        candidates = by_name
    else:
        others = [name for name in open_columns if name not in by_name and not is_measured(table, name)]
        candidates = [name for name in [*by_name, *others] if holds_name(table[name], baseline, pattern)]
    # A column that is called so holds the variants even where the baseline is none of them, which is told later.
    candidates = candidates or by_name
    if candidates:
        return [str(candidates[0])]
    with Gather() as at:
        values = list(itertools.chain(*(table[name].unique() for name in by_name)))
        at.refuse(
            True,
            "RUNS",
            f"has no column in which {baseline!r} stands" if baseline else "has no column of variants",
            listed(map(str, table.columns)),
            hint=hint_of_numbers(baseline, itertools.chain(*(table[name].unique() for name in open_columns)))
            or nearest(baseline, values)
            or "Name it: --variant COLUMN; and one of its values: --baseline NAME",
        )
    raise AssertionError


def _seed_columns(table: pd.DataFrame, taken: set[str]) -> list[str]:
    """Returns the column that holds the seeds: the one of this name, or the only one whose name says so."""
    named = [str(name) for name in table if is_seed(str(name)) and name not in taken]
    exact = [name for name in named if bare(name) == "seed"]
    if exact:
        return exact[:1]
    return named if len(named) == 1 else []


def joined_column(table: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """Returns a column; of several columns `A=…, B=…` in each row."""
    if len(names) == 1:
        return table[names[0]]
    texts = pd.Series("", table.index)
    for place, name in enumerate(names):
        texts += ", " * bool(place) + f"{name}=" + table[name]
    return texts


def check_columns(columns: RunColumns, metrics: Sequence[str]) -> None:
    """Raises `Invalid` for columns that the table lacks, and for a role that takes one column and has several."""
    table, roles = columns.table, columns.roles
    with Gather() as at:
        for role, names in roles.items():
            place = f"--{role}" if role in CONDITION_NUMBERS else f"--column {role}"
            at.refuse(len(names) > 1 and role not in _SEVERAL, place, "takes one column", listed(names))
            at.refuse(len({*names}) < len(names), place, "must name each column once", listed(names))
            judged = [name for name in names if name in metrics]
            at.refuse(judged, place, "names a metric, which is a result of a run", listed(judged))
        at.refuse(
            "source" in roles and "example" not in roles,
            "--column source",
            "says where each example is from, but RUNS has no column of examples",
            hint="Name their column too: --column example NAME",
        )
        for name in dict.fromkeys([*itertools.chain(*roles.values()), *metrics]):
            at.refuse(
                name not in table,
                "RUNS",
                f"has no column {name!r}",
                "",
                listed(map(str, table.columns)),
                nearest(name, map(str, table.columns))
                or "Say which it is: --metric NAME, --variant COLUMN, --seed COLUMN",
            )


def guesses_in_words(columns: RunColumns) -> Iterator[str]:
    """Yields the sentence on what was guessed, as the call that says it outright."""
    if columns.guessed:
        yield message("analyse.guessed", " ".join(filter(None, [columns.options.command, *columns.guessed])))
