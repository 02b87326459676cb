"""The noise floor: how far the baseline spreads over seeds, its placebo, and what differences could be detected."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ablate.base import wording
from ablate.report.section import Block, Brief, Material, Section, Text
from ablate.report.tables import (
    Column,
    Row,
    Table,
    decimals,
    difference,
    interval,
    is_true,
    number,
    rows_of,
    text,
)

MARK = "~"
"Before a difference that lies within its noise floor."
MATTERS = 0.25
"The share of the variance over seeds from which on a larger test set is worth a sentence."
POWER = "with 80 % power"


class NoiseFloor(Section):
    """Rows for the terminal; the page shows them inside its answer."""

    place = 10
    title = "Noise floor"

    def blocks(self, material: Material) -> Iterator[Block]:
        yield from ()

    def brief(self, read: Brief) -> Iterator[Table]:
        yield from noise_tables(read.noise)


def noise_blocks(material: Material) -> Iterator[Block]:
    """A small table for each task and metric that is judged, and a short paragraph, to be shown below the answer."""
    from ablate.analysis.noise import noise

    rows = rows_of(noise(material.evidence, material.comparisons))
    yield from noise_tables(rows)
    if said := remarks(rows):
        yield Text(" ".join(said), aside=True)


def noise_tables(rows: Sequence[Row]) -> Iterator[Table]:
    """Of each task and metric, of which `rows` are the noise: spread, placebo, and what can be detected."""
    for row in rows:
        on = f" on {text(row['task'])}" if len({row["task"] for row in rows}) > 1 else ""
        seeds = wording.counted(_count(row["n"]), "seed")
        columns = [
            Column("noise", "Noise floor"),
            Column("value", f"{text(row['metric'])}{on}, {seeds}", words=True),
        ]
        cells = {"Seed spread": spread(row), "Placebo": placebo(row), "Detectable": detectable(row)}
        lines = [{"noise": name, "value": words} for name, words in cells.items()]
        yield Table(columns, lines)


def remarks(rows: Sequence[Row]) -> list[str]:
    """What follows from the noise, in sentences."""
    return [*_marked(rows), *(words for row in rows for words in _of_one(row, len(rows) > 1))]


def _marked(rows: Sequence[Row]) -> Iterator[str]:
    within, total = (sum(_count(row[key]) for row in rows) for key in ("within", "comparisons"))
    if within:
        are = "is" if within == 1 else "are"
        yield (
            f"{within} of {wording.counted(total, 'difference')} {are} smaller than what these seeds detect: within "
            f"the noise, marked {MARK}."
        )


def _of_one(row: Row, several: bool) -> Iterator[str]:
    on = f" ({text(row['metric'])}, {text(row['task'])})" if several else ""
    if diverged := _count(row["diverged"]):
        runs = f"{wording.share(diverged, _count(row['n']))} baseline runs{on}"
        yield f"{runs} diverged and count with the metric’s floor."
    if unscored := _count(row["unscored"]):
        runs = wording.counted(unscored, "baseline run")
        yield f"{runs}{on} diverged, left out of the spread: the metric has no floor."
    share, size = number(row["test_share"]), _count(row["examples"])
    if share is not None and share >= MATTERS:
        sd, high = number(row["spread"]) or 0.0, number(row["spread_high"]) or math.inf
        least = f"at least {100 * share * (sd / high) ** 2:.0f}"
        finite = (
            f"would go with many more test examples than these {size:,}, on which runs differ one by one"
            if is_true(row["shared"])
            else f"is the draw of {size:,} test examples for each seed"
        )
        of = f"About {100 * share:.0f} % ({least} %) of the variance over seeds{on}"
        yield f"{of} {finite}: more examples are cheaper than more seeds."


def spread(row: Row) -> str:
    """`sd .0067 [.0044, .0136]; test set: about 62 % of the variance`."""
    n, sd, low, high = _count(row["n"]), *(number(row[f"spread{end}"]) for end in ("", "_low", "_high"))
    if sd is None:
        return "unknown: " + ("the baseline has one run" if n else "no run of the baseline has a value")
    if low is None:
        mean = number(row["mean"]) or 0.0
        return f"none: all {n} seeds gave {wording.number(mean, 4)}"
    places = decimals(low, high)
    share = number(row["test_share"])
    of = "" if share is None else f"; test set: about {100 * share:.0f} % of the variance"
    return f"sd {wording.number(sd, places)} {interval(low, high, places)}{of}"


def placebo(row: Row) -> str:
    """`−.0023 [−.0093, .0047], equivalent`, or how to add one."""
    if not text(row["placebo"]):
        return "none: “placebo: on” in the study adds one"
    shown = [
        difference(row["placebo_diff"], row["placebo_low"], row["placebo_high"]),
        text(row["placebo_verdict"]),
    ]
    return ", ".join(shown)


def detectable(row: Row) -> str:
    """`.013 with 80 % power (median of 7; .008 to .033)`; of an all-or-nothing task a failure rate."""
    total = _count(row["comparisons"])
    if not total:
        return "nothing was compared"
    if (rate := number(row["failure_rate"])) is not None:
        if math.isinf(rate):
            return "so few seeds tell no failure rate from 0"
        return f"a failure rate of {wording.exact(round(rate, 2))} against 0, {POWER}"
    floors = [number(row[name]) for name in ("mde", "mde_low", "mde_high")]
    median, *ends = [floor for floor in floors if floor is not None] or [math.nan]
    if math.isnan(median):
        return "unknown: fewer than two pairs"
    if all(math.isinf(end) for end in ends):
        return f"no difference that the metric can show, {POWER}"
    places = wording.decimals(ends[0])
    shown, low, high = (_bound(bound, places) for bound in (median, *ends))
    among = f" (median of {total}; {low} to {high})" if total > 1 and low != high else ""
    return f"{shown} {POWER}{among}"


def _bound(value: float, places: int) -> str:
    return "more than can be" if math.isinf(value) else wording.number(value, places)


def _count(value: object) -> int:
    return int(number(value) or 0)
