"""The options of `ablate analyse`, which add what a file of runs does not have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import click

from ablate.base.errors import Gather, Invalid, Problem
from ablate.base.numerals import FINITE, NOT_NEGATIVE, POSITIVE
from ablate.base.text import DEFAULT_RESULTS
from ablate.core.metric import Direction, Metric
from ablate.core.metric_range import check_declared
from ablate.core.over import Form
from ablate.runs.option_values import (
    DIRECTIONS,
    MADE_WITH,
    ROLE_OF_WORD,
    ROLES,
    column_name,
    column_name_if_any,
    columns_by_role,
    directions_by_metric,
    patterns_by_name,
    values_made_with,
)
from ablate.session.option import as_texts, check_options, option
from ablate.session.option_types import FolderType

FILE = click.Path(path_type=Path, dir_okay=False)
OF_ANY_METRIC = ("baseline", "compare")
"""Options that runs may declare whatever metric is judged."""


def reserved_names() -> Sequence[str]:
    """Returns the names that no metric may have: of columns, and of metrics that are derived from the runs."""
    from ablate.core.derived import DERIVED
    from ablate.core.facts import TRIAL_COLUMNS

    return (*TRIAL_COLUMNS, "example", "source", *DERIVED)


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions:
    """The options of `ablate analyse` and of `ablate.analyse`."""

    baseline: str = option("", "Variant that the others are compared with.", read=column_name, metavar="NAME")
    metric: str = option("", "Column of the metric that is judged.", read=column_name, metavar="NAME")
    direction: Direction | None = option(
        None,
        "max: more is better; min: less is better.",
        in_python="`max` where more is better, else `min`; None: as the name of the metric says.",
        choices=DIRECTIONS,
    )
    margin: float | None = option(None, "Variants are equivalent within ±X.", domain=POSITIVE, metavar="X")
    claim: str | Sequence[str] = option(
        (),
        "'A beats B on METRIC' and the like; may be repeated.",
        in_python="`A beats B on METRIC` and the like, or a list of such claims.",
        texts=True,
        metavar="CLAIM",
    )
    floor: float | None = option(
        None, "Value of guessing; a diverged run counts as this.", domain=FINITE, metavar="X"
    )
    ceiling: float | None = option(None, "Best possible value.", domain=FINITE, metavar="X")
    resolution: float = option(
        0.0,
        "Smallest possible difference: 1/N for an accuracy over N examples.",
        domain=NOT_NEGATIVE,
        metavar="X",
    )
    all_or_nothing: float | None = option(
        None,
        "Compare how often runs solve the task, which they do at X or better.",
        domain=FINITE,
        metavar="X",
    )
    also: Mapping[str, Direction] = option(
        {},
        "Another metric, for claims; may be repeated.",
        in_python='Further metrics, for claims, with their directions: `{"loss": "min"}`.',
        read=directions_by_metric,
        type=(str, click.Choice(DIRECTIONS)),
        multiple=True,
    )
    column: Mapping[str, str | Sequence[str]] = option(
        {},
        "Column that is variant, condition (or task), seed, step, example, source or status; may be repeated. A "
        "variant and a condition may be several: `condition A,B`.",
        in_python="Role (variant, condition or task, seed, step, example, source, status) → its column; a variant and "
        "a condition may be several.",
        read=columns_by_role,
        type=(click.Choice([*ROLES, *ROLE_OF_WORD]), str),
        multiple=True,
        metavar="ROLE NAME",
    )
    variant: str | Sequence[str] = option(
        (),
        "Column of the variants, or several.",
        texts=True,
        multiple=False,
        default="",
        metavar="COLUMN[,COLUMN]",
    )
    seed: str = option(
        "",
        "Column of the seeds, or a pattern that finds them in names.",
        read=column_name_if_any,
        metavar="COLUMN|PATTERN",
    )
    where: str | Sequence[str] = option(
        (),
        "Read only rows with COLUMN=VALUE, or that meet a query of pandas; may be repeated.",
        in_python="Read only rows with `COLUMN=VALUE`, or that meet a query of pandas; or a list of such conditions.",
        texts=True,
        metavar="CONDITION",
    )
    at: str = option(
        "",
        "Row of a run that counts, where it has one for each step (default: last).",
        in_python="Row of a run that counts, where it has one for each step: `last`, `best METRIC` or `step N`.",
        metavar="'last|best METRIC|step N'",
    )
    compare: Literal["all_pairs"] | None = option(
        None,
        "Compare each variant with each other.",
        in_python="`all_pairs`: compare each variant with each other.",
        choices=("all_pairs",),
    )
    over: Form | None = option(
        None,
        "Judge variants in each condition (default), by the mean over these conditions, in every one of them, or over "
        "conditions of which these are a sample.",
        choices=get_args(Form),
    )
    scale: str = option(
        "",
        "Column with the number that differences of a condition are divided by.",
        read=column_name_if_any,
        metavar="COLUMN",
    )
    along: str = option(
        "",
        "Column with a number of each condition, along which a trend is shown.",
        read=column_name_if_any,
        metavar="COLUMN",
    )
    independent_seeds: bool = option(
        False, "State that the seeds of conditions are independent, which no file shows."
    )
    read: Mapping[str, str] = option(
        {},
        "Metric that a pattern finds in the lines of logs; may be repeated.",
        in_python="Names of metrics → the patterns that find them in the lines of logs.",
        read=patterns_by_name,
        multiple=True,
        metavar="NAME=PATTERN",
    )
    experiment: str = option("", "Experiment of MLflow, where RUNS has several.", metavar="NAME")
    replicates: bool = option(False, "Take rows of one variant as replicates although other columns differ.")
    known_noise: str | Path | None = option(
        None, "Judge single runs against the kept runs of a baseline.", type=FILE
    )
    made_with: Mapping[str, str] = option(
        {},
        "What the runs were made with: digest of evaluation, data or machine, or the commit; may be repeated.",
        in_python="What the runs were made with: the digests of `evaluation`, `data` and `machine`, and the `commit`.",
        read=values_made_with,
        type=(click.Choice(MADE_WITH), str),
        multiple=True,
        metavar="WHAT VALUE",
    )
    name: str | None = option(None, "Name of the report (default: that of RUNS).", metavar="NAME")
    results: str | Path | None = option(
        None,
        "Results folder.",
        type=FolderType(path_type=Path, file_okay=False),
        default=DEFAULT_RESULTS,
        show_default=True,
    )

    def __post_init__(self) -> None:
        """Raises `Invalid` for values that the command line would not take, as they may be in Python."""
        check_options(self)

    @property
    def command(self) -> str:
        """The call, as it was given on the command line; in Python there is none."""
        return ""

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Roles with the columns that have them; those of a variant or task may be several, separated by commas.

        Two roles have options of their own: the numbers of conditions, `scale` and `along`.
        """
        pairs = [("variant", name) for name in self.variant]
        for role, names in self.column.items():
            pairs += [(role, name) for name in as_texts(names)]
        pairs += [("scale", self.scale), ("along", self.along)]
        return [(role, name) for role, name in pairs if name]

    def names_of(self, role: str) -> list[str]:
        """Returns the columns that the call names for a role, each alone where it joins several by commas."""
        names: list[str] = []
        for other, joined in self.columns:
            if other == role:
                names += joined.split(",")
        return names

    @property
    def named_roles(self) -> list[str]:
        """The roles of which the call names a column."""
        return list(dict.fromkeys(role for role, _ in self.columns))

    @property
    def names_with_role(self) -> list[str]:
        """The columns that the call names for any role, each alone, in the order of their roles."""
        names: list[str] = []
        for role in self.named_roles:
            names += self.names_of(role)
        return names

    @property
    def named_columns(self) -> set[str]:
        """The columns that the call names: those of roles, also as they are joined, seeds and metrics."""
        joined = [name for _, name in self.columns]
        return {*self.names_with_role, *joined, self.seed, self.metric, *self.also} - {""}

    def metrics(self) -> Mapping[str, Metric]:
        """Returns the judged metric first, then the metrics that claims may use. Raises `Invalid`."""
        metric = Metric(
            self.judged_direction,
            self.resolution,
            floor=self.floor,
            ceiling=self.ceiling,
            solved=self.all_or_nothing,
            margin=self.margin,
        )
        with Gather() as at:
            try:
                check_declared(metric, self.metric)
            except Invalid as error:
                at.problems += [replace(problem, path=(_option(problem),)) for problem in error.problems]
            at.refuse(
                self.all_or_nothing is not None and (self.floor is None or self.ceiling is None),
                "--all-or-nothing",
                "takes --floor and --ceiling",
            )
        metrics = {self.metric: replace(metric, margin=None)}
        for name, direction in self.also.items():
            metrics[name] = Metric(direction)
        return metrics

    def or_declared(self, declared: Mapping[str, Any]) -> AnalysisOptions:
        """Returns the options with what runs declare where the call says nothing; of another metric nothing is used."""
        is_of_metric = self.metric in ("", declared.get("metric"))
        filled = {}
        for name, value in declared.items():
            is_given = getattr(self, name) not in (None, "", 0.0)
            if not is_given and (is_of_metric or name in OF_ANY_METRIC):
                filled[name] = value
        return replace(self, **filled)

    def check_names(self) -> None:
        """Raises `Invalid` for names of metrics that tables use for something else, and for the judged one again."""
        reserved = reserved_names()
        with Gather() as at:
            named_by_option = [("--metric", self.metric)]
            named_by_option += [("--also", name) for name in self.also]
            for option, name in named_by_option:
                at.refuse(
                    name in reserved,
                    option,
                    "is a name that tables of runs or claims use for something else",
                    name,
                    f"any name but {', '.join(reserved)}",
                    "Rename the column in RUNS",
                )
            at.refuse(
                self.metric in self.also, "--also", "must name another metric than --metric", self.metric
            )

    @property
    def judged_direction(self) -> Direction:
        """The direction of the judged metric, once it is known."""
        assert self.direction is not None
        return self.direction

    @property
    def directions(self) -> dict[str, Direction]:
        """The directions of the metrics that the call names."""
        directions = dict(self.also)
        if self.direction is not None:
            directions[self.metric] = self.direction
        return directions

    def baseline_among(self, variants: Sequence[str]) -> str:
        """Returns the name of the baseline among the variants, which may differ in spaces after commas."""
        spaced = re.sub(r",\s*", ", ", self.baseline)
        return self.baseline if self.baseline in variants or spaced not in variants else spaced


@dataclass(frozen=True, kw_only=True)
class AnalysisCall(AnalysisOptions):
    """The options of `ablate analyse`, with those that only the command line has."""

    keep_noise: Path | None = option(
        None, "Keep the baseline's runs in this file, and judge nothing.", after="known_noise", type=FILE
    )
    command: str = ""
    """The call, as it was given on the command line."""


def _option(problem: Problem) -> str:
    """Returns the option that gives the number of a metric that a problem is about."""
    (name,) = problem.path
    return "--all-or-nothing" if name == "solved" else f"--{name}"
