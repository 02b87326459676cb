"""The differences that planned seeds can detect, in sentences and a table, for `ablate plan`."""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from ablate.analysis.power import MAX_SEEDS
from ablate.analysis.prospects import Outlook, Power, Prospect
from ablate.base import wording
from ablate.core.short_names import short_name
from ablate.report.sentences.reason_words import because
from ablate.report.words import NOTHING, Column, Table, message, paragraph, significant, tabulated


def power_parts(
    power: Power, labels: Mapping[str, str], *, is_in_every: bool = False
) -> Iterator[str | Table]:
    """Yields sentences and tables on what a study with these `labels` can detect.

    is_in_every: whether a verdict is about every condition, of which what is detected in one of them says little.
    """
    if not power.comparisons:
        if power.asked is not None:
            yield message("plan.nothing")
        return
    yield _family(power)
    outlooks = power.tasks
    if len(outlooks) > 1 and _are_alike(outlooks):
        what = message("plan.in_each", outlooks[0].metric, len(outlooks))
        if not is_in_every:
            yield _detectable(outlooks[0], power, what, labels)
        outlooks = []
    for outlook in outlooks:
        what = _place(outlook, power)
        said = [_detectable(outlook, power, what, labels), _test_noise(outlook, power)]
        sentences = paragraph(*said, *_asked(outlook, power, what))
        if sentences:
            yield sentences
        if outlook.prospects and power.source:
            yield prospect_table(outlook, power, what, labels)
    if power.seeds > 1 and not power.source and not all(outlook.by_rate for outlook in power.tasks):
        yield message("plan.spread")


def _family(power: Power) -> str:
    """Returns what shares the level, and the level of each."""
    if power.claims_in_order:
        return message("plan.in_order", power.claims_in_order, power.level)
    members = []
    if power.comparisons > power.claims:
        members.append(message("plan.comparisons", power.comparisons - power.claims))
    if power.claims:
        members.append(message("plan.claims", power.claims))
    family = message("plan.family", members, power.looks if power.looks > 1 else 0)
    return message("plan.level", family, power.level)


def _are_alike(outlooks: Sequence[Outlook]) -> bool:
    """Returns whether the same can be told on each task, as nothing is known of their spread."""
    told = {(outlook.by_rate, outlook.effect, outlook.metric) for outlook in outlooks}
    prospects: list[Prospect] = []
    for outlook in outlooks:
        prospects += outlook.prospects
    is_unknown = all(prospect.spread is None for prospect in prospects)
    return len(told) == 1 and not outlooks[0].by_rate and is_unknown


def _place(outlook: Outlook, power: Power) -> str:
    """Returns the metric, and the task where there are several, or over how many conditions it is taken together."""
    if outlook.conditions > 1:
        return message("plan.over_mean", outlook.metric, outlook.conditions)
    return message("plan.place", outlook.metric, outlook.task if len(power.tasks) > 1 else "")


def _test_noise(outlook: Outlook, power: Power) -> str:
    """Returns what share of the variance is noise of a fixed test set, where more examples would save seeds."""
    known = [prospect for prospect in outlook.prospects if prospect.test_share is not None]
    if not known:
        return ""
    share = median(prospect.test_share or 0.0 for prospect in known)
    needed = math.ceil(median(prospect.seeds_with_more or 0.0 for prospect in known))
    if needed >= power.seeds:
        return ""
    return message("plan.test_noise", round(100 * share), needed, power.seeds)


def _seeds_of(power: Power) -> str:
    """Returns `5 seeds`; of a sequential design `20 seeds at most`."""
    return message("plan.seeds_at_most" if power.looks > 1 else "plan.seeds", power.seeds)


def _detectable(outlook: Outlook, power: Power, what: str, labels: Mapping[str, str]) -> str:
    """Returns what the seeds detect on a task, by the rate or by the mean."""
    seeds = _seeds_of(power)
    if outlook.by_rate:
        return _detectable_rate(outlook, seeds, what)
    if power.seeds < 2:
        return message("plan.one_seed", what)
    known = [prospect for prospect in outlook.prospects if prospect.detectable is not None]
    if known:
        names = _names(outlook, labels)
        sizes = [(prospect.detectable or 0.0, names[prospect]) for prospect in known]
        largest, variant = max(sizes)
        middle = significant(median(size for size, _ in sizes))
        worst = significant(largest)
        if worst != middle:
            return message("plan.detect_from_to", seeds, middle, what, worst, variant)
        return message("plan.detect", seeds, middle, what)
    return "" if outlook.effect is None else message("plan.detect_effect", seeds, outlook.effect, what)


def _detectable_rate(outlook: Outlook, seeds: str, what: str) -> str:
    """Returns the smallest failure rate that is detected, and the seeds that show equivalence."""
    if outlook.failure_rate is None:
        rate = message("plan.no_outcome", what, seeds)
    else:
        rate = message("plan.failure_rate", what, outlook.failure_rate, seeds)
    count = outlook.equivalent_seeds
    return paragraph(rate, "" if count is None else message("plan.equivalent_seeds", count))


def _asked(outlook: Outlook, power: Power, what: str) -> Iterator[str]:
    """Yields the seeds that the difference takes that was asked for."""
    if not power.asked:
        return
    known = [prospect.seeds for prospect in outlook.prospects if prospect.seeds is not None]
    needed = known or [outlook.seeds or 0]
    finite = [seeds for seeds in needed if math.isfinite(seeds)]
    most = math.ceil(max(finite, default=0))
    if most and len(outlook.prospects) > 1:
        yield message("plan.median_takes", power.asked, what, _seeds(median(needed)), most)
    elif most:
        yield message("plan.takes", power.asked, what, most)
    if len(finite) < len(needed):
        yield message("plan.some_need_more", power.asked, what, MAX_SEEDS)


def prospect_table(outlook: Outlook, power: Power, what: str, labels: Mapping[str, str]) -> Table:
    """Returns the table of what the seeds can tell, a row a comparison."""
    asked = wording.exact(power.asked) if power.asked else ""
    names = _names(outlook, labels)
    columns = [
        Column("name", "variant"),
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
    margin = "" if outlook.margin is None else wording.exact(outlook.margin)
    caption = message("plan.caption", what, margin, _seeds_of(power), power.source)
    rows = [{**vars(prospect), "name": names[prospect]} for prospect in outlook.prospects]
    return tabulated(columns, rows, caption)


def _names(outlook: Outlook, labels: Mapping[str, str]) -> dict[Prospect, str]:
    """Returns the name of each comparison: of its variant, or of both sides where a variant has several."""
    variants = [prospect.variant for prospect in outlook.prospects]
    names: dict[Prospect, str] = {}
    for prospect in outlook.prospects:
        name = short_name(prospect.variant, labels)
        if len(set(variants)) < len(variants):
            name = f"{name} vs {short_name(prospect.against, labels)}"
        names[prospect] = name
    return names


def _seeds(seeds: float | None) -> str:
    """Returns a number of seeds, or that more are needed than is looked for."""
    if seeds is None:
        return NOTHING
    return f"{math.ceil(seeds)}" if math.isfinite(seeds) else f">{MAX_SEEDS}"
