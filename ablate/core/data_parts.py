"""The names of parts of the data: the splits, and the columns in which results say of which part they speak."""

from __future__ import annotations

RANKS = {
    **dict.fromkeys(("train", "training"), 0),
    **dict.fromkeys(("val", "valid", "validation", "dev", "eval", "evaluation"), 1),
    "test": 2,
}
"""The words for a split of the data → how much its results count."""
TASK_COLUMNS = frozenset(
    {
        "task",
        "tasks",
        "task_name",
        "dataset",
        "datasets",
        "dataset_name",
        "data_set",
        "benchmark",
        "domain",
        "env",
        "envs",
        "environment",
        "game",
        "games",
    }
)
"""Names of columns whose values are tasks, in small letters."""
FOLD_COLUMNS = frozenset(("fold", "folds", "fold_id", "cv_fold", "kfold", "split", "splits"))
"""Names of columns whose values are folds or splits, and may be numbers."""
PART_COLUMNS = (
    TASK_COLUMNS
    | FOLD_COLUMNS
    | frozenset(
        {
            "phase",
            "mode",
            "stage",
            "subset",
            "partition",
            "set",
            "part",
            "category",
            "label",
            "group",
            "lang",
            "language",
            "languages",
            "class",
            "class_name",
        }
    )
)
"""Names of columns that say of which part of the data a row speaks."""
