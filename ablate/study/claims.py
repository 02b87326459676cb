"""Claims of a study, read and looked up: what they are about, which variants they compare, by which margin."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    # Condition, or task → the metrics that it has.
    conditions: Mapping[str, Mapping[str, Metric]] = field(default_factory=dict)
    # The path along which conditions are ordered; empty where they are not.
    along: str = ""
    # Metrics whose margins, of claims over all conditions, are in units of each condition's range or scale.
    scaled: Collection[str] = ()


def parse_claim(text: str, design: Design | None, claimable: Claimable) -> Claim:
    """Reads a claim about the variants of `design`; without a design, its sides are not looked up.

    Raises `Invalid` with everything that is wrong.
    """
    statement = read_statement(text)
    conditions = _conditions(statement, claimable)
    if len(conditions) > 1:
        # Both differences have the same sides, as on two slices.
        statement = replace(statement, place="", place_less="")
    margin = 0.0
    less = Less([], [], statement.metrics[-1]) if statement.kind == "interaction" else None
    sides = Sides(less=less)
    with Gather() as at:
        with at():
            _check_conditions(conditions, claimable, statement.text)
        with at():
            _check_along(statement, claimable)
        for metric in statement.metrics:
            with at():
                _check_metric(metric, claimable, statement.text)
        with at():
            _check_slices(statement)
        with at():
            margin = _margin(statement, claimable)
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
        less=_less_in(sides.less, conditions),
        constant=sides.constant,
        condition=conditions[0] if conditions else "",
        along=statement.along,
    )


def _conditions(statement: Statement, claimable: Claimable) -> list[str]:
    """Returns the one condition that a claim is about, or the two of an interaction of conditions; else none."""
    if statement.condition:
        return [statement.condition]
    places = statement.places
    if not claimable.conditions:
        return []
    is_named = any(place in claimable.conditions for place in places)
    is_level = any("=" in place for place in places)
    return places if is_named or not is_level else []


def _less_in(less: Less | None, conditions: Sequence[str]) -> Less | None:
    """Returns the other place of an interaction, with its condition where it is one of two."""
    if less is None or len(conditions) < 2:
        return less
    return replace(less, condition=conditions[1])


def _check_conditions(conditions: Sequence[str], claimable: Claimable, text: str) -> None:
    """Raises `Invalid` for conditions that the study does not have, and for an interaction of one with itself."""
    known = claimable.conditions
    for name in dict.fromkeys(conditions):
        if name in known:
            continue
        if not known:
            raise Invalid("", f"is about a condition, {name!r}, and the study has none", text)
        raise Invalid("", f"unknown condition {name!r}", text, listed(known), nearest(name, known))
    if len(conditions) > 1 and len({*conditions}) == 1:
        raise Invalid("", f"takes two conditions, not {conditions[0]} twice", text, listed(known))


def _check_along(statement: Statement, claimable: Claimable) -> None:
    """Raises `Invalid` for a claim along another path than that of the study."""
    path = statement.along
    if not path or path == claimable.along:
        return
    if not claimable.along:
        rule = f"is along {path}, and the study does not say along which number its conditions differ"
        raise Invalid("", rule, statement.text, hint=f"Add `along: {path}`")
    rule = f"is along {path}, and the conditions of the study differ along {claimable.along}"
    hint = f"Write `along {claimable.along}`"
    raise Invalid("", rule, statement.text, hint=hint)


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


def _margin(statement: Statement, claimable: Claimable) -> float:
    """Returns X of a claim, 0 where it has none.

    Raises `Invalid` for a margin that cannot be, and for an interaction or a trend of a metric that is none of single
    runs.
    """
    metric = statement.metric
    is_of_single_runs = metric not in DERIVED or DERIVED[metric].kind == "mean"
    if statement.kind == "interaction":
        if not is_of_single_runs:
            rule = f"an interaction takes a metric of single runs, and {metric} is computed over several"
            raise Invalid("", rule, statement.text, hint="Claim each of the two differences")
        return 0.0
    if statement.kind == "gains" and not is_of_single_runs:
        rule = f"a trend takes a metric of single runs, and {metric} is computed over several"
        raise Invalid("", rule, statement.text, hint="Claim the difference in each condition, `at NAME`")
    if not statement.margin:
        return 0.0
    margin = _number(statement)
    is_in_own_unit = bool(statement.condition) or metric not in claimable.scaled
    if is_in_own_unit and statement.kind != "gains":
        metrics = claimable.conditions.get(statement.condition) or claimable.metrics
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
