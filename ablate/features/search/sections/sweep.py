"""What a sweep found: its winners on fresh seeds, the best settings, all that was tried, and Optuna's own figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ablate.base import wording
from ablate.core.facts import BASELINE, Evidence
from ablate.core.spelling import as_sentence, spelled, spelled_paths
from ablate.features.search.sections.tuning import FILE, OfSearch, named, space_table, table, value
from ablate.features.search.table import Objective, SearchTable, with_values
from ablate.report.draw import style
from ablate.report.draw.marks import plain
from ablate.report.section import Block, Folded, Material, Picture, Section, Terms, Text
from ablate.report.words import (
    NOTHING,
    Column,
    Table,
    count,
    number,
    plus_minus,
    say,
    short,
    tabulated,
    text,
)
from ablate.search import quiet

COSTS = {"parameters": "Parameters", "flops": "FLOPs"}
TOP, MAX_NUMBERS = 20, 8
# Optuna's name of a figure → the end of the name of its file, and its title.
FIGURES = {
    "pareto_front": ("front", "Pareto front"),
    "optimization_history": ("history", "History"),
    "param_importances": ("importances", "Importances"),
    "slice": ("slices", "Slices"),
}
# Settings with a value below which nothing but their history is drawn.
LEAST = 8

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Sweep(OfSearch, Section, place=60, title="What the sweep found", open=True):
    """The winners with the baseline, which was not searched; the best settings; how every setting ended."""

    kind = "sweep"

    def blocks(self, material: Material) -> Iterator[Block]:
        searched = table(material)
        if winners := winner_table(searched, material.evidence):
            yield from (winners, Text(say("search.winners_guide"), aside=True))
        if best := best_table(searched):
            yield Folded(say("search.best", len(searched.facts.objectives) > 1, len(best.rows)), [best])
        facts, seconds = searched.facts, searched.trials["train_seconds"].astype(float).sum()
        terms = {
            "Objectives": say(
                "search.objectives", [(named(o), o.direction == "max") for o in facts.objectives]
            ),
            "Settings": say("search.settings", len(searched.trials), facts.trials, facts.batch),
            "Tuning seeds": say("search.seeds", facts.seeds),
            "Sampler": facts.sampler,
            "Pruner": facts.pruner,
            "Training time": say("search.time", seconds),
            "Suggested by": ", ".join(f"{name} {version}" for name, version in facts.versions.items()),
        }
        how = Terms([(term, text(words)) for term, words in terms.items() if text(words)])
        yield Folded(say("search.tried"), [status_table(searched), space_table(searched), how])

    def answers(self, material: Material) -> list[str]:
        searched = table(material)
        if not len(searched.winners):
            return [say("search.no_winner")]
        objectives = [named(objective) for objective in searched.facts.objectives]
        return [say("search.answer", len(searched.trials), len(searched.winners), objectives)]

    def findings(self, material: Material) -> list[str]:
        searched = table(material)
        same = [n for n in searched.winners["chosen"] if judged_as(material.evidence, n) != n]
        return [
            say("search.ended", len(searched.trials), [*searched.trials["status"].value_counts().items()]),
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
            seen, trials = number(row.get(metric.name)), fresh(evidence, metric, row["chosen"])
            mean, spread = number(trials["validation"].mean()), number(trials["validation"].std())
            change = None if seen is None or mean is None else mean - seen
            rows.append(
                {
                    "variant": row["chosen"],
                    "metric": spelled(metric.name),
                    "tuning": plus_minus(seen, number(row.get("spread")) if metric is metrics[0] else None),
                    "fresh": plus_minus(mean, spread),
                    "change": NOTHING
                    if change is None
                    else wording.plus(change, wording.decimals(spread or 0)),
                    "test": plus_minus(number(trials["test"].mean()), number(trials["test"].std())),
                    "n": trials["test"].count(),
                    "setting": ", ".join(
                        f"{p}={value(row[p])}" for p in searched.paths if not pd.isna(row.get(p))
                    ),
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


def fresh(evidence: Evidence, metric: Objective, winner: str) -> pd.DataFrame:
    """A metric on the study's own seeds: `test`, and `validation`, where the workload measures it.

    A seed that diverged counts as guessing on validation data where the metric says what that is.
    """
    trials = evidence.trials[evidence.trials["variant"] == judged_as(evidence, winner)]
    test = trials[evidence.facts.column_of(metric.name)].astype(float)
    own = trials.get(f"validation_{metric.name}", np.nan) if metric.source == "validation" else test
    found = pd.DataFrame({"validation": own, "test": test})
    if metric.floor is not None:
        found.loc[trials["status"] == "diverged", "validation"] = metric.floor
    return found.replace([np.inf, -np.inf], np.nan)


def best_table(searched: SearchTable) -> Table | None:
    """The Pareto front of several objectives, or the best for one; None where no setting has a value."""
    search = searched.trials.iloc[0]
    found = searched.trials.loc[searched.best(search["variant"], search["task"], TOP)]
    if not len(found):
        return None
    objectives = [o for o in searched.facts.objectives if o.name not in COSTS]
    measured, ends = next((o for o in objectives if o.measured), None), spelled_paths(searched.paths)

    rows = [
        row
        | {cost: count(row[cost]) for cost in COSTS}
        | {path: value(row[path]) or NOTHING for path in searched.paths}
        | {
            f"objective {o.name}": plus_minus(
                number(row[o.name]), number(row["spread"]) if o is measured else None
            )
            for o in objectives
        }
        for row in found.to_dict("records")
    ]
    return tabulated(
        [
            Column(
                "number", "Setting", show=lambda row: f"{row['number']}, {row['chosen']}".removesuffix(", ")
            ),
            *(Column(f"objective {one.name}", as_sentence(named(one)), True) for one in objectives),
            *(Column(cost, words, True) for cost, words in COSTS.items()),
            *(
                Column(p.path, as_sentence(ends[p.path]), p.kind != "choice")
                for p in searched.facts.parameters
            ),
            Column("status", "Status", varying=True),
        ],
        rows,
        say("search.best", len(searched.facts.objectives) > 1),
        FILE,
    )


def status_table(searched: SearchTable) -> Table:
    """How every setting ended: a row per status and reason, so that no point of the space is left out in silence."""
    trials = searched.trials.assign(reason=searched.trials["reason"].fillna("").map(text))
    rows = [
        {
            "status": status,
            "n": len(found),
            "numbers": say("search.which", [] if status == "completed" else [*map(int, found)], MAX_NUMBERS),
            "reason": reason,
        }
        for (status, reason), found in trials.groupby(["status", "reason"], sort=False)["number"]
    ]
    return tabulated(
        [
            Column("status", "How it ended"),
            Column("n", "Settings", True),
            Column("numbers", "Which", words=True),
            Column("reason", "Why", words=True),
        ],
        rows,
        say("search.every"),
        FILE,
    )


class SweepFigures(
    OfSearch,
    Section,
    place=520,
    title="How the search went",
    inside="its front, its history, importances and slices",
):
    """Figures of Optuna's, on the study that the sweep was: its front, and the rest for the first metric."""

    kind = "sweep"

    def blocks(self, material: Material) -> Iterator[Block]:
        searched = table(material)
        every = searched.facts.objectives
        objective = next((o for o in every if o.source != "cost"), every[0])
        data, words = with_values(searched.trials, [objective]), named(objective)
        alone = SearchTable(replace(searched.facts, objectives=[objective]), searched.trials)
        tells = len(data) >= LEAST and data[objective.name].nunique() > 1
        apt = {
            "pareto_front": tells and len(every) in (2, 3),
            "optimization_history": len(data) > 0,
        }
        for name, (suffix, title) in FIGURES.items():
            options = (
                (searched, name, {}) if name == "pareto_front" else (alone, name, {"target_name": words})
            )
            if apt.get(name, tells):
                yield Picture(
                    f"sweep-{suffix}",
                    title,
                    say("search.optuna", name, words),
                    say("search.optuna_alt", title, len(data), words),
                    data,
                    draw,
                    options,
                )


def draw(data: pd.DataFrame, searched: SearchTable, name: str, given: dict[str, Any]) -> Figure:
    """Optuna's figure `name` of the one search of a sweep; `data` are its settings."""
    import optuna.visualization.matplotlib as drawn
    from matplotlib import pyplot, rc_context
    from matplotlib.ticker import LogLocator, NullFormatter

    ends, row = short(searched.paths), data.iloc[0]
    renamed = SearchTable(
        replace(
            searched.facts, parameters=[replace(p, path=ends[p.path]) for p in searched.facts.parameters]
        ),
        searched.trials.rename(columns=ends),
    )
    with rc_context(), quiet():
        study = renamed.rebuilt(row["variant"], row["task"])
        fig: Figure = np.ravel(getattr(drawn, f"plot_{name}")(study, **given))[0].figure
        pyplot.close(fig)
    for ax in fig.axes:
        ax.set_title("")
        for label in (ax.xaxis.label, ax.yaxis.label, *ax.texts):
            label.set_fontsize(style.SMALL)
        for axis in (axis for axis in (ax.xaxis, ax.yaxis) if axis.get_scale() == "log"):
            axis.set_major_locator(LogLocator(subs=(1, 3)))
            axis.set_major_formatter(plain)
            axis.set_minor_formatter(NullFormatter())
        if name == "slice":
            ax.tick_params("x", rotation=90)
    fig.suptitle("")
    many = len(searched.paths) / 3 if name == "slice" else 1
    fig.set_size_inches(style.width() * max(1.0, many), style.width() * 0.7)
    return fig
