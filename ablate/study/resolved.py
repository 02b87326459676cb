"""The study with every default filled in, as a file that runs."""

from __future__ import annotations

import io
import os
from pathlib import Path

from ruamel.yaml import YAML

from ablate.base.passwords import masked
from ablate.study.experiment import Experiment


def resolved_text(experiment: Experiment, folder: Path) -> str:
    """The resolved study as a file in `folder`: its plugins relative to that, a storage without its password."""
    data = experiment.study.model_dump()
    for empty in ("task", "tasks", "search", "tune", "match"):
        if empty in data and not data[empty]:
            del data[empty]
    data["plugins"] = [
        os.path.relpath((experiment.path.parent / plugin).resolve(), folder.resolve())
        for plugin in experiment.study.plugins
    ]
    for section in (data.get("search"), data.get("tune")):
        if section and section["storage"]:
            section["storage"] = masked(section["storage"])
    buffer = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.dump(data, buffer)
    return buffer.getvalue()
