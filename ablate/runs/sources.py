"""Where runs that exist are read from: a file, an experiment of MLflow, or the samples of lm-eval."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ablate.base.datafile import DataFile
from ablate.runs.options import AnalysisOptions
from ablate.runs.samples import read_samples
from ablate.tasks.files import read_table


def read_source(runs: str, options: AnalysisOptions) -> pd.DataFrame:
    """Returns the table of RUNS as it is, with the place of each row as its index. Raises `AblateError`."""
    if options.tracking_uri is not None:
        from ablate.runs.experiments import read_experiment  # with the client of MLflow

        return read_experiment(runs, options.tracking_uri)
    if Path(runs).is_dir():
        return read_samples(Path(runs), options.metric)
    table = read_table(DataFile(runs))
    places = [f"{runs}, {place}" for place in table.places]
    return pd.DataFrame(dict(table.columns), places)
