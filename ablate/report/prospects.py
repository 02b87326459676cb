"""The words and the table of what planned seeds can tell, for `ablate plan`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from ablate.analysis.power import MAX_SEEDS
from ablate.analysis.prospects import Asked, Outlook, Power, Prospect
from ablate.base import wording
from ablate.base.errors import listed
from ablate.base.typed import typed
from ablate.report.tables import NOTHING, Column, Table

MAX_NAMES = 4
"""The most variants that a sentence names."""


def power_parts(power: Power, study: str) -> Iterator[str | Table]:
    """Sentences and tables on what a study can detect; `study` is its file, as it can be typed."""
    if not power.comparisons:
        if power.asked is not None:
            yield "There is no variant to compare with the baseline."
        return
    n, level = power.seeds, _level(power)
    seeds = wording.counted(n, "seed") + (" (the most)" if power.looks > 1 else "")
    detect = None if power.asked is None else power.asked.difference
    several = len({of.task for of in power.tasks}) > 1
    for of in power.tasks:
        what = f"{of.metric} on {of.task}" if several else of.metric
        within = "" if of.margin is None else f", margin {wording.exact(of.margin)}"
        if of.by == "rate":
            yield from _by_rate(of, seeds, n, level, what)
        else:
            yield from _by_mean(of, seeds, n, level, what)
        if detect is not None and of.metric == power.metric:
            yield from detect_words(of, detect, what)
        if of.by == "mean" and power.source:
            yield prospect_table(
                of, f"{what}{within}: what can be detected", detect if of.metric == power.metric else None
            )
    if any(one.spread is not None for of in power.tasks for one in of.prospects):
        yield explained(
            seeds if n > 1 else "", level, power.source, any(of.margin is not None for of in power.tasks)
        )
    elif n > 1 and not power.source and any(of.by == "mean" for of in power.tasks):
        yield (
            "How large that is can be said once two seeds have run: "
            f"`{typed('plan', study, '--pilot', '3')}` trains three seeds that are never judged."
        )
    if power.asked is not None:
        yield from _cost(power.asked)


def _level(power: Power) -> str:
    """The level of each comparison, and why it is not .05."""
    among = [wording.counted(power.comparisons, "comparison")] if power.comparisons > 1 else []
    among += [f"{power.looks} looks"] if power.looks > 1 else []
    leave = f", which {wording.joined(among)} leave of .05" if among else ""
    return f"level {wording.significant(power.level)}{leave}"


def _cost(asked: Asked) -> Iterator[str]:
    if asked.seeds is None:
        return
    text = f"{wording.counted(asked.seeds, 'seed')} are {asked.trials:,} trials, "
    some = "all" if asked.to_train == asked.trials else f"{asked.to_train:,} of them"
    text += f"{some} to train" if asked.to_train else "and all are in the store"
    if asked.to_train:
        text += (
            "; how long that takes is known once trials have run"
            if asked.seconds is None
            else f": about {wording.duration(asked.seconds)} on {wording.counted(asked.workers, 'worker')}"
        )
        text += ", beside those that tune" if asked.tuned else ""
    yield f"{text}."


def prospect_table(of: Outlook, caption: str, detect: float | None) -> Table:
    """One row a comparison; `caption` names metric and task."""
    columns = [
        Column("variant", "variant"),
        *(Column(name, name, numeric=True) for name in ("pairs", "spread", "detects", "range")),
    ]
    if of.margin is not None:
        columns += [Column("equivalent", "equivalent", numeric=True), Column("takes", "takes", numeric=True)]
    if detect is not None:
        columns.append(Column("seeds", f"for {wording.exact(detect)}", numeric=True))
    columns.append(Column("why", "", below=True))
    return Table(columns, [_row(one) for one in of.prospects], caption)


def _row(one: Prospect) -> dict[str, str]:
    bounds = (one.detectable_low, one.detectable_high)
    limits = "–".join(_shown(bound, "∞") for bound in bounds) if None not in bounds else NOTHING
    return {
        "variant": one.variant,
        "pairs": f"{one.pairs}",
        "spread": _shown(one.spread),
        "detects": _shown(one.detectable),
        "range": limits,
        "equivalent": NOTHING if one.equivalent is None else f"{100 * one.equivalent:.0f} %",
        "takes": _seeds(one.equivalent_seeds),
        "seeds": _seeds(one.seeds),
        "why": one.why,
    }


def _by_mean(of: Outlook, seeds: str, n: int, level: str, what: str) -> Iterator[str]:
    """Sentences on what `n` seeds tell of one task, where `what` is its metric and task."""
    if n < 2:
        yield f"One seed gives no interval and no test of {what}: plan two or more."
        return
    found = [(one.detectable, one.variant) for one in of.prospects if one.detectable is not None]
    if not found:
        if of.effect is not None:
            more = "; and a little more, since all seeds share their test examples" if of.examples else ""
            yield (
                f"{seeds} detect a difference of {wording.significant(of.effect)} standard deviations of the "
                f"differences on {what}, with 80 % power at {level}{more}."
            )
        return
    middle, (worst, name) = median(size for size, _ in found), max(found)
    if math.isinf(middle):
        yield f"{seeds} detect no difference that the metric can show, in half or more of the comparisons."
    else:
        most = "no difference at all" if math.isinf(worst) else _shown(worst)
        several = f" for the median variant, and {most} for the worst ({name})" if worst > middle else ""
        yield f"{seeds} detect a difference of {_shown(middle)} on {what} with 80 % power{several}."


def explained(seeds: str, level: str, source: str, margins: bool) -> str:
    """What the columns of the table mean; `seeds` is empty where one detects nothing."""
    words = (
        f"spread: standard deviation of the differences from the baseline, over the pairs of seeds that are known "
        f"({source})."
    )
    if seeds:
        words += (
            f" detects: the smallest true difference that {seeds} find with 80 % power at {level}; range: the same at "
            "both ends of the 95 % interval of the spread."
        )
    if margins:
        words += (
            " equivalent: the probability that a variant which differs by nothing is found `equivalent` within the "
            "margin; takes: the seeds that make it 80 %."
        )
    return words


def _by_rate(of: Outlook, seeds: str, n: int, level: str, what: str) -> Iterator[str]:
    """The same of one that is solved or not."""
    yield (
        f"On {what}, a run solves the task or does not. "
        + (
            f"{seeds} tell no failure rate from 0 at {level}: plan more."
            if of.failure_rate is None
            else f"{seeds} tell a failure rate of {wording.exact(round(of.failure_rate, 2))} from 0 with 80 % power at "
            f"{level}."
        )
    )
    if of.equivalent_seeds is not None and of.margin is not None and n >= of.equivalent_seeds:
        yield (
            f"`equivalent` within {wording.exact(of.margin)} takes {of.equivalent_seeds} seeds that all runs solve, "
            "and there are enough."
        )
    if of.unsolved:
        yield (
            f"None of {wording.counted(of.unsolved, 'known run')} has solved it. Where none does, no difference in "
            "rates can be found, and none is `equivalent`."
        )


def detect_words(of: Outlook, detect: float, what: str) -> Iterator[str]:
    """Sentences on the seeds that a difference takes on one task, where `what` is its metric and task."""
    size = wording.exact(detect)
    if of.by == "rate":
        if of.seeds is not None:
            yield (
                f"To tell a variant that loses {size} on {what}, by failing to solve the task, from one that never "
                f"fails takes {_needed(of.seeds)}."
            )
        else:
            why = "it is no share of what the metric can differ by"
            yield f"How many seeds detect {size} on {what} cannot be said: {why}."
        return
    found = [(one.seeds, one.variant) for one in of.prospects if one.seeds is not None]
    finite = [(seeds, name) for seeds, name in found if math.isfinite(seeds)]
    if finite:
        middle, (worst, name) = median(seeds for seeds, _ in found), max(finite)
        of_those = "the worst" if len(finite) == len(found) else "the worst where seeds can do it"
        text = f"{_needed(worst)} for {of_those} ({name})" if len(found) > 1 else _needed(worst)
        if middle < worst:
            text = f"{_needed(middle)} for the median variant, and {text}"
        yield f"To detect {size} on {what} with 80 % power takes {text}."
    for limit, why in (
        ("examples", f"the {of.examples:,} test examples that all seeds share limit it"),
        ("pool", "every seed draws from one pool of examples, which limits it"),
        ("seeds", ""),
    ):
        names = [one.variant for one in of.prospects if one.limit == limit]
        which = "any variant" if len(names) == len(found) else listed(names, MAX_NAMES)
        if names and why:
            yield f"For {which}, no number of seeds detects {size} on {what}: {why}. More examples, not more seeds."
        elif names:
            yield f"For {which}, it takes more than {MAX_SEEDS:,} seeds to detect {size} on {what}."


def _needed(seeds: float) -> str:
    return (
        wording.counted(math.ceil(seeds), "seed")
        if math.isfinite(seeds)
        else f"more than {MAX_SEEDS:,} seeds"
    )


def _seeds(seeds: float | None) -> str:
    return NOTHING if seeds is None else f"{seeds:.0f}" if math.isfinite(seeds) else f">{MAX_SEEDS}"


def _shown(value: float | None, infinite: str = "none") -> str:
    return NOTHING if value is None else infinite if math.isinf(value) else wording.significant(value)
