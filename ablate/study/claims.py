"""Claims of a study, read and looked up: what they are about, which variants they compare, by which margin."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.numerals import NOT_NEGATIVE, POSITIVE, number_in
from ablate.core.derived import DERIVED
from ablate.core.facts import Claim, Less
from ablate.core.metric import Metric, plain
from ablate.core.metric_range import check_margin
from ablate.study.claim_grammar import Statement, read_statement
from ablate.study.claim_sides import Sides, find_sides
from ablate.study.designs import Design


@dataclass(frozen=True)
class Claimable:
    """The metrics and constants that claims of a study may use."""

    # Of several tasks, those with the smallest range. Empty where they are not known: then any name may be one.
    metrics: Mapping[str, Metric]
    # Derived metric that the study cannot give → what it would have to give for it.
    lacking: Mapping[str, str] = field(default_factory=dict)
    # Constant of every task → the metrics that it has a value of.
    constants: Mapping[str, Collection[str]] = field(default_factory=dict)


def parse_claim(text: str, design: Design | None, claimable: Claimable) -> Claim:
    """Reads a claim about the variants of `design`; without a design, its sides are not looked up.

    Raises `Invalid` with everything that is wrong.
    """
    statement = read_statement(text)
    margin = 0.0
    less = Less([], [], statement.metrics[-1]) if statement.kind == "interaction" else None
    sides = Sides(less=less)
    with Gather() as at:
        for metric in statement.metrics:
            with at():
                _check_metric(metric, claimable, statement.text)
        with at():
            _check_slices(statement)
        with at():
            margin = _margin(statement, claimable.metrics)
        if design is not None:
            with at():
                sides = find_sides(statement, design, claimable.constants)
    return Claim(
        text=statement.text,
        kind=statement.kind,
        metric=statement.metric,
        a=sides.a,
        b=sides.b,
        by=margin,
        less=sides.less,
        constant=sides.constant,
    )


def _check_metric(metric: str, claimable: Claimable, text: str) -> None:
    """Raises `Invalid` for a metric that the study cannot tell or does not know."""
    if metric in claimable.lacking:
        rule = f"is about {metric}, which this study does not measure"
        raise Invalid("", rule, text, hint=claimable.lacking[metric])
    if claimable.metrics and metric not in claimable.metrics:
        allowed = listed(claimable.metrics)
        raise Invalid("", f"unknown metric {metric!r}", text, allowed, nearest(metric, claimable.metrics))


def _check_slices(statement: Statement) -> None:
    """Raises `Invalid` for an interaction of two metrics that are not one metric on two slices."""
    more = statement.metric
    less = statement.metric_less
    if less and (more == less or plain(more) != plain(less)):
        raise Invalid("", f"takes one metric on two slices, not {more} and {less}", statement.text)


def _margin(statement: Statement, metrics: Mapping[str, Metric]) -> float:
    """Returns X of a claim, 0 where it has none.

    Raises `Invalid` for a margin that cannot be, and for an interaction of a metric that is none of single runs.
    """
    metric = statement.metric
    if statement.kind == "interaction":
        if metric in DERIVED and DERIVED[metric].kind != "mean":
            rule = f"an interaction takes a metric of single runs, and {metric} is computed over several"
            raise Invalid("", rule, statement.text, hint="Claim each of the two differences")
        return 0.0
    if not statement.margin:
        return 0.0
    margin = _number(statement)
    check_margin(margin, metric, metrics.get(metric), statement.text)
    return margin


def _number(statement: Statement) -> float:
    """Returns X of a claim that has one: not negative, and above 0 but for `beats`."""
    given = statement.margin
    value = number_in(given)
    match statement.kind:
        case "beats" | "interaction" | "gains":
            domain = NOT_NEGATIVE
            rule = f"has a margin that is not a finite number: {given!r}"
            example = "for instance `by 0.02`"
        case "matches" | "does_not_lose":
            domain = POSITIVE
            rule = f"has a margin that is not a positive number: {given!r}"
            example = "for instance `within 0.02`"
        case _:
            assert_never(statement.kind)
    if value is None or value not in domain:
        raise Invalid("", rule, statement.text, example)
    return value
