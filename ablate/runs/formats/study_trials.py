"""The trials of a study of ablate, as `ablate run` writes them; of its other files, where to look instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ablate.analysis.family import crossed_levels
from ablate.base.errors import Invalid
from ablate.base.text import typed
from ablate.core.facts import ALL_PAIRS, TRIALS, Evidence, StudyFacts
from ablate.pipeline.judging import judge_evidence
from ablate.records.folder import StudyFolder
from ablate.report.words import message
from ablate.runs.formats.study_warnings import warnings_of_report
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound

STORE = "store"
"""The folder of the records of trials in a folder of results."""


class StudyTrialsReader(Reader):
    """Reads the trials of a study, and what it declares of its metric."""

    looks_for = "a study of ablate (trials.parquet, or its folder)"

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether a path is the folder of a study, a file in it, or the folder of results."""
        return folder_of(path) is not None or _holds_studies(path)

    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns the trials of a study. Raises `AblateError`, also for a path that holds none by itself."""
        folder = folder_of(path)
        if folder is None:
            results = next((place for place in (path, *path.parents) if (place / STORE).is_dir()), path)
            hint = f"Name the folder of one: {typed('analyse', results / 'STUDY')}"
            raise Invalid(
                "RUNS", "holds the studies of ablate, and not the runs of one", str(path), hint=hint
            )
        if path.is_file() and path.name != TRIALS:
            hint = f"They are in {TRIALS}: {typed('analyse', folder.path)}"
            raise Invalid("RUNS", "is a file of a study that has no runs", path.name, hint=hint)
        data = judge_evidence(folder)
        notes = [*_notes(folder, data.facts), *warnings_of_report(data)]
        return replace(trials_of(data.evidence), notes=notes)


def trials_of(evidence: Evidence) -> RunsFound:
    """Returns the trials of a study, without what its report says beside them."""
    facts = evidence.facts
    roles = {name: [name] for name in ("variant", "seed", "status")}
    if len(facts.tasks) > 1 or facts.tasks[0].name_for_readers:
        roles["task"] = ["task"]
    table = _with_examples(evidence) if _shares_examples(evidence) else _texts(evidence.trials)
    if "example" in table:
        roles["example"] = ["example"]
    metrics = [name for name in _metrics_of(facts) if name in table]
    used = [*dict.fromkeys(column for columns in roles.values() for column in columns), *metrics]
    return RunsFound(
        table[used],
        f"the trials of the study {facts.study}",
        roles,
        metrics,
        declared=_declared(facts),
    )


def folder_of(path: Path) -> StudyFolder | None:
    """Returns the folder of the study that a path is, or is in; None where there is none that a study has written."""
    folder = path if path.is_dir() else path.parent
    if not (folder / TRIALS).is_file():
        return None
    study = StudyFolder.at(folder)
    facts = study.reported_facts()
    return study if facts is not None and not facts.is_given else None


def _holds_studies(path: Path) -> bool:
    """Returns whether a folder is one of results, or the store in it, or the records of trials in that."""
    stores = [path / STORE, *(place for place in (path, path.parent) if place.name == STORE)]
    return path.is_dir() and any(
        (store / "trials").is_dir() and (store / "studies").is_dir() for store in stores
    )


def _metrics_of(facts: StudyFacts) -> list[str]:
    """Returns the columns of metrics, that which is judged first."""
    names = dict.fromkeys([facts.column])
    for task in facts.tasks:
        names |= dict.fromkeys(task.metrics)
    return [*names]


def _texts(trials: pd.DataFrame) -> pd.DataFrame:
    """Returns trials as cells of text, empty where there is no value; rows are named by their ids."""
    texts = pd.DataFrame(index=[f"trial {trial}" for trial in trials["id"]])
    for name in trials:
        texts[name] = ["" if pd.isna(value) else str(value) for value in trials[name].tolist()]
    return texts


def _shares_examples(evidence: Evidence) -> bool:
    """Returns whether verdicts count test examples, which all seeds share."""
    return bool((evidence.examples["metric"] == evidence.facts.metric).any())


def _with_examples(evidence: Evidence) -> pd.DataFrame:
    """Returns a row a run and test example, with the outcome of the judged metric; of a run without them, none."""
    facts = evidence.facts
    examples = evidence.examples[evidence.examples["metric"] == facts.metric]
    values_of = dict(zip(examples["id"], examples["values"], strict=True))
    num_of_task = {
        task: max(len(values_of[trial]) for trial in trials["id"] if trial in values_of)
        for task, trials in evidence.trials.groupby("task")
        if any(trial in values_of for trial in trials["id"])
    }
    runs = _texts(evidence.trials)
    rows: list[dict[str, str]] = []
    places: list[str] = []
    for place, trial, row in zip(runs.index, evidence.trials["id"], runs.to_dict("records"), strict=True):
        count = num_of_task.get(row["task"], 1)
        values = [str(float(value)) for value in values_of[trial]] if trial in values_of else [""] * count
        for number, value in enumerate(values):
            rows.append(row | {"example": str(number), facts.column: value})
            places.append(f"{place}, example {number}")
    return pd.DataFrame(rows, index=places, dtype=object)


def _declared(facts: StudyFacts) -> dict[str, object]:
    """Returns what a study declares of its judged metric, by the names of the options of `ablate analyse`."""
    task = facts.tasks[0]
    metric = task.metrics[facts.metric]
    declared: dict[str, object] = {
        "metric": facts.column,
        "direction": metric.direction,
        "margin": facts.margin,
        "floor": metric.floor,
        "ceiling": metric.ceiling,
        "resolution": metric.resolution,
        "baseline": facts.variants[0].name if facts.compare == ALL_PAIRS else facts.compare,
    }
    if facts.compare == ALL_PAIRS:
        declared["compare"] = ALL_PAIRS
    if task.outcome == "all_or_nothing":
        declared["all_or_nothing"] = metric.solved
    return declared


def _notes(folder: StudyFolder, facts: StudyFacts) -> Iterator[str]:
    """Yields what the report of the study counts beside its trials, with the command that judges it again."""
    beside = []
    if facts.claims:
        beside.append("its claims")
    if any(variant.rivals for variant in facts.variants):
        beside.append("runner-up settings")
    if facts.plan.looks:
        beside.append("looks")
    if crossed_levels(facts):
        beside.append("main effects")
    if facts.plan.replanned is not None:
        beside.append("a plan that was changed after results")
    if beside:
        yield message("analyse.of_study", beside, typed("report", folder.path))
