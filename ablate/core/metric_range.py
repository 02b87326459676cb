"""The rules that the numbers of a metric keep: floor, ceiling, solved, resolution and margin.

Each function raises `Invalid` at the name of the number that breaks a rule.
"""

from ablate.base.errors import Gather, Invalid
from ablate.base.numerals import FINITE, NOT_NEGATIVE, POSITIVE
from ablate.core.metric import Metric, sign


def check_numbers(metric: Metric) -> None:
    """Raises `Invalid` for a number that no metric has, and for a ceiling that is worse than the floor."""
    domains = (
        ("floor", metric.floor, FINITE),
        ("ceiling", metric.ceiling, FINITE),
        ("solved", metric.solved, FINITE),
        ("resolution", metric.resolution, NOT_NEGATIVE),
        ("margin", metric.margin, POSITIVE),
    )
    with Gather() as at:
        for name, value, domain in domains:
            if value is not None:
                with at():
                    domain.check(name, value)
    if metric.floor is None or metric.ceiling is None:
        return
    if sign(metric) * (metric.ceiling - metric.floor) < 0:
        raise Invalid("ceiling", "is worse than the floor, which is the value of guessing", metric.ceiling)


def check_declared(metric: Metric, name: str) -> None:
    """Raises `Invalid` where the numbers that a user declares of the metric `name` contradict one another."""
    check_numbers(metric)
    if metric.span == 0:
        raise Invalid(
            "ceiling", "equals the floor, so that no run can be better than another", metric.ceiling
        )
    with Gather() as at:
        if metric.solved is not None:
            with at():
                check_reachable(metric.solved, metric, "solved")
        if metric.margin is not None:
            with at():
                check_margin(metric.margin, name, metric, metric.margin, "margin")
        if metric.span is not None and metric.resolution > metric.span:
            rule = f"is wider than the distance from guessing to the best {name}"
            at.refuse(True, "resolution", rule, metric.resolution, f"at most {metric.span:g}")


def check_margin(margin: float, name: str, metric: Metric | None, given: object, place: str = "") -> None:
    """Raises `Invalid` for a margin that not even guessing and the best value differ by."""
    span = None if metric is None else metric.span
    if span is not None and margin >= span:
        rule = f"a margin must be less than the range of {name}, or everything is equivalent"
        raise Invalid(
            place, rule, given, f"less than {span:g}, the distance from guessing to the best {name}"
        )


def check_reachable(value: float, metric: Metric, place: str = "") -> None:
    """Raises `Invalid` for a value that is no better than guessing, or better than the best."""
    is_min = metric.direction == "min"
    above_floor = "less than" if is_min else "more than"
    up_to_ceiling = "at least" if is_min else "at most"
    bounds: list[str] = []
    if metric.floor is not None:
        bounds.append(f"{above_floor} {metric.floor:g}")
    if metric.ceiling is not None:
        bounds.append(f"{up_to_ceiling} {metric.ceiling:g}")
    allowed = ", ".join(bounds)
    if metric.floor is not None and sign(metric) * (value - metric.floor) <= 0:
        raise Invalid(place, "is reached by guessing, so that it shows nothing", value, allowed)
    if metric.ceiling is not None and sign(metric) * (value - metric.ceiling) > 0:
        raise Invalid(place, "cannot be reached, so that it shows nothing", value, allowed)
