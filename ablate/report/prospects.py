"""What planned seeds can tell, in sentences and a table, for `ablate plan`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from ablate.analysis.power import MAX_SEEDS
from ablate.analysis.prospects import Outlook, Power
from ablate.base import wording
from ablate.base.text import typed
from ablate.report.tables import NOTHING, Column, Row, Table, tabulated
from ablate.report.words import because, say


def power_parts(power: Power, study: str) -> Iterator[str | Table]:
    """Sentences and tables on what a study can detect; `study` is its file, as it can be typed."""
    asked, seeds = power.asked, say("plan.seeds", power.seeds, power.looks)
    if not power.comparisons:
        if asked is not None:
            yield say("plan.nothing")
        return
    yield say("plan.level", power.comparisons, power.looks, power.level)
    for of in power.tasks:
        what = say("plan.place", of.metric, of.task if len(power.tasks) > 1 else "")
        detect = asked.difference if asked is not None else None
        yield from _by_rate(of, seeds, what) if of.by_rate else _by_mean(of, seeds, power.seeds, what)
        if detect is not None:
            yield from _asked_for(of, wording.exact(detect), what)
        if of.prospects and power.source:
            yield prospect_table(of, say("plan.caption", what, of.margin, seeds, power.source), detect)
    if power.seeds > 1 and not power.source and not all(of.by_rate for of in power.tasks):
        yield say("plan.pilot", typed("plan", study, "--pilot", "3"))
    if asked is not None and asked.seeds is not None:
        cost = asked.trials, asked.to_train, asked.seconds, asked.workers, asked.tuned
        yield say("plan.cost", asked.seeds, *cost)


def prospect_table(of: Outlook, caption: str, detect: float | None) -> Table:
    """One row a comparison."""
    columns = [
        Column("variant", "variant"),
        Column("pairs", "pairs", True),
        Column("spread", "spread", True, show=lambda row: _size(row["spread"])),
        Column("detectable", "detects", True, show=lambda row: _size(row["detectable"])),
        Column("equivalent", "equivalent", True, show=_chance),
        Column("equivalent_seeds", "takes", True, show=lambda row: _seeds(row["equivalent_seeds"])),
        Column("seeds", wording.exact(detect or 0.0), True, show=lambda row: _seeds(row["seeds"])),
        Column("why", "", below=True, show=lambda row: because(row["why"])),
    ]
    return tabulated(columns, [vars(one) for one in of.prospects], caption)


def _by_mean(of: Outlook, seeds: str, n: int, what: str) -> Iterator[str]:
    found = [(one.detectable, one.variant) for one in of.prospects if one.detectable is not None]
    if n < 2:
        yield say("plan.one_seed", what)
    elif found:
        middle, (worst, name) = median(size for size, _ in found), max(found)
        yield say("plan.detects", seeds, what, _size(middle), _size(worst) if worst > middle else "", name)
    elif of.effect is not None:
        yield say("plan.effect", seeds, what, of.effect)


def _by_rate(of: Outlook, seeds: str, what: str) -> Iterator[str]:
    if of.failure_rate is None:
        yield say("plan.no_rate", what, seeds)
    else:
        yield say("plan.rate", what, of.failure_rate, seeds)
    if of.equivalent_seeds is not None:
        yield say("plan.rate_equivalent", of.equivalent_seeds)


def _asked_for(of: Outlook, size: str, what: str) -> Iterator[str]:
    """The seeds that a difference takes."""
    needed = [one.seeds for one in of.prospects if one.seeds is not None] or ([of.seeds] if of.seeds else [])
    if finite := [seeds for seeds in needed if math.isfinite(seeds)]:
        middle = _needed(median(needed)) if len(needed) > 1 else ""
        yield say("plan.asked", size, what, middle, _needed(max(finite)))
    if len(finite) < len(needed):
        yield say("plan.too_many", size, what, MAX_SEEDS)


def _needed(seeds: float) -> str:
    return say("plan.needed", math.ceil(seeds) if math.isfinite(seeds) else None, MAX_SEEDS)


def _chance(row: Row) -> str:
    return NOTHING if row["equivalent"] is None else f"{100 * row['equivalent']:.0f} %"


def _seeds(seeds: float | None) -> str:
    return NOTHING if seeds is None else f"{seeds:.0f}" if math.isfinite(seeds) else f">{MAX_SEEDS}"


def _size(value: float | None) -> str:
    return NOTHING if value is None else "∞" if math.isinf(value) else wording.significant(value)
