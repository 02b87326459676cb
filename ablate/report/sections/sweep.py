"""What a sweep found: its winners on fresh seeds, the best settings, all that was tried, and how the search went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from ablate.report.figures.front import pareto_front
from ablate.report.figures.history import history
from ablate.report.figures.importance import importances
from ablate.report.figures.slices import slices
from ablate.report.section import Block, Folded, Picture, ReportData, Section, Terms, Text
from ablate.report.sections.tuning import FILE, OfSearch, ended_words, named, space_table, table, value
from ablate.report.sentences.data_words import measured_on_judged, stated_of
from ablate.report.tables.directions import better_word
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    count,
    decimals_of,
    message,
    number,
    plus_minus,
    tabulated,
    text,
)

COSTS = {"parameters": "Parameters", "flops": "FLOPs"}
TOP = 20
"""The best settings that a table has."""
MAX_NUMBERS = 8
"""The settings that a status lists."""
MAX_SEEDS = 5
"""The tuning seeds that are listed."""
MAX_WINNERS = 3
"""The winners whose settings the answer names."""
LEAST = 8
"""Settings with a value below which nothing but their history is drawn."""


class Sweep(OfSearch, Section, title="What the sweep found", open=True):
    """The winners with the baseline, which was not searched; the best settings; how every setting ended."""

    kind = "sweep"

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        searched = table(report_data)
        winners = winner_table(searched, report_data.evidence)
        if winners is not None:
            yield winners
            is_own = measured_on_judged(searched)
            guide = "search.winners_guide_without_validation" if is_own else "search.winners_guide"
            yield Text(message(guide), aside=True)
        best = best_table(searched)
        if best is not None:
            has_front = len(searched.facts.objectives) > 1
            title = "search.front_title" if has_front else "search.best_title"
            yield Folded(message(title, len(best.rows)), [best])
        tried: list[Block] = [status_table(searched), space_table(searched), Terms(_budget(searched))]
        yield Folded(message("search.tried"), tried)

    def answers(self, report_data: ReportData) -> list[str]:
        searched = table(report_data)
        settings_of_winners = winner_settings(searched)
        if not settings_of_winners:
            return [message("search.no_winner")]
        winners = [message("search.winner", name, settings) for name, settings in settings_of_winners]
        if len(winners) > MAX_WINNERS:
            winners[MAX_WINNERS:] = [message("search.more_winners", len(winners) - MAX_WINNERS)]
        objectives = [named(objective) for objective in searched.facts.objectives]
        code = "search.answer_of_several" if len(objectives) > 1 else "search.answer"
        return [message(code, len(searched.trials), objectives, winners)]

    def findings(self, report_data: ReportData) -> list[str]:
        searched = table(report_data)
        statuses = searched.trials["status"].value_counts()
        counts = [ended_words(status, count_of_status) for status, count_of_status in statuses.items()]
        ended = message("search.ended", len(searched.trials), counts or [message("search.none_tried")])
        winners = searched.winners["chosen"]
        same = [winner for winner in winners if judged_as(report_data.evidence, winner) != winner]
        return [ended, *(message("search.itself", winner) for winner in same)]


def _budget(searched: SearchTable) -> list[tuple[str, str]]:
    """Returns what was searched for, with which budget, as terms; without what is not known."""
    facts = searched.facts
    objectives = []
    for objective in facts.objectives:
        better = better_word(objective.direction)
        objectives.append(message("search.objective", named(objective), better))
    seeds = ", ".join(map(str, facts.seeds[:MAX_SEEDS])) + (", …" if len(facts.seeds) > MAX_SEEDS else "")
    seconds = searched.trials["train_seconds"].astype(float).sum()
    terms = {
        "Objectives": wording.joined(objectives),
        "Settings": message("search.settings", len(searched.trials), facts.trials, facts.batch),
        "Tuning seeds": message("search.seeds", len(facts.seeds), seeds),
        "Sampler": facts.sampler,
        "Pruner": facts.pruner,
        "Training time": message("search.time", seconds) if seconds > 0 else "",
        "Suggested by": ", ".join(f"{name} {version}" for name, version in facts.versions.items()),
    }
    return [(term, text(words)) for term, words in terms.items() if text(words)]


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
    """Returns a row per winner and metric that was searched for, and the baseline; None without a winner.

    The change is below zero, where more is better, by the winner's curse.
    """
    metrics = [objective for objective in searched.facts.objectives if objective.measured]
    winners = searched.winners.to_dict("records")
    if not metrics or not winners:
        return None
    rows = []
    for metric in metrics:
        # The search keeps the spread of the first metric that it measured.
        has_spread = metric is metrics[0]
        for winner in [*winners, {"chosen": BASELINE}]:
            rows.append(_winner_row(winner, metric, searched, evidence, has_spread=has_spread))
    is_own = measured_on_judged(searched)
    columns = [
        Column("variant", "Variant"),
        Column("metric", "Metric", varying=True),
        Column("tuning", "Tuning seeds" if is_own else "Validation, tuning seeds", True),
        Column("fresh", "Fresh seeds" if is_own else "Validation, fresh seeds", True),
        Column("change", "Change", True),
    ]
    if not is_own:
        columns.append(Column("test", _judged_heading(evidence.facts), True))
    columns.append(Column("n", "Number of fresh seeds" if is_own else "Fresh seeds", True))
    columns.append(Column("setting", "Setting", below=True))
    return tabulated(columns, rows, message("search.winners"), FILE)


def _winner_row(
    winner: Mapping[Any, Any],
    metric: Objective,
    searched: SearchTable,
    evidence: Evidence,
    *,
    has_spread: bool,
) -> dict[str, Any]:
    """Returns what the search saw of a winner, or of the baseline, and what fresh seeds show."""
    seen = number(winner.get(metric.name))
    trials = fresh(evidence, metric, winner["chosen"])
    mean = number(trials["validation"].mean())
    spread = number(trials["validation"].std())
    change = NOTHING
    if seen is not None and mean is not None:
        change = wording.plus(mean - seen, decimals_of(mean, spread or 0))
    setting = [f"{path}={value(winner[path])}" for path in searched.paths if not pd.isna(winner.get(path))]
    return {
        "variant": winner["chosen"],
        "metric": spelled(metric.name),
        "tuning": plus_minus(seen, number(winner.get("spread")) if has_spread else None),
        "fresh": plus_minus(mean, spread),
        "change": change,
        "test": plus_minus(number(trials["test"].mean()), number(trials["test"].std())),
        "n": trials["test"].count(),
        "setting": ", ".join(setting),
    }


def _judged_heading(facts: StudyFacts) -> str:
    """Returns the heading of the judged numbers: of code that states its data, these need not be test data."""
    return "Test, fresh seeds" if stated_of(facts) is None else "Judged, fresh seeds"


def judged_as(evidence: Evidence, winner: str) -> str:
    """Returns the variant that a winner is in the comparison: one that is no variant is the baseline itself."""
    return winner if winner in [variant.name for variant in evidence.facts.variants] else BASELINE


def fresh(evidence: Evidence, metric: Objective, winner: str) -> pd.DataFrame:
    """Returns a metric on the study's own seeds: `test`, and `validation`, where the workload measures it.

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
    """Returns the Pareto front of several objectives, or the best for one; None where no setting has a value."""
    search = searched.trials.iloc[0]
    best = searched.trials.loc[searched.best(search["variant"], search["task"], TOP)]
    if best.empty:
        return None
    facts = searched.facts
    objectives = [objective for objective in facts.objectives if objective.name not in COSTS]
    measured = next((objective for objective in objectives if objective.measured), None)
    rows = []
    for row in best.to_dict("records"):
        cells = {name: row[name] for name in ("number", "chosen", "status")}
        cells |= {cost: count(row[cost]) for cost in COSTS}
        cells |= {path: value(row[path]) or NOTHING for path in searched.paths}
        for objective in objectives:
            spread = number(row["spread"]) if objective is measured else None
            cells[f"objective {objective.name}"] = plus_minus(number(row[objective.name]), spread)
        rows.append(cells)

    path_names = spelled_paths(searched.paths)
    columns = [Column("number", "Setting", show=_setting_number)]
    for objective in objectives:
        columns.append(Column(f"objective {objective.name}", as_sentence(named(objective)), True))
    columns += [Column(cost, heading, True) for cost, heading in COSTS.items()]
    for parameter in facts.parameters:
        path = parameter.path
        columns.append(Column(path, as_sentence(path_names[path]), parameter.kind != "choice"))
    columns.append(Column("status", "Status", varying=True))
    caption = "search.front_caption" if len(facts.objectives) > 1 else "search.best_caption"
    return tabulated(columns, rows, message(caption), FILE)


def _setting_number(row: Row) -> str:
    """Returns the number of a setting, and the name of the winner that it became."""
    return f"{row['number']}, {row['chosen']}" if row["chosen"] else str(row["number"])


def status_table(searched: SearchTable) -> Table:
    """Returns how every setting ended: a row per status and reason, so that none is left out in silence."""
    trials = searched.trials.assign(reason=searched.trials["reason"].fillna("").map(text))
    rows = []
    for (status, reason), numbers in trials.groupby(["status", "reason"], sort=False)["number"]:
        listed = (
            [] if status == "completed" else [str(int(number_of_setting)) for number_of_setting in numbers]
        )
        if len(listed) > MAX_NUMBERS:
            listed[MAX_NUMBERS:] = ["…"]
        rows.append({"status": status, "n": len(numbers), "numbers": ", ".join(listed), "reason": reason})
    columns = [
        Column("status", "How it ended"),
        Column("n", "Settings", True),
        Column("numbers", "Which", words=True),
        Column("reason", "Why", words=True),
    ]
    return tabulated(columns, rows, message("search.every"), FILE)


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
