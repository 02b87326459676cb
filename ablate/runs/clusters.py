"""Examples that share a source, and the sentences of the report on their sources."""

import numpy as np
import pandas as pd

from ablate.analysis.clusters import effective_sources
from ablate.base.errors import Gather
from ablate.report.words import message

FEW_SOURCES = 10
"""Effective sources below which the report says that they are few."""


def with_sources(examples: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the examples of runs with the source of each, a list of numbers beside that of their values.

    rows: the checked table, a row an example of a run, with the column `source`. Raises `Invalid`.
    """
    with Gather() as at:
        nameless = rows.index[rows["source"].astype(str).str.strip() == ""]
        hint = "Give each example without a source a source of its own"
        at.refuse(len(nameless), "RUNS", f"{nameless[:1].tolist()}: the source must not be empty", hint=hint)
    # The first of an example counts for all runs, whose order of examples is the same.
    source = rows.groupby(["task", "example"])["source"].transform("first")
    numbers = pd.Series(0, rows.index)
    for _, of_task in source.groupby(rows["task"]):
        numbers[of_task.index] = pd.factorize(of_task)[0]
    in_order = rows.assign(source=numbers).sort_values("example", kind="stable")
    by_run = in_order.groupby(["variant", "task", "seed"], sort=False).agg({"id": "first", "source": list})
    return examples.merge(by_run, on="id")


def source_limitations(trials: pd.DataFrame, examples: pd.DataFrame) -> list[str]:
    """Returns a sentence on the documents of each task; none where documents have no sources."""
    if "source" not in examples or examples.empty:
        return []
    sentences = []
    sources_of = examples.drop_duplicates("id").set_index("id")["source"]
    for task, runs in trials.groupby("task", sort=False):
        sources = np.array(sources_of.loc[runs["id"].iloc[0]])
        effective = effective_sources(sources)
        sentence = message("analyse.sources", len(sources), len(np.unique(sources)), effective)
        if effective < FEW_SOURCES:
            sentence += message("analyse.few_sources")
        sentence = f"{sentence}. {message('analyse.error_rates')}"
        sentences.append(f"{task}: {sentence}" if trials["task"].nunique() > 1 else sentence)
    return sentences
