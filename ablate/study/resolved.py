"""The study with every default filled in, as a file that runs."""

from __future__ import annotations

import io
import os
from pathlib import Path

from ruamel.yaml import YAML

from ablate.base.datafile import DataFile
from ablate.study.experiment import Experiment


def resolved_text(experiment: Experiment, folder: Path) -> str:
    """The resolved study as a file in `folder`."""
    study = experiment.study
    data = study.model_dump()
    for empty in ("task", "tasks", "search", "tune", "stress", "speed", "match"):
        if empty in data and not data[empty]:
            del data[empty]
    if data["plugins"] or experiment.reads_files:
        data["folder"] = os.path.relpath(study.base(experiment.path), folder.resolve())
    else:
        del data["folder"]
    buffer = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.representer.add_representer(DataFile, lambda to, file: to.represent_str(file.written))
    yaml.dump(data, buffer)
    return buffer.getvalue()
