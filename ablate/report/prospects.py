"""What planned seeds can tell, in sentences and a table, for `ablate plan`."""

import math
from collections.abc import Iterator, Mapping
from statistics import median

from ablate.analysis.power import MAX_SEEDS
from ablate.analysis.prospects import Outlook, Power
from ablate.base import wording
from ablate.core.short_names import short_name
from ablate.report.words import NOTHING, Column, Table, because, message, significant, tabulated


def power_parts(power: Power, labels: Mapping[str, str]) -> Iterator[str | Table]:
    """Sentences and tables on what a study with these `labels` can detect."""
    if not power.comparisons:
        if power.asked is not None:
            yield message("plan.nothing")
        return
    yield message("plan.level", power.comparisons - power.claims, power.claims, power.looks, power.level)
    for outlook in power.tasks:
        what = message("plan.place", outlook.metric, outlook.task if len(power.tasks) > 1 else "")
        known = [one for one in outlook.prospects if one.detectable is not None]
        sizes = [(one.detectable or 0.0, short_name(one.variant, labels)) for one in known]
        worst, name = max(sizes, default=(0.0, ""))
        needed = [one.seeds for one in outlook.prospects if one.seeds is not None] or [outlook.seeds or 0]
        finite = [seeds for seeds in needed if math.isfinite(seeds)]
        yield message(
            "plan.outlook",
            of=outlook,
            power=power,
            what=what,
            middle=significant(median(size for size, _ in sizes)) if sizes else "",
            worst=significant(worst),
            worst_variant=name,
            needed=_seeds(median(needed)),
            most=math.ceil(max(finite, default=0)),
            some_need_more=len(finite) < len(needed),
            limit=MAX_SEEDS,
        )
        if outlook.prospects and power.source:
            yield prospect_table(outlook, power, what, labels)
    if power.seeds > 1 and not power.source and not all(outlook.by_rate for outlook in power.tasks):
        yield message("plan.spread")


def prospect_table(outlook: Outlook, power: Power, what: str, labels: Mapping[str, str]) -> Table:
    """One row a comparison."""
    asked = wording.exact(power.asked) if power.asked else ""
    columns = [
        Column("variant", "variant", show=lambda row: short_name(row["variant"], labels)),
        Column("pairs", "pairs", True),
        Column("spread", "spread", True, show=lambda row: significant(row["spread"])),
        Column("detectable", "detects", True, show=lambda row: significant(row["detectable"])),
        Column(
            "equivalent",
            "equivalent",
            True,
            show=lambda row: NOTHING if row["equivalent"] is None else f"{100 * row['equivalent']:.0f} %",
        ),
        Column("equivalent_seeds", "takes", True, show=lambda row: _seeds(row["equivalent_seeds"])),
        Column("seeds", asked, True, show=lambda row: _seeds(row["seeds"])),
        Column("why", "", below=True, show=lambda row: because(row["why"])),
    ]
    return tabulated(
        columns, [vars(one) for one in outlook.prospects], message("plan.caption", what, outlook, power)
    )


def _seeds(seeds: float | None) -> str:
    return NOTHING if seeds is None else f"{math.ceil(seeds)}" if math.isfinite(seeds) else f">{MAX_SEEDS}"
