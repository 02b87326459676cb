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
    asked, n = power.asked, power.seeds
    if not power.comparisons:
        if asked is not None:
            yield "There is no variant to compare with the baseline."
        return
    seeds = wording.counted(n, "seed") + (" (the most)" if power.looks > 1 else "")
    level = _level(power)
    several = len({of.task for of in power.tasks}) > 1
    for of in power.tasks:
        what = f"{of.metric} on {of.task}" if several else of.metric
        detect = asked.difference if asked is not None and of.metric == power.metric else None
        yield from (_by_rate if of.by == "rate" else _by_mean)(of, seeds, n, level, what)
        if detect is not None:
            yield from detect_words(of, detect, what)
        if of.by == "mean" and power.source:
            within = "" if of.margin is None else f", margin {wording.exact(of.margin)}"
            yield prospect_table(of, f"{what}{within}: what can be detected", detect)
    if any(one.spread is not None for of in power.tasks for one in of.prospects):
        margins = any(of.margin is not None for of in power.tasks)
        yield explained(seeds if n > 1 else "", level, power.source, margins)
    elif n > 1 and not power.source and any(of.by == "mean" for of in power.tasks):
        pilot = typed("plan", study, "--pilot", "3")
        yield (
            f"How large that is can be said once two seeds have run: `{pilot}` trains three seeds that are never "
            "judged."
        )
    if asked is not None and asked.seeds is not None:
        yield f"{wording.counted(asked.seeds, 'seed')} are {asked.trials:,} trials, {_cost(asked)}."


def _level(power: Power) -> str:
    """The level of each comparison, and why it is not .05."""
    among = [wording.counted(power.comparisons, "comparison")] if power.comparisons > 1 else []
    among += [f"{power.looks} looks"] if power.looks > 1 else []
    leave = f", which {wording.joined(among)} leave of .05" if among else ""
    return f"level {wording.significant(power.level)}{leave}"


def _cost(asked: Asked) -> str:
    if not asked.to_train:
        return "and all are in the store"
    time = "; how long that takes is known once trials have run"
    if asked.seconds is not None:
        workers = wording.counted(asked.workers, "worker")
        time = f": about {wording.duration(asked.seconds)} on {workers}"
    some = "all" if asked.to_train == asked.trials else f"{asked.to_train:,} of them"
    return f"{some} to train{time}{', beside those that tune' * asked.tuned}"


def prospect_table(of: Outlook, caption: str, detect: float | None) -> Table:
    """One row a comparison; `caption` names metric and task."""
    names = ["pairs", "spread", "detects", "range", *(["equivalent", "takes"] * (of.margin is not None))]
    columns = [Column("variant", "variant"), *(Column(name, name, numeric=True) for name in names)]
    if detect is not None:
        columns.append(Column("seeds", f"for {wording.exact(detect)}", numeric=True))
    columns.append(Column("why", "", below=True))
    return Table(columns, [_row(one) for one in of.prospects], caption)


def _row(one: Prospect) -> dict[str, str]:
    bounds = (one.detectable_low, one.detectable_high)
    return {
        "variant": one.variant,
        "pairs": f"{one.pairs}",
        "spread": _shown(one.spread),
        "detects": _shown(one.detectable),
        "range": NOTHING if None in bounds else "–".join(_shown(bound, "∞") for bound in bounds),
        "equivalent": NOTHING if one.equivalent is None else f"{100 * one.equivalent:.0f} %",
        "takes": _seeds(one.equivalent_seeds),
        "seeds": _seeds(one.seeds),
        "why": one.why,
    }


def _by_mean(of: Outlook, seeds: str, n: int, level: str, what: str) -> Iterator[str]:
    """Sentences on what `n` seeds tell of one task, where `what` is its metric and task."""
    found = [(one.detectable, one.variant) for one in of.prospects if one.detectable is not None]
    if n < 2:
        yield f"One seed gives no interval and no test of {what}: plan two or more."
    elif found:
        middle, (worst, name) = median(size for size, _ in found), max(found)
        most = "no difference at all" if math.isinf(worst) else _shown(worst)
        several = f" for the median variant, and {most} for the worst ({name})" if worst > middle else ""
        if math.isinf(middle):
            yield f"{seeds} detect no difference that the metric can show, in half or more of the comparisons."
        else:
            yield f"{seeds} detect a difference of {_shown(middle)} on {what} with 80 % power{several}."
    elif of.effect is not None:
        more = "; and a little more, since all seeds share their test examples" if of.examples else ""
        yield (
            f"{seeds} detect a difference of {wording.significant(of.effect)} standard deviations of the differences "
            f"on {what}, with 80 % power at {level}{more}."
        )


def explained(seeds: str, level: str, source: str, margins: bool) -> str:
    """What the columns of the table mean; `seeds` is empty where one detects nothing."""
    words = [
        "spread: standard deviation of the differences from the baseline, over the pairs of seeds that are known "
        f"({source})."
    ]
    if seeds:
        words.append(
            f"detects: the smallest true difference that {seeds} find with 80 % power at {level}; range: the same at "
            "both ends of the 95 % interval of the spread."
        )
    if margins:
        words.append(
            "equivalent: the probability that a variant which differs by nothing is found `equivalent` within the "
            "margin; takes: the seeds that make it 80 %."
        )
    return " ".join(words)


def _by_rate(of: Outlook, seeds: str, n: int, level: str, what: str) -> Iterator[str]:
    """The same of one that is solved or not."""
    told = f"{seeds} tell no failure rate from 0 at {level}: plan more."
    if of.failure_rate is not None:
        rate = wording.exact(round(of.failure_rate, 2))
        told = f"{seeds} tell a failure rate of {rate} from 0 with 80 % power at {level}."
    yield f"On {what}, a run solves the task or does not. {told}"
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
    size = f"{wording.exact(detect)} on {what}"
    if of.by == "rate" and of.seeds is None:
        yield f"How many seeds detect {size} cannot be said: it is no share of what the metric can differ by."
    elif of.by == "rate" and of.seeds is not None:
        yield (
            f"To tell a variant that loses {size}, by failing to solve the task, from one that never fails takes "
            f"{_needed(of.seeds)}."
        )
    found = [(one.seeds, one.variant) for one in of.prospects if one.seeds is not None]
    if finite := [(seeds, name) for seeds, name in found if math.isfinite(seeds)]:
        middle, (worst, name) = median(seeds for seeds, _ in found), max(finite)
        of_those = "the worst" if len(finite) == len(found) else "the worst where seeds can do it"
        text = f"{_needed(worst)} for {of_those} ({name})" if len(found) > 1 else _needed(worst)
        most = f"{_needed(middle)} for the median variant, and " if middle < worst else ""
        yield f"To detect {size} with 80 % power takes {most}{text}."
    more = "More examples, not more seeds."
    limits = {
        "examples": f"no number of seeds detects {size}: the {of.examples:,} test examples that all seeds share limit "
        f"it. {more}",
        "pool": f"no number of seeds detects {size}: every seed draws from one pool of examples, which limits it. "
        f"{more}",
        "seeds": f"it takes more than {MAX_SEEDS:,} seeds to detect {size}.",
    }
    for limit, words in limits.items():
        if names := [one.variant for one in of.prospects if one.limit == limit]:
            which = "any variant" if len(names) == len(found) else listed(names, MAX_NAMES)
            yield f"For {which}, {words}"


def _needed(seeds: float) -> str:
    known = math.isfinite(seeds)
    return wording.counted(math.ceil(seeds), "seed") if known else f"more than {MAX_SEEDS:,} seeds"


def _seeds(seeds: float | None) -> str:
    return NOTHING if seeds is None else f"{seeds:.0f}" if math.isfinite(seeds) else f">{MAX_SEEDS}"


def _shown(value: float | None, infinite: str = "none") -> str:
    return NOTHING if value is None else infinite if math.isinf(value) else wording.significant(value)
