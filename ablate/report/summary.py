"""The picture of a whole study that a README or a talk shows: its data, its title and its cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from ablate.base.wording import duration
from ablate.core.facts import BASELINE, Evidence, TaskFacts
from ablate.core.pauses import without_pauses
from ablate.report.figures.summary import summary
from ablate.report.figures.theme import EXPLORATORY
from ablate.report.section import Picture, ReportData
from ablate.report.sections import HEADLINE
from ablate.report.sections.conditions import condition_points, drawn_scales
from ablate.report.sections.differences import forest_rows, seed_pairs
from ablate.report.sentences.data_words import stated_of
from ablate.report.tables.condition_rows import with_conditions
from ablate.report.tables.directions import better_side, is_share
from ablate.report.tables.verdicts import names_of, planned_rows, row_name
from ablate.report.words import message

NAME = "summary"
MAX_ROWS = 14
"""The variants of the picture; those nearest to the baseline are left to the report."""


@dataclass(frozen=True)
class Spent:
    """What a study cost: its trainings, those of tuning among them, and their seconds on one core."""

    trainings: int
    seconds: float


def spent(evidence: Evidence) -> Spent:
    """Returns what the trials of a study cost, those of tuning and at other rates among them.

    Pauses of the machine are left out. A trial whose time is not kept, as one at another learning rate, counts as the
    mean of those that are judged.
    """
    frames = [evidence.trials, *evidence.frames.values()]
    timed = [frame for frame in frames if "train_seconds" in frame]
    # A setting that a search tried was trained on several seeds.
    of_settings = [frame for frame in timed if "seeds" in frame]
    of_trials = [_seconds_without_pauses(frame) for frame in timed if "seeds" not in frame]
    trainings = sum(int(frame["seeds"].sum()) for frame in of_settings) + sum(map(len, of_trials))
    seconds = sum(float(frame["train_seconds"].sum()) for frame in of_settings)
    seconds += sum(float(of_frame.sum()) for of_frame in of_trials)
    if "train_seconds" in evidence.trials and len(evidence.trials):
        untimed = _untimed(frames)
        trainings += untimed
        seconds += untimed * float(_seconds_without_pauses(evidence.trials).mean())
    return Spent(trainings, seconds)


def _seconds_without_pauses(frame: pd.DataFrame) -> pd.Series:
    """Returns the seconds of each trial; pauses are taken out among the completed ones of each variant and task."""
    seconds = pd.to_numeric(frame["train_seconds"]).astype(float)
    completed = frame[(frame["status"] == "completed") & seconds.notna()]
    for _, alike in completed.groupby(["variant", "task"]):
        seconds[alike.index] = without_pauses(seconds[alike.index].tolist())
    return seconds


def _untimed(frames: Sequence[pd.DataFrame]) -> int:
    """Returns the number of trials that no frame has the time of."""
    timed: set[str] = set()
    others: set[str] = set()
    for frame in frames:
        if "id" in frame:
            ids = timed if "train_seconds" in frame else others
            ids.update(frame["id"])
    return len(others - timed)


def summary_picture(report_data: ReportData) -> Picture | None:
    """Returns the picture of a study, of its first task or over its conditions.

    None where nothing was judged there by a difference.
    """
    facts = report_data.facts
    tasks = [task for task in facts.tasks if facts.metric in task.metrics]
    if not tasks:
        return None
    task = tasks[0]
    is_over = facts.over.joins_conditions
    # A row over conditions has their form in the place of a task.
    rows = _rows(report_data, replace(task, name=facts.over.form) if is_over else task)
    scales = _scales(report_data) if is_over else {}
    if rows.empty or (scales and facts.over.form == "every"):
        return None  # The numbers of `every` are in the units of each condition, which one axis cannot show.
    metric = task.metrics[facts.metric]
    dots = _conditions(report_data, scales) if is_over else seed_pairs(report_data.evidence, task)
    unit = "points" if is_share(metric) and not scales else ""
    scale = 100.0 if unit else 1.0
    ends = ["value", "low", "high"]
    rows[ends] *= scale
    dots["difference"] *= scale
    label = message("figures.summary_axis", facts.metric, unit, better_side(metric.direction))
    margin = None if facts.margin is None else facts.margin * scale
    options = (dots, title(report_data), label, footer(report_data, task), margin)
    alt = message("figures.summary_alt", facts.metric, len(rows))
    return Picture(NAME, "Summary", "", alt, rows, summary, options)


def _conditions(report_data: ReportData, scales: Mapping[str, float]) -> pd.DataFrame:
    """Returns the difference of each variant in each condition, in units of its scale: variant and difference."""
    facts = report_data.facts
    rows = planned_rows(report_data.comparisons)
    points = condition_points(report_data, scales)
    names = names_of(facts)
    variants = {row_name(row, names): row["variant"] for row in rows}
    return pd.DataFrame({"variant": points["label"].map(variants), "difference": points["value"]})


def _scales(report_data: ReportData) -> dict[str, float]:
    """Returns condition → the scale that its difference is divided by; nothing where all have one unit."""
    rows = with_conditions(planned_rows(report_data.comparisons), report_data.table("conditions"))
    return drawn_scales(rows, report_data.facts)


def _rows(report_data: ReportData, task: TaskFacts) -> pd.DataFrame:
    """Returns the judged variants of a task by their differences, the worst first and placebos last."""
    rows = forest_rows(report_data.facts, report_data.comparisons, task)
    if rows.empty:
        return rows
    # Judged by a difference from the baseline, as the seeds beside it are; not by the seeds that solved a task.
    is_shown = (rows["baseline"] == BASELINE) & rows["value"].notna() & rows["solved_variant"].isna()
    rows = rows[is_shown & (rows["verdict"] != EXPLORATORY)]
    others = rows[~rows["placebo"]]
    shown = others.loc[others["value"].abs().nlargest(MAX_ROWS).index]
    is_ascending = task.metrics[report_data.facts.metric].direction == "max"
    shown = shown.sort_values("value", ascending=is_ascending, kind="stable")
    copies = rows[rows["placebo"]].assign(label=message("figures.summary_placebo"))
    return pd.concat([shown, copies], ignore_index=True)


def title(report_data: ReportData) -> str:
    """Returns the first sentence of the answer, after the budget that it holds for."""
    steps = _steps(report_data.evidence)
    answers = HEADLINE.answers(report_data)
    # A sentence ends before a capital letter: a name may have a point.
    sentence = report_data.facts.question
    if answers:
        sentence = re.split(r"\. (?=[A-Z])", answers[0])[0].removesuffix(".")
    return message("figures.summary_title", sentence, steps) if steps else sentence


def _steps(evidence: Evidence) -> int:
    """Returns the steps of every training; 0 where they differ, and of code that may count something else."""
    if stated_of(evidence.facts) is not None or evidence.curves.empty:
        return 0
    last = evidence.curves.groupby("id")["step"].max()
    completed = evidence.trials.loc[evidence.trials["status"] == "completed", "id"]
    steps = {*last[last.index.isin(completed)]}
    return int(steps.pop()) if len(steps) == 1 else 0


def footer(report_data: ReportData, task: TaskFacts) -> str:
    """Returns the command of a study, the size of its baseline, its trainings and the time that they took."""
    facts = report_data.facts
    cost = spent(report_data.evidence)
    command = facts.environment.get("command") or facts.study
    parts = [command]
    parameters = facts.variants[0].parameters.get(task.name)
    if parameters:
        parts.append(message("figures.parameters", parameters))
    if cost.trainings:
        time = duration(cost.seconds)
        # What code that is not ours runs on is its own affair.
        on_one_core = stated_of(facts) is None
        parts.append(message("figures.trainings", cost.trainings))
        parts.append(message("figures.of_one_core", time) if on_one_core else time)
    return " · ".join(parts)
