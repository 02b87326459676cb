"""The parent run of a study in MLflow, from the study's folder alone: a run and `ablate ui` write the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ablate.core.cell import Cell
from ablate.records.folder import StudyFolder
from ablate.records.roster import digest_with_files, first_of_each
from ablate.records.verdicts import SPEED
from ablate.study.document import read_document
from ablate.tracking.content import MAX_PARAM, MAX_TAG, SIZES, clean_key, cleaned, flattened, source_tags

# The description of a study in Markdown; lists show its first sentence.
Describe = Callable[[StudyFolder], str]

# The key of a shared view of the table of runs, which is part of the address that `ablate ui` prints. MLflow keeps the
# columns of a table in the browser, and those of a view that is shared in a tag of the experiment.
VIEW = "ablate"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
# Prefix of the metrics of the parent, which count the planned comparisons with each verdict.
COUNT = "comparisons_"
# Metric of speed → its name in the run of each trial: what its variant takes on an idle machine, not the run.
MEASURED = {"step_seconds": "variant_step_seconds", "step_memory": "variant_step_memory"}


@dataclass(frozen=True)
class Parent:
    """The parent run, and which trials are nested under it."""

    description: str
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    artifacts: Sequence[Path]  # files, and folders of files
    cells: Mapping[str, Cell]  # trial id → the first of its cells, which gives the run its name
    # Trial id → what was measured of its variant, not in its own run, on the machine that the folder names.
    measured: Mapping[str, Mapping[str, float]]
    columns: Sequence[str]  # metrics that the table of runs shows at first

    @property
    def view(self) -> str:
        """The value of the tag of a view with these metrics as columns, beside variant and seed."""
        shown = [("params", name) for name in ("variant", "seed")] + [
            ("metrics", clean_key(name)) for name in self.columns
        ]
        return json.dumps({"selectedColumns": [f"{kind}.`{name}`" for kind, name in shown]})

    @cached_property
    def digest(self) -> str:
        """Changes if anything changes, the content of the artifacts and the trials included."""
        found = (file for path in sorted(self.artifacts) for file in [path, *sorted(path.rglob("*"))])
        files = [file for file in found if file.is_file()]
        named = (sorted(part.items()) for part in (self.params, self.tags, self.metrics))
        measured = sorted((trial, *sorted(of.items())) for trial, of in self.measured.items())
        values = [
            self.description,
            *named,
            measured,
            sorted(self.cells),
            self.columns,
            [file.name for file in files],
        ]
        return digest_with_files(values, [str(file) for file in files])


def parent_of(folder: StudyFolder, describe: Describe) -> Parent:
    """The parent run of a study that has a report. Raises `AblateError` when the folder cannot be read."""
    study, facts = read_document(folder.study_file).data, folder.evidence().facts
    # Planned comparisons only: exploratory ones are not among the verdicts of the study.
    verdicts = Counter(row["verdict"] for row in folder.comparisons() if row["exploratory"] != "True")
    timed = [row for row in folder.beside(SPEED) if row["own"] == "True" and row["metric"] in MEASURED]
    measured: dict[tuple[str, str], dict[str, float]] = {}
    for row in timed:
        taken = {MEASURED[row["metric"]]: float(row["value_variant"])} if row["value_variant"] else {}
        measured.setdefault((row["variant"], row["task"]), {}).update(taken)
    cells = first_of_each(folder.cells())
    return Parent(
        description=describe(folder),
        params=cleaned(
            flattened({key: study[key] for key in ("design", "seeds") if key in study}), MAX_PARAM
        ),
        tags=cleaned(source_tags(facts.environment), MAX_TAG),
        metrics={f"{COUNT}{verdict}": float(count) for verdict, count in verdicts.items()},
        artifacts=folder.artifacts(),
        cells=cells,
        measured={trial: measured.get((cell.variant, cell.task), {}) for trial, cell in cells.items()},
        columns=list(
            dict.fromkeys(
                [
                    *map(facts.column_of, facts.judged),
                    *(name for task in facts.tasks for name in (*task.metrics, *task.stability)),
                    *(
                        name
                        for metric, name in MEASURED.items()
                        if any(row["metric"] == metric for row in timed)
                    ),
                    *("train_seconds", *SIZES),
                ]
            )
        ),
    )
