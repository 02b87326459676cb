"""What each column of a table of runs means: as the call says, as the format says, or by its name and cells."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.core.directions import usual_direction
from ablate.report.words import message
from ablate.runs.cells import is_number, number_in
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import RunsFound
from ablate.runs.settings import PREFIXES, data_rank, is_outcome, is_seed
from ablate.runs.statuses import is_kept, status_column

JOINED = ("variant", "task")
"""Roles that several columns may have together."""
_VARIANTS = (
    *("variant", "method", "model", "name", "experiment", "configuration", "config", "algorithm", "approach"),
    *("architecture", "arch", "system", "condition", "ablation", "treatment", "setting", "run_name", "run"),
    *("label", "commit", "sha"),
)
"""Names of columns that hold variants, in small letters, likely ones first."""
_BASELINES = ("baseline", "base", "control", "reference", "vanilla")
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
_SEED_AT_END = r"[\s_.,/=-]+(?:s|seed|rep|run)[\s_=-]?([0-9]+)$"
"""The end of the name of a run that says its seed, as in `wide_s3`."""
_MARKS = " _-/.,="
"""What is left of a name at the place of its seed."""
_OF_LETTERS = re.compile(r"[A-Za-z]+[\s_=-]?(\d+)")
"""A seed that letters precede, such as `s0`."""


@dataclass(frozen=True)
class RunColumns:
    """A table with the role of each column, and the options that the call leaves to be guessed."""

    table: pd.DataFrame
    options: AnalysisOptions
    roles: Mapping[str, Sequence[str]]
    """Role → its columns."""
    guessed: Sequence[str] = field(default=())
    """The guesses as options: `--column variant Name`."""


def _bare(name: object) -> str:
    """Returns the name of a column in small letters, without what says that it is a setting."""
    text = str(name).lower()
    prefix = next((prefix for prefix in PREFIXES if text.startswith(prefix)), "")
    return text.removeprefix(prefix)


def columns_of(found: RunsFound, options: AnalysisOptions) -> RunColumns:
    """Returns the columns of runs by their roles. Raises `Invalid`."""
    table = found.table
    roles = _given(table, options)
    guessed: list[str] = []

    def guess(role: str, names: Sequence[str]) -> None:
        roles[role] = list(names)
        if names != [role]:
            guessed.append(f"--column {role} {shlex.quote(','.join(names))}")

    for role, names in found.roles.items():
        roles.setdefault(role, list(names))
    if "variant" not in roles:
        guess("variant", _variant_columns(table, options, _taken(roles)))
    if options.seed in table:
        roles["seed"] = [options.seed]
    elif options.seed and "seed" not in roles:  # A reader may have found them in the names of folders.
        table = _with_seeds(table, roles["variant"], options.seed)
        roles["seed"] = ["seed"]
    elif "seed" not in roles:
        seeds = _seed_columns(table, _taken(roles))
        if seeds:
            guess("seed", seeds)
        elif ends_with_seeds(table, roles["variant"]):
            table = _with_seeds(table, roles["variant"], _SEED_AT_END)
            roles["seed"] = ["seed"]
            guessed.append(f"--seed {shlex.quote(_SEED_AT_END)}")
    for role in ("task", "example"):
        named = [str(name) for name in table if _bare(name) == role and name not in _taken(roles)]
        if role not in roles and named:
            guess(role, [role] if role in named else named[:1])
    status = status_column(table)
    if "status" not in roles and status is not None and status not in _taken(roles):
        guess("status", [status])
    options = _with_metric(options, table, _taken(roles), guessed)
    if not options.baseline:
        is_stream = "status" in roles and bool(is_kept(table[roles["status"][0]]).any())
        variants = joined_column(table, roles["variant"])
        options = _with_baseline(options, variants, guessed, is_stream=is_stream)
    return RunColumns(table, options, roles, guessed)


def step_column(columns: RunColumns) -> str | None:
    """Returns the column that numbers the steps of runs: the one that the format names, or else by name and values.

    None where no run has several rows. Rows without a column of seeds are steps of one run where all variants go
    through much the same steps, in order; else they are runs.
    """
    table, roles = columns.table, columns.roles
    if "step" in roles:
        return roles["step"][0]
    named = [name for name in table if str(name).lower() in STEPS and name not in _taken(roles)]
    run = [
        *itertools.chain(*(roles[role] for role in ("variant", "task", "seed", "example") if role in roles))
    ]
    if not named or not table.duplicated(run).any():
        return None
    for name in sorted(named, key=lambda name: STEPS.index(str(name).lower())):
        is_unique = not table.duplicated([*run, name]).any()
        if is_unique and ("seed" in roles or _are_in_step(table[name], table[run].agg(tuple, axis=1))):
            return str(name)
    return None


def _are_in_step(steps: pd.Series, runs: pd.Series) -> bool:
    """Returns whether the steps of each run rise from row to row, and most are those of another run too."""
    numbers = steps.map(number_in)
    by_run = numbers.groupby(runs.to_numpy(), sort=False)
    is_shared = numbers.map(numbers.value_counts()) > 1
    return bool(by_run.apply(lambda of_run: of_run.is_monotonic_increasing).all() and is_shared.mean() > 0.5)


def _given(table: pd.DataFrame, options: AnalysisOptions) -> dict[str, list[str]]:
    """Returns role → the columns that the call names."""
    given: dict[str, list[str]] = {}
    for role, name in options.column:
        names = [name] if name in table or role not in JOINED else name.split(",")
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
    pattern = _SEED_AT_END if not options.seed or options.seed in table else _checked(options.seed, table)
    by_name = sorted(
        (name for name in open_columns if _bare(name) in _VARIANTS),
        key=lambda name: _VARIANTS.index(_bare(name)),
    )
    if not baseline:
        candidates = by_name
    else:
        others = [name for name in open_columns if name not in by_name and not _is_measured(table, name)]
        candidates = [name for name in [*by_name, *others] if _holds(table[name], baseline, pattern)]
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


def hint_of_numbers(baseline: str, names: Iterable[str]) -> str:
    """Returns how to say that the numbers at the ends of names are seeds, where the baseline stands before some."""
    is_numbered = any(re.fullmatch(rf"{re.escape(baseline)}[_-]\d+", name) for name in names)
    return "Where the numbers at the ends of names are seeds: --seed '[_-]([0-9]+)$'" if is_numbered else ""


def _holds(column: pd.Series, baseline: str, pattern: str) -> bool:
    """Returns whether the baseline is a value of a column, or one less the seed that a pattern finds."""
    values = column.unique()
    if baseline in values:
        return True
    return baseline in [re.sub(pattern, "", value, flags=re.IGNORECASE).strip(_MARKS) for value in values]


def _is_measured(table: pd.DataFrame, name: str) -> bool:
    """Returns whether a column holds numbers that say how a run came out; those of settings do not."""
    if str(name).lower().startswith(PREFIXES):
        return False
    present = table[name][table[name] != ""]
    return is_outcome(str(name)) and bool(present.map(is_number).all())


def _seed_columns(table: pd.DataFrame, taken: set[str]) -> list[str]:
    """Returns the column that holds the seeds: the one of this name, or the only one whose name says so."""
    named = [str(name) for name in table if is_seed(str(name)) and name not in taken]
    exact = [name for name in named if _bare(name) == "seed"]
    if exact:
        return exact[:1]
    return named if len(named) == 1 else []


def ends_with_seeds(table: pd.DataFrame, variants: Sequence[str]) -> bool:
    """Returns whether the names of all runs end with a seed, of which some variant has several."""
    if len(variants) > 1:
        return False
    names = table[variants[0]]
    shorter = names.str.replace(_SEED_AT_END, "", case=False, regex=True)
    return bool((shorter != names).all() and shorter.duplicated().any())


def _with_seeds(table: pd.DataFrame, variants: Sequence[str], pattern: str) -> pd.DataFrame:
    """Returns a table with a column `seed`, which a pattern finds in the names of variants and takes out of them.

    Raises `Invalid` for a pattern that does not find one number in each name.
    """
    names: list[str] = []
    matches = seed_matches(table[variants[0]], pattern, table.columns)
    for name, match in zip(table[variants[0]], matches, strict=True):
        rest = name[: match.start()] + name[match.end() :]
        names.append(rest.strip(_MARKS))
    return table.assign(**{variants[0]: names, "seed": [match[match.lastindex or 0] for match in matches]})


def _checked(pattern: str, columns: Iterable[object]) -> str:
    """Returns the pattern of `--seed`. Raises `Invalid` for one that is none, with the columns it might have meant."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise Invalid(
            "--seed", f"is neither a column nor a pattern: {error}", pattern, listed(map(str, columns))
        ) from None
    return pattern


def seed_matches(names: pd.Series, pattern: str, columns: Collection[object]) -> list[re.Match[str]]:
    """Returns the match of a pattern in each name, whose last group is the seed.

    columns: what `--seed` may name beside a pattern. Raises `Invalid` for a pattern that does not find one number in
    each name.
    """
    compiled = re.compile(_checked(pattern, columns), re.IGNORECASE)
    matches: list[re.Match[str]] = []
    for place, name in names.items():
        match = compiled.search(name)
        if match is None or not match[match.lastindex or 0].isdecimal():
            rule = "is no column, and a pattern must find a number in the name of each run"
            hint = nearest(pattern, map(str, columns)) or "For example: --seed '_s([0-9]+)'"
            raise Invalid("--seed", rule, f"{pattern!r} in {name!r} ({place})", listed(columns), hint)
        matches.append(match)
    return matches


def whole_seeds(texts: pd.Series) -> pd.Series:
    """Returns seeds without the letters before them, where all have the same: `s0`, `seed_1`."""
    matches = texts.str.fullmatch(_OF_LETTERS)
    prefixes = texts.str.replace(r"\d+$", "", regex=True)
    if not len(texts) or not matches.all() or prefixes.nunique() > 1:
        return texts
    return texts.str.replace(_OF_LETTERS, r"\1", regex=True)


def _with_metric(
    options: AnalysisOptions, table: pd.DataFrame, taken: set[str], guessed: list[str]
) -> AnalysisOptions:
    """Returns the options with metric and direction, which are guessed where the call does not name them."""
    metric = options.metric
    if not metric:
        metric = _only_outcome(table, taken)
        guessed.append(f"--metric {shlex.quote(metric)}")
    elif metric not in table:
        meant = [str(name) for name in table if _spelled_alike(str(name), metric)]
        if len(meant) == 1:
            metric = meant[0]
            guessed.append(f"--metric {shlex.quote(metric)}")
    direction = options.direction
    if direction is None:
        direction = usual_direction(metric)
        if direction is None:
            raise Invalid(
                "--direction", f"is needed: the name {metric!r} does not say which is better", "", "max, min"
            )
        guessed.append(f"--direction {direction}")
    return replace(options, metric=metric, direction=direction)


def _with_baseline(
    options: AnalysisOptions, variants: pd.Series, guessed: list[str], *, is_stream: bool
) -> AnalysisOptions:
    """Returns the options with the baseline: the variant that is called so. Raises `Invalid` where none is.

    It is the first of a stream of tries, which a loop has kept or discarded, and where all pairs are compared.
    """
    names = [name for name in variants.unique() if name]
    called = [name for name in names if name.lower() in _BASELINES]
    if options.compare or is_stream:
        called = names[:1]
    if len(called) != 1:
        raise Invalid(
            "--baseline", "is needed: name the variant that the others are compared with", "", listed(names)
        )
    guessed.append(f"--baseline {shlex.quote(called[0])}")
    return replace(options, baseline=called[0])


def _only_outcome(table: pd.DataFrame, taken: set[str]) -> str:
    """Returns the only column that holds numbers and has the name of an outcome.

    One on test data goes before those on validation data, and these before others. Raises `Invalid` for several.
    """
    outcomes = [str(name) for name in table if name not in taken and _is_measured(table, str(name))]
    ranks = {name: data_rank(name) for name in outcomes}
    first = [name for name in outcomes if ranks[name] == min(ranks.values())]
    if len(first) != 1:
        raise Invalid(
            "--metric",
            "is needed: name the column that is judged",
            "",
            listed(outcomes or map(str, table.columns)),
        )
    return first[0]


def joined_column(table: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """Returns a column; of several columns `A=…, B=…` in each row."""
    if len(names) == 1:
        return table[names[0]]
    texts = pd.Series("", table.index)
    for place, name in enumerate(names):
        texts += ", " * bool(place) + f"{name}=" + table[name]
    return texts


def _spelled_alike(name: str, metric: str) -> bool:
    """Returns whether two names differ in signs and capitals alone, or one is the end of the other's dotted name."""
    spelled = re.sub(r"[^a-z0-9]+", "_", name.lower())
    asked = re.sub(r"[^a-z0-9]+", "_", metric.lower())
    return spelled == asked or name.lower().endswith((f".{metric.lower()}", f"/{metric.lower()}"))


def check_columns(columns: RunColumns, metrics: Sequence[str]) -> None:
    """Raises `Invalid` for columns that the table lacks, and for a role that takes one column and has several."""
    table, roles = columns.table, columns.roles
    with Gather() as at:
        for role, names in roles.items():
            place = f"--column {role}"
            at.refuse(len(names) > 1 and role not in JOINED, place, "takes one column", listed(names))
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
