"""What a sweep found: its winners on fresh seeds, the best settings, all that was tried, and how the search went."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ablate.analysis.optuna_study import rebuilt
from ablate.analysis.search_table import Objective, SearchTable, with_values
from ablate.base import wording
from ablate.base.quiet import quiet
from ablate.base.wording import brief
from ablate.core.facts import BASELINE, Evidence, StudyFacts
from ablate.core.short_names import level_name
from ablate.core.spelling import as_sentence, spelled, spelled_paths
from ablate.report.data_words import measured_on_judged, stated_of
from ablate.report.figures.front import pareto_front
from ablate.report.figures.history import history
from ablate.report.figures.importance import importances
from ablate.report.figures.slices import slices
from ablate.report.section import Block, Folded, Picture, ReportData, Section, Terms, Text
from ablate.report.sections.tuning import FILE, OfSearch, named, space_table, table, value
from ablate.report.words import (
    NOTHING,
    Column,
    Table,
    count,
    message,
    number,
    plus_minus,
    tabulated,
    text,
)

COSTS = {"parameters": "Parameters", "flops": "FLOPs"}
TOP, MAX_NUMBERS = 20, 8
MAX_WINNERS = 3
"""The winners whose settings the answer names."""
# Settings with a value below which nothing but their history is drawn.
LEAST = 8


class Sweep(OfSearch, Section, title="What the sweep found", open=True):
    """The winners with the baseline, which was not searched; the best settings; how every setting ended."""

    kind = "sweep"

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        searched = table(report_data)
        if winners := winner_table(searched, report_data.evidence):
            yield from (
                winners,
                Text(message("search.winners_guide", measured_on_judged(searched)), aside=True),
            )
        if best := best_table(searched):
            yield Folded(message("search.best", len(searched.facts.objectives) > 1, len(best.rows)), [best])
        facts, seconds = searched.facts, searched.trials["train_seconds"].astype(float).sum()
        terms = {
            "Objectives": message(
                "search.objectives", [(named(o), o.direction == "max") for o in facts.objectives]
            ),
            "Settings": message("search.settings", len(searched.trials), facts.trials, facts.batch),
            "Tuning seeds": message("search.seeds", facts.seeds),
            "Sampler": facts.sampler,
            "Pruner": facts.pruner,
            "Training time": message("search.time", seconds),
            "Suggested by": ", ".join(f"{name} {version}" for name, version in facts.versions.items()),
        }
        how = Terms([(term, text(words)) for term, words in terms.items() if text(words)])
        yield Folded(message("search.tried"), [status_table(searched), space_table(searched), how])

    def answers(self, report_data: ReportData) -> list[str]:
        searched = table(report_data)
        if not len(searched.winners):
            return [message("search.no_winner")]
        objectives = [named(objective) for objective in searched.facts.objectives]
        settings = winner_settings(searched)
        return [message("search.answer", len(searched.trials), objectives, settings, MAX_WINNERS)]

    def findings(self, report_data: ReportData) -> list[str]:
        searched = table(report_data)
        same = [n for n in searched.winners["chosen"] if judged_as(report_data.evidence, n) != n]
        return [
            message(
                "search.ended", len(searched.trials), [*searched.trials["status"].value_counts().items()]
            ),
            *(message("search.itself", name) for name in same),
        ]


def winner_settings(searched: SearchTable) -> list[tuple[str, list[str]]]:
    """Returns the name of each winner with its settings in words: `learning rate 0.003`."""
    winners = []
    for row in searched.winners.to_dict("records"):
        settings = []
        for path in searched.paths:
            setting = row[path]
            label = value(setting) if isinstance(setting, str) or number(setting) is None else brief(setting)
            if label:
                settings.append(level_name(path, label))
        winners.append((row["chosen"], settings))
    return winners


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
    is_own = measured_on_judged(searched)
    columns = [
        Column("variant", "Variant"),
        Column("metric", "Metric", varying=True),
        Column("tuning", "Tuning seeds" if is_own else "Validation, tuning seeds", True),
        Column("fresh", "Fresh seeds" if is_own else "Validation, fresh seeds", True),
        Column("change", "Change", True),
        *([] if is_own else [Column("test", _judged_heading(evidence.facts), True)]),
        Column("n", "Number of fresh seeds" if is_own else "Fresh seeds", True),
        Column("setting", "Setting", below=True),
    ]
    return tabulated(columns, rows, message("search.winners"), FILE) if rows else None


def _judged_heading(facts: StudyFacts) -> str:
    return "Test, fresh seeds" if stated_of(facts) is None else "Judged, fresh seeds"


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
        message("search.best", len(searched.facts.objectives) > 1),
        FILE,
    )


def status_table(searched: SearchTable) -> Table:
    """How every setting ended: a row per status and reason, so that no point of the space is left out in silence."""
    trials = searched.trials.assign(reason=searched.trials["reason"].fillna("").map(text))
    rows = [
        {
            "status": status,
            "n": len(found),
            "numbers": message(
                "search.which", [] if status == "completed" else [*map(int, found)], MAX_NUMBERS
            ),
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
        message("search.every"),
        FILE,
    )


class SweepFigures(
    OfSearch,
    Section,
    title="How the search went",
    inside="its front, its history, importances and slices",
):
    """The front of several objectives, and for the first metric what was tried when, and what it depends on."""

    kind = "sweep"

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        searched = table(report_data)
        objectives = searched.facts.objectives
        target = next((objective for objective in objectives if objective.source != "cost"), objectives[0])
        words = named(target)
        tried = valued(searched, target)
        if tried.empty:
            return

        def picture(name: str, title: str, *drawing: Any) -> Picture:
            caption = message(f"search.{name}", words)
            alt = message("search.figure_alt", title, len(tried), words)
            return Picture(f"sweep-{name}", title, caption, alt, *drawing)

        has_enough = len(tried) >= LEAST and tried["value"].nunique() > 1
        names = spelled_paths(searched.paths)
        if has_enough and len(objectives) in (2, 3):
            labels = {objective.name: named(objective) for objective in objectives}
            every = with_values(searched.trials, objectives)
            directions = {objective.name: objective.direction for objective in objectives}
            yield picture("front", "Pareto front", every, pareto_front, (labels, directions))
        yield picture("history", "History", tried, history, (words,))
        if has_enough:
            log = [parameter.path for parameter in searched.facts.parameters if parameter.log]
            yield picture("importances", "Importances", importance(searched, target), importances, (words,))
            yield picture("slices", "Slices", tried, slices, (names, log, words))


def valued(searched: SearchTable, target: Objective) -> pd.DataFrame:
    """Returns the settings that have a value of an objective, in order: number, value, best so far, and the paths."""
    tried = with_values(searched.trials, [target]).sort_values("number", kind="stable")
    value = tried[target.name].astype(float)
    best = value.cummax() if target.direction == "max" else value.cummin()
    return tried.assign(value=value, best=best)[["number", "value", "best", *searched.paths]]


def importance(searched: SearchTable, target: Objective) -> pd.DataFrame:
    """Returns how much each searched path influences an objective, the most important first.

    Columns: name, importance, a share of all.

    Optuna's PED-ANOVA: how much the best tenth of the settings differs from all in the path (Watanabe et al. 2023).
    """
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    search = searched.trials.iloc[0]
    alone = SearchTable(replace(searched.facts, objectives=[target]), searched.trials)
    with quiet():
        study = rebuilt(alone, search["variant"], search["task"])
        found = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    ends = spelled_paths(searched.paths)
    rows = [(ends[path], share) for path, share in found.items()]
    return pd.DataFrame(rows, columns=["name", "importance"]).sort_values(
        "importance", ascending=False, kind="stable", ignore_index=True
    )
