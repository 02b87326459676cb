"""From records to what is published: the evidence, its verdicts, the page, and the table on the terminal."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.collector import uncollected
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ablate.core.cell import Cell
    from ablate.core.record import Record
    from ablate.report.section import Material


def gather(facts: Facts, cells: Sequence[Cell], records: Mapping[str, Record]) -> Evidence:
    """The evidence of a study from its records; trials that have not run are absent."""
    import numpy as np
    import pandas as pd

    levels = {v.name: v.levels for v in facts.variants}
    rows, curves = [], []
    for cell in cells:
        record = records.get(cell.trial.id)
        if record is None:
            continue
        rows.append(
            {"id": record.id, "variant": cell.variant, "task": cell.task, "seed": cell.seed}
            | levels[cell.variant]
            | {"status": record.status, "reason": record.reason}
            | {name: np.nan if value is None else value for name, value in record.metrics.items()}
        )
        curves += [
            pd.DataFrame({"id": record.id, "step": curve.steps, "metric": name, "value": curve.values})
            for name, curve in record.curves.items()
        ]
    trials = pd.DataFrame(
        rows, columns=None if rows else ["id", "variant", "task", "seed", "status", "reason"]
    )
    for column in [facts.column, *(name for task in facts.tasks for name in task.metrics)]:
        if column not in trials:
            trials[column] = np.nan
    empty = pd.DataFrame(
        {"id": pd.Series(dtype=str), "step": [], "metric": pd.Series(dtype=str), "value": []}
    )
    curve_frame = pd.concat(curves, ignore_index=True) if curves else empty
    return Evidence(facts, trials, curve_frame.drop_duplicates(["id", "step", "metric"], ignore_index=True))


def publish(evidence: Evidence, folder: Path) -> None:
    """Comparisons, claims, figures and page from the evidence alone."""
    with uncollected():
        from ablate.analysis.claims import judge
        from ablate.analysis.compare import compare
        from ablate.base.files import replacing
        from ablate.core.searched import UNTUNED
        from ablate.report.page import write_report

        comparisons = compare(evidence)
        claims = judge(evidence)
        for name, frame in (("comparisons.csv", comparisons), ("claims.csv", _declared(claims, folder))):
            with replacing(folder / name) as path:
                frame.to_csv(path, index=False)
        found = material(folder, evidence, comparisons, claims)
        if found.untuned_comparisons is not None:
            with replacing(folder / UNTUNED / "comparisons.csv") as path:
                found.untuned_comparisons.assign(exploratory=True).to_csv(path, index=False)
        write_report(found, folder)


def material(folder: Path, evidence: Evidence, comparisons: pd.DataFrame, claims: pd.DataFrame) -> Material:
    """All that a report is made from."""
    from ablate.analysis.compare import compare
    from ablate.core.searched import SWEEP, TUNING, UNTUNED, Searched
    from ablate.records.evaluated import Evaluated
    from ablate.report.section import Material
    from ablate.search.importances import load_importances

    evaluated, left_out = Evaluated.load(folder).current(set(evidence.trials["id"]), _checkpoint(folder))
    found = Material(evidence, comparisons, claims, evaluated, left_out)
    searched = evidence.facts.searched
    if searched == "sweep" and (table := Searched.load(folder / SWEEP)):
        return dataclasses.replace(found, searched=table, importances=load_importances(folder))
    if searched == "tuning" and (table := Searched.load(folder / TUNING)):
        found = dataclasses.replace(found, searched=table)
        if all((folder / UNTUNED / name).is_file() for name in ("trials.parquet", "curves.parquet")):
            untuned = Evidence.load(folder / UNTUNED)
            found = dataclasses.replace(found, untuned=untuned, untuned_comparisons=compare(untuned))
    return found


def _declared(claims: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """The claims that are judged, and those of the study that this evidence cannot settle, such as of a winner."""
    import pandas as pd

    from ablate.records.declared import waiting

    rows = waiting(folder / "claims.csv", set(claims["hash"]))
    # As objects, so that a number that some lack stays whole.
    return pd.DataFrame([*claims.to_dict("records"), *rows], columns=claims.columns, dtype=object)


def _checkpoint(folder: Path) -> str:
    """Which weights the study keeps, by its resolved file; `none` where that cannot be told."""
    from ablate.base.errors import StudyError
    from ablate.study.document import read_document

    try:
        return str(read_document(folder / "study.yaml").data.get("checkpoint", "none"))
    except StudyError:
        return "none"


def print_results(folder: Path, console: Console, tracking_uri: str | None = None) -> None:
    """The verdict table of a study's folder, and where the report and the MLflow UI are."""
    from ablate.report.terminal import print_verdicts

    print_verdicts(folder, console)
    results = "" if folder.parent == Path("results") else f" --results {folder.parent}"
    console.print(f"Report: {folder / 'report.html'}", highlight=False, soft_wrap=True)
    mlflow = tracking_uri or f"ablate ui{results}"
    console.print(f"MLflow: {mlflow}", highlight=False, soft_wrap=True)


def rebuild(study: Path, results: Path, console: Console) -> None:
    """The report of a study again, from its results folder; neither the store nor the study file is used.

    `study` is a study file, the name of a study, or its results folder.
    """
    folder = _results_folder(study, results)
    publish(Evidence.load(folder), folder)
    print_results(folder, console)


def _results_folder(study: Path, results: Path) -> Path:
    if (study / "trials.parquet").is_file():
        return study
    if study.is_file():
        from ablate.study.document import read_document

        return results / str(read_document(study).data.get("name", study.stem))
    return results / study.name
