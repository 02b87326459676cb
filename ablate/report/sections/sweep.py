"""What a sweep found: its winners on fresh seeds, the Pareto front, the best settings, and all that was tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import seaborn
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ablate.base import wording
from ablate.core.facts import BASELINE, Evidence
from ablate.core.metric import sign
from ablate.core.search_table import Objective, SearchTable, undominated
from ablate.report import searches
from ablate.report.draw import style
from ablate.report.palette import colour
from ablate.report.section import Block, Folded, Material, Picture, Section, Terms, Text
from ablate.report.tables import (
    NOTHING,
    Column,
    Row,
    Table,
    count,
    fixed,
    number,
    plus_minus,
    short,
    tabulated,
    text,
)
from ablate.report.words import say

TOP, MAX_FRONT = 10, 20
MAX_REASONS, MAX_NUMBERS = 20, 8
FAR = 3
"Times as far from the median as the best: settings that are further on the other side are not in the figure."


class Sweep(searches.OfSearch, Section):
    """The winners with the baseline, which was not searched; the front; the best settings; how every setting ended."""

    kind = "sweep"
    place = 60
    title = "What the sweep found"
    open = True

    def blocks(self, material: Material) -> Iterator[Block]:
        searched = searches.table(material)
        if winners := winner_table(searched, material.evidence):
            yield from (winners, Text(say("search.winners_guide"), aside=True))
        yield from _fronts(searched)
        if best := best_table(searched):
            yield Folded(say("search.best", len(searched.facts.objectives) > 1, len(best.rows)), [best])
        tried: list[Block] = [
            status_table(searched),
            searches.space_table(searched),
            Terms(how_searched(searched)),
        ]
        yield Folded(say("search.tried"), tried)

    def answers(self, material: Material) -> list[str]:
        searched = searches.table(material)
        chosen = searched.winners.to_dict("records")
        if not chosen:
            return [say("search.no_winner")]
        named = [searches.named(objective) for objective in searched.facts.objectives]
        return [say("search.answer", len(searched.trials), len(chosen), named)]

    def findings(self, material: Material) -> list[str]:
        searched = searches.table(material)
        counts = searched.trials["status"].value_counts()
        ended = [(name, int(counts[name])) for name in searches.statuses(searched.trials)]
        found = [say("search.ended", len(searched.trials), ended)]
        same = [n for n in searched.winners["chosen"] if judged_as(material.evidence, n) != n]
        return [*found, *(say("search.itself", name) for name in same)]


def winner_table(searched: SearchTable, evidence: Evidence) -> Table | None:
    """A row per winner and metric that was searched for, and the baseline; None without a winner.

    The change is below zero, where more is better, by the winner's curse.
    """
    chosen = searched.winners.to_dict("records")
    metrics = [o for o in searched.facts.objectives if o.source in searches.MEASURED]
    if not chosen or not metrics:
        return None
    columns = [
        Column("variant", "Variant"),
        *([Column("metric", "Metric")] if len(metrics) > 1 else []),
        Column("tuning", "Validation, tuning seeds", True),
        Column("fresh", "Validation, fresh seeds", True),
        Column("change", "Change", True),
        Column("test", "Test, fresh seeds", True),
        Column("n", "Fresh seeds", True),
        Column("setting", "Setting", below=True),
    ]
    rows = []
    for metric in metrics:
        for row in [*chosen, {"chosen": BASELINE, "task": chosen[0]["task"]}]:
            validation, test = (
                fresh(evidence, metric, row["chosen"], of, row["task"]) for of in ("validation", "test")
            )
            seen, (mean, half) = number(row.get(metric.name)), _summary(validation)
            first = metric is searched.facts.objectives[0] and "values" in row
            spread = _summary(np.asarray(row["values"], float))[1] if first else None
            change = None if seen is None or mean is None else mean - seen
            rows.append(
                {
                    "variant": text(row["chosen"]),
                    "metric": text(metric.name),
                    "tuning": plus_minus(seen, spread) if first else fixed(seen, 4),
                    "fresh": plus_minus(mean, half),
                    "change": NOTHING
                    if change is None
                    else wording.plus(change, wording.decimals(half or 0)),
                    "test": plus_minus(*_summary(test)),
                    "n": count(len(test)),
                    "setting": searches.setting(searched, row) if metric.name in row else "",
                }
            )
    return Table(columns, rows, say("search.winners"), "sweep.parquet")


def judged_as(evidence: Evidence, winner: str) -> str:
    """The variant that a winner is in the comparison: one that is no variant is the baseline itself."""
    return winner if winner in [variant.name for variant in evidence.facts.variants] else BASELINE


def fresh(evidence: Evidence, metric: Objective, winner: str, of: str, task: str) -> np.ndarray:
    """The finite values of a metric on the study's own seeds, `of` validation or test data; none before training.

    Validation data count at the last step, and a seed that diverged as guessing where the metric says what that is. A
    `task` that the study does not name means all of them.
    """
    facts, trials = evidence.facts, evidence.trials
    if task in [known.name for known in facts.tasks]:
        trials = trials[trials["task"] == task]
    trials = trials[trials["variant"] == judged_as(evidence, winner)]
    name = facts.column_of(metric.name)
    if of == "validation" and metric.source == "validation":
        name = f"validation_{metric.name}"
        curves = evidence.curves[evidence.curves["metric"] == name].sort_values("step")
        ends = curves.drop_duplicates("id", keep="last").set_index("id")["value"]
        known = trials["id"].map(ends)
        trials = trials.assign(**{name: trials[name].fillna(known) if name in trials else known})
    values = pd.to_numeric(trials.get(name, pd.Series(np.nan, trials.index)), errors="coerce").to_numpy(float)
    guessing = np.nan if metric.floor is None or of == "test" else metric.floor
    values = np.where(trials["status"] == "diverged", guessing, values)
    return values[np.isfinite(values)]


def _summary(values: np.ndarray) -> tuple[float | None, float | None]:
    """Mean and standard deviation of the finite values, as far as there are any."""
    known = values[np.isfinite(values)]
    return (float(known.mean()) if len(known) else None, float(known.std(ddof=1)) if len(known) > 1 else None)


def _fronts(searched: SearchTable) -> Iterator[Picture]:
    """The first objective against each other one or, where it is alone, against the number of parameters."""
    upright, *others = searched.facts.objectives
    if not others and upright.name not in searches.COSTS:
        others = [Objective("parameters", "min", "cost")]
    for i, across in enumerate(others):
        data = pareto(searched, upright, across)
        if len(data) < 2 or data["x"].nunique() < 2:
            continue
        name, against = searches.named(upright), searches.named(across)
        front, out = int(data["front"].sum()), len(data) - int(_near(data["y"], upright).sum())
        yield Picture(
            f"sweep-front{f'-{i + 1}' if i else ''}",
            say("search.front_title", name, against),
            say("search.front", front, out),
            say("search.front_alt", name, len(data), against, front),
            data,
            draw_front,
            (upright, across),
        )


def pareto(searched: SearchTable, upright: Objective, across: Objective) -> pd.DataFrame:
    """One row per setting with both values: number, status, chosen, x, y, front (of these two alone)."""
    found = searches.judged(searched, upright.name)
    found = found[np.isfinite(pd.to_numeric(found[across.name], errors="coerce"))]
    data = found[["number", "status", "chosen"]].assign(
        x=found[across.name].astype(float), y=found[upright.name].astype(float)
    )
    signs = [sign(across), sign(upright)]
    return data.assign(front=undominated(data[["x", "y"]].to_numpy() * signs)).reset_index(drop=True)


def _near(values: pd.Series, objective: Objective) -> pd.Series:
    """Which values a figure has room for."""
    middle, best = values.median(), values.max() if objective.direction == "max" else values.min()
    reach = FAR * abs(best - middle)
    return (values - middle).abs() <= reach if reach else values.notna()


def draw_front(data: pd.DataFrame, upright: Objective, across: Objective) -> Figure:
    """`data` is `pareto`. Between two points of the front, no more is reached than by the cheaper one."""
    fig = style.new_figure(3.0)
    ax = fig.subplots()
    data = data[_near(data["y"], upright)]
    front = data[data["front"]].sort_values(["x", "y"], ascending=across.direction == "min")
    ax.step(front["x"], front["y"], where="post", color=colour("green"), label="front", zorder=2)
    palette = {"completed": colour("blue"), "diverged": colour("purple")}
    seaborn.scatterplot(
        data, x="x", y="y", hue="status", style="status", palette=palette, s=20, ax=ax, zorder=3
    )
    for row in data[data["chosen"] != ""].to_dict("records"):
        ax.annotate(
            row["chosen"], (row["x"], row["y"]), (4, -8), textcoords="offset points", size=style.SMALL
        )
    if 0 < 20 * data["x"].min() < data["x"].max():
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: wording.compact(number)))
    less = (
        f"{searches.named(o)}{'' if o.direction == 'max' else ', less is better'}" for o in (across, upright)
    )
    ax.set(**dict(zip(("xlabel", "ylabel"), less, strict=True)))
    ax.legend(title=None)
    return fig


def best_table(searched: SearchTable) -> Table | None:
    """The Pareto front of several objectives, or the top ten for one; None where no setting has a value."""
    first, *others = searched.facts.objectives
    found = searches.judged(searched, first.name)
    if others:
        found = found[found["front"].astype(bool)]
    found = found.sort_values(first.name, ascending=first.direction == "min", kind="stable")
    found = found.head(MAX_FRONT if others else TOP)
    if not len(found):
        return None
    objectives = [o for o in searched.facts.objectives if o.name not in searches.COSTS]
    measured = next((o for o in objectives if o.source in searches.MEASURED), None)
    ends = short(searched.paths)

    def of_objective(one: Objective) -> Column:
        words = searches.named(one)

        def show(row: Row) -> str:
            return plus_minus(number(row[one.name]), number(row["spread"]) if one is measured else None)

        return Column(f"objective {one.name}", words[0].upper() + words[1:], True, show=show)

    columns = [
        Column(
            "number", "Setting", show=lambda row: ", ".join(filter(None, (f"{row['number']}", row["chosen"])))
        ),
        *map(of_objective, objectives),
        *(
            Column(cost, words, True, show=partial(_of, count, cost))
            for cost, words in searches.COSTS.items()
        ),
        *(
            Column(p.path, ends[p.path], p.kind != "choice", show=partial(_of, searches.value, p.path))
            for p in searched.facts.parameters
        ),
        *([Column("status", "Status")] if (found["status"] != "completed").any() else []),
    ]
    return tabulated(columns, found.to_dict("records"), say("search.best", bool(others)), "sweep.parquet")


def _of(say: Callable[[Any], str], key: str, row: Row) -> str:
    return say(row[key]) or NOTHING


def status_table(searched: SearchTable) -> Table:
    """How every setting ended: a row per status and reason, so that no point of the space is left out in silence."""
    rows = []
    for status in searches.statuses(searched.trials):
        mine = searched.trials[searched.trials["status"] == status]
        reasons = mine["reason"].fillna("").map(text)
        kinds = list(dict.fromkeys(reasons))
        shown = reasons.where(reasons.isin(kinds[:MAX_REASONS]), f"{len(kinds) - MAX_REASONS} other reasons")
        for reason, found in mine.groupby(shown, sort=False)["number"]:
            numbers = ", ".join(str(int(n)) for n in sorted(found)[:MAX_NUMBERS])
            more = f" and {len(found) - MAX_NUMBERS} more" if len(found) > MAX_NUMBERS else ""
            which = "" if status == "completed" else numbers + more
            cells = {"status": text(status), "n": count(len(found)), "numbers": which, "reason": str(reason)}
            rows.append(cells)
    columns = [
        Column("status", "How it ended"),
        Column("n", "Settings", True),
        Column("numbers", "Which", words=True),
        Column("reason", "Why", words=True),
    ]
    return Table(columns, rows, say("search.every"), "sweep.parquet")


def how_searched(searched: SearchTable) -> list[tuple[str, str]]:
    """How the search was done, as pairs of a term and its description."""
    facts = searched.facts
    objectives = [(searches.named(one), one.direction == "max") for one in facts.objectives]
    pairs = [
        ("Objectives" if len(objectives) > 1 else "Objective", say("search.objectives", objectives)),
        ("Settings", say("search.settings", len(searched.trials), facts.trials, facts.batch)),
        ("Tuning seeds", say("search.seeds", facts.seeds)),
        ("Sampler", facts.sampler),
        ("Pruner", facts.pruner),
        ("Training time", say("search.time", searched.trials["train_seconds"].astype(float).sum())),
        ("Suggested by", ", ".join(f"{name} {version}" for name, version in facts.versions.items())),
    ]
    return [(term, text(description)) for term, description in pairs if text(description)]
