"""What a sweep found: its winners on fresh seeds, the Pareto front, the best settings, and all that was tried."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
import seaborn
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.core.metric import sign, undominated
from ablate.features.search.shown import FILE, OfSearch, named, setting, space_table, table, value
from ablate.features.search.table import Objective, SearchTable, with_values
from ablate.report.draw import style
from ablate.report.draw.style import colour
from ablate.report.section import Block, Folded, Material, Picture, Section, Terms, Text
from ablate.report.tables import (
    NOTHING,
    Column,
    Row,
    Table,
    count,
    number,
    plus_minus,
    short,
    tabulated,
    text,
)
from ablate.report.words import say

COSTS = {"parameters": "Parameters", "flops": "FLOPs"}
TOP, MAX_REASONS, MAX_NUMBERS = 20, 20, 8


class Sweep(OfSearch, Section):
    """The winners with the baseline, which was not searched; the front; the best settings; how every setting ended."""

    kind = "sweep"
    place = 60
    title = "What the sweep found"
    open = True

    def blocks(self, material: Material) -> Iterator[Block]:
        searched = table(material)
        if winners := winner_table(searched, material.evidence):
            yield from (winners, Text(say("search.winners_guide"), aside=True))
        yield from _fronts(searched)
        if best := best_table(searched):
            yield Folded(say("search.best", len(searched.facts.objectives) > 1, len(best.rows)), [best])
        tried: list[Block] = [status_table(searched), space_table(searched), Terms(how_searched(searched))]
        yield Folded(say("search.tried"), tried)

    def answers(self, material: Material) -> list[str]:
        searched = table(material)
        if not len(searched.winners):
            return [say("search.no_winner")]
        objectives = [named(objective) for objective in searched.facts.objectives]
        return [say("search.answer", len(searched.trials), len(searched.winners), objectives)]

    def findings(self, material: Material) -> list[str]:
        searched = table(material)
        ended = [*searched.trials["status"].value_counts().items()]
        same = [n for n in searched.winners["chosen"] if judged_as(material.evidence, n) != n]
        return [
            say("search.ended", len(searched.trials), ended),
            *(say("search.itself", name) for name in same),
        ]


def winner_table(searched: SearchTable, evidence: Evidence) -> Table | None:
    """A row per winner and metric that was searched for, and the baseline; None without a winner.

    The change is below zero, where more is better, by the winner's curse.
    """
    metrics = [o for o in searched.facts.objectives if o.measured and len(searched.winners)]
    rows = []
    for metric in metrics:
        for row in [*searched.winners.to_dict("records"), {"chosen": BASELINE}]:
            seen, chosen = number(row.get(metric.name)), row["chosen"]
            mean, spread, _ = fresh(evidence, metric, chosen, metric.source)
            test = fresh(evidence, metric, chosen, "test")
            change = None if seen is None or mean is None else mean - seen
            rows.append(
                {
                    "variant": chosen,
                    "metric": metric.name,
                    "tuning": plus_minus(seen, number(row.get("spread")) if metric is metrics[0] else None),
                    "fresh": plus_minus(mean, spread),
                    "change": NOTHING
                    if change is None
                    else wording.plus(change, wording.decimals(spread or 0)),
                    "test": plus_minus(*test[:2]),
                    "n": test[2],
                    "setting": setting(searched, row) if metric.name in row else "",
                }
            )
    columns = [
        Column("variant", "Variant"),
        Column("metric", "Metric", varying=True),
        Column("tuning", "Validation, tuning seeds", True),
        Column("fresh", "Validation, fresh seeds", True),
        Column("change", "Change", True),
        Column("test", "Test, fresh seeds", True),
        Column("n", "Fresh seeds", True),
        Column("setting", "Setting", below=True),
    ]
    return tabulated(columns, rows, say("search.winners"), FILE) if rows else None


def judged_as(evidence: Evidence, winner: str) -> str:
    """The variant that a winner is in the comparison: one that is no variant is the baseline itself."""
    return winner if winner in [variant.name for variant in evidence.facts.variants] else BASELINE


def fresh(
    evidence: Evidence, metric: Objective, winner: str, of: str
) -> tuple[float | None, float | None, int]:
    """Mean, standard deviation and number of the values of a metric on the study's own seeds.

    `of`: `test`, or the source of the objective. Validation data count at the last step, and a seed that diverged as
    guessing where the metric says what that is.
    """
    trials = evidence.trials[evidence.trials["variant"] == judged_as(evidence, winner)]
    values = trials[evidence.facts.column_of(metric.name)].astype(float)
    if of == "validation":
        name = f"validation_{metric.name}"
        curves = evidence.curves[evidence.curves["metric"] == name].sort_values("step")
        ends = trials["id"].map(curves.drop_duplicates("id", keep="last").set_index("id")["value"])
        values = trials[name].fillna(ends) if name in trials else ends
    if of != "test" and metric.floor is not None:
        values = values.mask(trials["status"] == "diverged", metric.floor)
    known = values[np.isfinite(values)]
    spread = float(known.std()) if len(known) > 1 else None
    return (float(known.mean()) if len(known) else None), spread, len(known)


def _fronts(searched: SearchTable) -> Iterator[Picture]:
    """The first objective against each other one or, where it is alone, against the number of parameters."""
    upright, *others = searched.facts.objectives
    if not others and upright.name not in COSTS:
        others = [Objective("parameters", "min", "cost")]
    for i, across in enumerate(others):
        data = pareto(searched, upright, across)
        if data["x"].nunique() > 1:
            name, against, front = named(upright), named(across), int(data["front"].sum())
            yield Picture(
                f"sweep-front{f'-{i + 1}' if i else ''}",
                say("search.front_title", name, against),
                say("search.front", front),
                say("search.front_alt", name, len(data), against, front),
                data,
                draw_front,
                (upright, across),
            )


def pareto(searched: SearchTable, upright: Objective, across: Objective) -> pd.DataFrame:
    """One row per setting with both values: number, status, chosen, x, y, front (of these two alone)."""
    found = with_values(searched.trials, [upright, across])
    x, y = (found[one.name].to_numpy(float) for one in (across, upright))
    front = undominated(np.column_stack([sign(across) * x, sign(upright) * y]))
    return found[["number", "status", "chosen"]].assign(x=x, y=y, front=front).reset_index(drop=True)


def draw_front(data: pd.DataFrame, upright: Objective, across: Objective) -> Figure:
    """`data` is `pareto`. Between two points of the front, no more is reached than by the cheaper one."""
    fig = style.new_figure(3.0)
    ax = fig.subplots()
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
    x, y = (f"{named(o)}{'' if o.direction == 'max' else ', less is better'}" for o in (across, upright))
    ax.set(xlabel=x, ylabel=y)
    ax.legend(title=None)
    return fig


def best_table(searched: SearchTable) -> Table | None:
    """The Pareto front of several objectives, or the best for one; None where no setting has a value."""
    first, *others = searched.facts.objectives
    found = with_values(searched.trials, [first])
    if others:
        found = found[found["front"].astype(bool)]
    found = found.sort_values(first.name, ascending=first.direction == "min", kind="stable").head(TOP)
    if not len(found):
        return None
    objectives = [o for o in searched.facts.objectives if o.name not in COSTS]
    measured = next((o for o in objectives if o.measured), None)
    ends = short(searched.paths)

    def of_objective(one: Objective, row: Row) -> str:
        return plus_minus(number(row[one.name]), number(row["spread"]) if one is measured else None)

    def counted(cost: str, row: Row) -> str:
        return count(row[cost])

    def of_path(path: str, row: Row) -> str:
        return value(row[path]) or NOTHING

    def setting_of(row: Row) -> str:
        return f"{row['number']}, {row['chosen']}".removesuffix(", ")

    columns = [
        Column("number", "Setting", show=setting_of),
        *(
            Column(f"objective {o.name}", named(o).capitalize(), True, show=partial(of_objective, o))
            for o in objectives
        ),
        *(Column(cost, words, True, show=partial(counted, cost)) for cost, words in COSTS.items()),
        *(
            Column(p.path, ends[p.path], p.kind != "choice", show=partial(of_path, p.path))
            for p in searched.facts.parameters
        ),
        Column("status", "Status", varying=True),
    ]
    return tabulated(columns, found.to_dict("records"), say("search.best", bool(others)), FILE)


def status_table(searched: SearchTable) -> Table:
    """How every setting ended: a row per status and reason, so that no point of the space is left out in silence."""
    rows = []
    trials = searched.trials.assign(reason=searched.trials["reason"].fillna("").map(text))
    for (status, reason), found in trials.groupby(["status", "reason"], sort=False)["number"]:
        numbers = [str(int(n)) for n in sorted(found)]
        more = [f"{len(numbers) - MAX_NUMBERS} more"] if len(numbers) > MAX_NUMBERS else []
        which = "" if status == "completed" else ", ".join([*numbers[:MAX_NUMBERS], *more])
        rows.append({"status": status, "n": len(found), "numbers": which, "reason": reason})
    if left := rows[MAX_REASONS:]:
        rows[MAX_REASONS:] = [{"status": say("search.others", len(left)), "n": sum(r["n"] for r in left)}]
    columns = [
        Column("status", "How it ended"),
        Column("n", "Settings", True),
        Column("numbers", "Which", words=True),
        Column("reason", "Why", words=True),
    ]
    return tabulated(columns, rows, say("search.every"), FILE)


def how_searched(searched: SearchTable) -> list[tuple[str, str]]:
    """How the search was done, as pairs of a term and its description."""
    facts = searched.facts
    objectives = [(named(one), one.direction == "max") for one in facts.objectives]
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
