"""The words and the table of what planned seeds can tell, for `ablate plan`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from ablate.analysis.power import MAX_SEEDS
from ablate.analysis.prospects import Asked, Outlook, Power, Prospect
from ablate.base import wording
from ablate.base.typed import typed
from ablate.report.reason_words import words_of
from ablate.report.tables import NOTHING, Column, Table


def power_parts(power: Power, study: str) -> Iterator[str | Table]:
    """Sentences and tables on what a study can detect; `study` is its file, as it can be typed."""
    asked = power.asked
    if not power.comparisons:
        if asked is not None:
            yield "There is no variant to compare with the baseline."
        return
    seeds = wording.counted(power.seeds, "seed") + (" (the most)" if power.looks > 1 else "")
    looks = f" at {power.looks} looks" if power.looks > 1 else ""
    yield f"{wording.counted(power.comparisons, 'comparison')}{looks}: level {wording.significant(power.level)}."
    for of in power.tasks:
        what = f"{of.metric} on {of.task}" if len(power.tasks) > 1 else of.metric
        detect = asked.difference if asked is not None else None
        yield from _by_rate(of, seeds, what) if of.by_rate else _by_mean(of, seeds, power.seeds, what)
        yield from _asked_for(of, detect, what)
        if not of.by_rate and power.source:
            within = "" if of.margin is None else f", margin {wording.exact(of.margin)}"
            caption = f"{what}{within}: what {seeds} detect with 80 % power, by {power.source}"
            yield prospect_table(of, caption, detect)
    if power.seeds > 1 and not power.source and not all(of.by_rate for of in power.tasks):
        pilot = typed("plan", study, "--pilot", "3")
        yield f"How large that is can be said once two seeds have run: `{pilot}` trains three that are never judged."
    if asked is not None and asked.seeds is not None:
        yield f"{wording.counted(asked.seeds, 'seed')} are {asked.trials:,} trials, {_cost(asked)}."


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
    """One row a comparison."""
    names = ["pairs", "spread", "detects", *(["equivalent", "takes"] * (of.margin is not None))]
    columns = [Column("variant", "variant"), *(Column(name, name, numeric=True) for name in names)]
    if detect is not None:
        columns.append(Column("seeds", f"for {wording.exact(detect)}", numeric=True))
    columns.append(Column("why", "", below=True))
    return Table(columns, [_row(one) for one in of.prospects], caption)


def _row(one: Prospect) -> dict[str, str]:
    return {
        "variant": one.variant,
        "pairs": f"{one.pairs}",
        "spread": _shown(one.spread),
        "detects": _shown(one.detectable),
        "equivalent": NOTHING if one.equivalent is None else f"{100 * one.equivalent:.0f} %",
        "takes": _seeds(one.equivalent_seeds),
        "seeds": _seeds(one.seeds),
        "why": words_of(one.why),
    }


def _by_mean(of: Outlook, seeds: str, n: int, what: str) -> Iterator[str]:
    found = [(one.detectable, one.variant) for one in of.prospects if one.detectable is not None]
    if n < 2:
        yield f"One seed gives no interval of {what}: plan two or more."
    elif found:
        middle, (worst, name) = median(size for size, _ in found), max(found)
        several = f" for the median variant, {_shown(worst)} for {name}" if worst > middle else ""
        yield f"{seeds} detect a difference of {_shown(middle)} on {what} with 80 % power{several}."
    elif of.effect is not None:
        effect = wording.significant(of.effect)
        yield f"{seeds} detect {effect} standard deviations of the differences on {what} with 80 % power."


def _by_rate(of: Outlook, seeds: str, what: str) -> Iterator[str]:
    if of.failure_rate is None:
        yield f"On {what} a run solves the task or does not, and {seeds} cannot decide, whatever they show: plan more."
    else:
        yield f"{what}: smallest detectable failure rate {wording.exact(round(of.failure_rate, 2))}, with {seeds}."
    if of.equivalent_seeds is not None:
        yield f"`equivalent` takes {wording.counted(of.equivalent_seeds, 'seed')} on which no run fails alone."


def _asked_for(of: Outlook, detect: float | None, what: str) -> Iterator[str]:
    """The seeds that a difference takes."""
    needed = [one.seeds for one in of.prospects if one.seeds is not None] or ([of.seeds] if of.seeds else [])
    if detect is None or not needed:
        return
    size = f"{wording.exact(detect)} on {what}"
    finite = [seeds for seeds in needed if math.isfinite(seeds)]
    if finite:
        middle = f"{_needed(median(needed))} for the median variant, " if len(needed) > 1 else ""
        yield f"To detect {size} with 80 % power takes {middle}{_needed(max(finite))} at most."
    if len(finite) < len(needed):
        yield f"Some variants need more than {MAX_SEEDS:,} seeds for {size}, or more examples: see below."


def _needed(seeds: float) -> str:
    known = math.isfinite(seeds)
    return wording.counted(math.ceil(seeds), "seed") if known else f"more than {MAX_SEEDS:,} seeds"


def _seeds(seeds: float | None) -> str:
    return NOTHING if seeds is None else f"{seeds:.0f}" if math.isfinite(seeds) else f">{MAX_SEEDS}"


def _shown(value: float | None) -> str:
    return NOTHING if value is None else "∞" if math.isinf(value) else wording.significant(value)
