"""The conditions of runs that exist: how the call takes them together, and what the report says of that.

A scale is declared, in a column. The range of the runs themselves is none: it grows with their number, and with the
difference that is judged; and one range of the metric is the same in all conditions, so that it changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, assert_never

from ablate.analysis.conditions import LEAST_SEEDS
from ablate.analysis.form_prospects import LEAST_CONDITIONS_FOR_MEAN
from ablate.analysis.independent_conditions import LEAST_INDEPENDENT
from ablate.analysis.sample_of_conditions import LEAST_CONDITIONS
from ablate.base.errors import Gather, Invalid, listed
from ablate.base.numerals import POSITIVE, number_in
from ablate.core.facts import BASELINE, StudyFacts
from ablate.core.over import LEAST_TREND, Form, Over
from ablate.core.replication import (
    Examples,
    Folds,
    GivenSeeds,
    KnownNoise,
    PlannedSeeds,
    Summaries,
    UnpairedRuns,
)
from ablate.report.words import message
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import RunTable

_MOST = 3
"""The most conditions that a refusal names."""
_JUDGED: Mapping[Form, str] = {
    "each": "analyse.over_each",
    "mean": "analyse.over_mean",
    "every": "analyse.over_every",
    "sample": "analyse.over_sample",
}
"""Form → the code of the words that say how conditions are judged."""
_DECLARE = "--independent-seeds states that the seeds of conditions are independent"


def over_of(table: RunTable, facts: StudyFacts, options: AnalysisOptions) -> Over:
    """Returns how a call takes the conditions of its runs together. Raises `Invalid`.

    facts: of the report, as yet without it.
    """
    over = Over(options.over or "each", along=options.along, independent_seeds=options.independent_seeds)
    with Gather() as at:
        _refuse_numbers_of_conditions(at, over, facts)
        _refuse_unused(at, over, options)
        if _adds_conditions(over):
            _refuse_what_has_no_mean(at, over, facts, options)
            _refuse_seeds(at, over, facts)
        with at():
            over = replace(over, scales=_numbers(table, "scale"))
        with at():
            over = replace(over, sizes=_numbers(table, "along"))
            _refuse_equal_sizes(at, over)
    return over


def conditions_in_words(table: RunTable, facts: StudyFacts, options: AnalysisOptions) -> Iterator[str]:
    """Yields sentences on what was taken for a condition, and how conditions are judged together.

    Where the call leaves that open, and there are many, the sentence says how they would be.
    """
    over = facts.over
    count = len(facts.tasks)
    columns = table.condition_columns
    kind = "analyse.condition_values" if len(columns) == 1 else "analyse.condition_combinations"
    values = message(kind, count)
    if not over.joins_conditions and not over.along:
        if (
            options.over is None
            and count >= LEAST_CONDITIONS_FOR_MEAN
            and _have_a_mean(table, facts, options)
        ):
            yield message("analyse.many_conditions", values, columns)
        return
    yield message("analyse.conditions", values, columns, message(_JUDGED[over.form]))
    yield from _without_runs(facts)
    if over.along:
        yield message("analyse.along", over.along, min(over.sizes.values()), max(over.sizes.values()))
    if not _adds_conditions(over):
        return
    if over.scales:
        yield message(
            "analyse.scaled_by_column", options.scale, min(over.scales.values()), max(over.scales.values())
        )
    if over.independent_seeds:
        yield message("analyse.independent_seeds")


def _without_runs(facts: StudyFacts) -> Iterator[str]:
    """Yields a sentence on each variant that has no runs in some condition, so that it is not judged over them."""
    for variant in facts.variants:
        lacking = [task.name for task in facts.tasks if not facts.seeds_of(variant.name, task.name)]
        if lacking:
            yield message("analyse.without_runs", facts.labels.get(variant.name, variant.name), lacking)


def _have_a_mean(table: RunTable, facts: StudyFacts, options: AnalysisOptions) -> bool:
    """Returns whether a call with `--over mean` would be judged."""
    try:
        over_of(table, facts, replace(options, over="mean"))
    except Invalid:
        return False
    return True


def _adds_conditions(over: Over) -> bool:
    """Returns whether differences of several conditions are added, as in a mean or a trend."""
    return over.form in ("mean", "sample") or bool(over.along)


def _option_of(over: Over) -> Literal["--over", "--along"]:
    """Returns the option that adds conditions."""
    return "--over" if over.form in ("mean", "sample") else "--along"


def _refuse_numbers_of_conditions(at: Gather, over: Over, facts: StudyFacts) -> None:
    """Refuses fewer conditions than a call takes, and names that tables use otherwise."""
    names = [task.name for task in facts.tasks]
    hint = "Name their column: --column condition NAME"
    needed = LEAST_CONDITIONS if over.form == "sample" else 2
    at.refuse(
        over.joins_conditions and len(names) < needed,
        f"--over {over.form}",
        f"takes {needed} conditions or more",
        len(names),
        hint="--over mean is about these conditions alone" if len(names) > 1 else hint,
    )
    at.refuse(
        over.along and len(names) < LEAST_TREND,
        "--along",
        f"takes {LEAST_TREND} conditions or more",
        len(names),
        hint="Of two, claim `A beats B on METRIC by more at NAME than at NAME`" if len(names) > 1 else hint,
    )
    taken = [name for name in names if name in over.reserved_names]
    at.refuse(taken, "RUNS", "has conditions with names that tables use for all of them", listed(taken))


def _refuse_unused(at: Gather, over: Over, options: AnalysisOptions) -> None:
    """Refuses `--scale` and `--independent-seeds` where the call adds no conditions, which they are about."""
    at.refuse(
        options.scale and not _adds_conditions(over) and not options.claim,
        "--scale",
        "divides differences before conditions are added, which this call does not do",
        hint="Add --over mean",
    )
    at.refuse(
        over.independent_seeds and over.form not in ("mean", "sample"),
        "--independent-seeds",
        "is about the mean over conditions, which this call does not ask for",
        hint="Add --over mean",
    )


def _refuse_what_has_no_mean(at: Gather, over: Over, facts: StudyFacts, options: AnalysisOptions) -> None:
    """Refuses to add differences of success rates, of single runs by example, and under `--known-noise`."""
    option = _option_of(over)
    at.refuse(
        options.all_or_nothing is not None,
        option,
        "has no mean of runs that solve the task or do not",
        hint="--over every judges them",
    )
    at.refuse(
        isinstance(facts.replication, Examples),
        option,
        "takes several runs of each variant; these are single runs, compared by their examples",
        hint="--over every judges them",
    )
    at.refuse(
        isinstance(facts.replication, KnownNoise),
        option,
        "takes runs of the baseline in each condition, and not --known-noise",
        hint="--over every judges them",
    )


def _refuse_seeds(at: Gather, over: Over, facts: StudyFacts) -> None:
    """Refuses conditions whose baseline shares too few seeds; under `--independent-seeds`, those that share any."""
    seeds = [[*facts.seeds_of(BASELINE, task.name)] for task in facts.tasks]
    seeds = [of_condition for of_condition in seeds if of_condition]
    if not seeds:
        return
    if over.independent_seeds:
        _refuse_dependent(at, facts, seeds)
    if not over.independent_seeds or over.along:
        _refuse_unshared(at, over, facts, seeds)


def _refuse_dependent(at: Gather, facts: StudyFacts, seeds: Sequence[Sequence[int]]) -> None:
    """Refuses seeds that several conditions have, and conditions with few seeds."""
    unit = facts.replication.run_name
    num_conditions = Counter(seed for of_condition in seeds for seed in of_condition)
    shared = sorted(seed for seed, count in num_conditions.items() if count > 1)
    at.refuse(
        shared,
        "--independent-seeds",
        f"takes {unit}s with another number in each condition",
        listed(shared),
        hint="Without it, runs of one number are taken together, which holds whether or not they share random numbers",
    )
    fewest = min(len(of_condition) for of_condition in seeds)
    at.refuse(
        fewest < LEAST_INDEPENDENT and facts.compare == BASELINE,
        "--independent-seeds",
        f"takes {LEAST_INDEPENDENT} runs or more of the baseline in each condition",
        fewest,
    )


def _refuse_unshared(at: Gather, over: Over, facts: StudyFacts, seeds: Sequence[Sequence[int]]) -> None:
    """Refuses runs that have too few seeds in common over conditions, or no seeds."""
    option = _option_of(over)
    hint = _DECLARE if option == "--over" else ""
    replication = facts.replication
    match replication:
        case Summaries():
            at.refuse(True, option, "takes runs with seeds; means and deviations have none", hint=hint)
        case UnpairedRuns():
            at.refuse(True, option, "takes runs with seeds that conditions share; these have none", hint=hint)
        case GivenSeeds() | Folds() | PlannedSeeds():
            shared = set.intersection(*[{*of_condition} for of_condition in seeds])
            at.refuse(
                len(shared) < LEAST_SEEDS and facts.compare == BASELINE,
                option,
                f"takes {LEAST_SEEDS} {replication.run_name}s or more that the baseline has in every condition",
                len(shared),
                hint=hint,
            )
        case Examples() | KnownNoise():
            return
        case _:
            assert_never(replication)


def _numbers(table: RunTable, role: Literal["scale", "along"]) -> dict[str, float]:
    """Returns condition → its number in the column of a role; none without one. Raises `Invalid`."""
    numbers: dict[str, float] = {}
    wrong: list[str] = []
    for condition, cells in table.condition_cells.get(role, {}).items():
        values = {number_in(cell) for cell in cells}
        number = values.pop() if len(values) == 1 else None
        if number is None or number not in POSITIVE:
            wrong.append(f"{condition} has {listed(cells, 4) or 'none'}")
        else:
            numbers[condition] = number
    if wrong:
        rule = "takes one number above 0 for each condition"
        raise Invalid(f"--{role}", rule, "; ".join(wrong[:_MOST]))
    return numbers


def _refuse_equal_sizes(at: Gather, over: Over) -> None:
    """Refuses a trend along a number that several conditions share."""
    count = Counter(over.sizes.values())
    equal = [name for name, size in over.sizes.items() if count[size] > 1]
    hint = "--where keeps the conditions of one trend"
    at.refuse(
        equal, "--along", "takes conditions of which no two have one number", listed(equal, 4), hint=hint
    )
