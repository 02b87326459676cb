"""`results/<study>/study.yaml`: the study with every default filled in, which runs as it is."""

from __future__ import annotations

import io
import os
from pathlib import Path

from ruamel.yaml import YAML

from ablate.base.files import write_text
from ablate.base.passwords import masked
from ablate.study.experiment import Experiment


def write_resolved(experiment: Experiment, path: Path) -> None:
    """Writes the resolved study, its plugins relative to the new place, a storage without its password."""
    data = experiment.resolved()
    data["plugins"] = [
        os.path.relpath((experiment.path.parent / plugin).resolve(), path.parent.resolve())
        for plugin in experiment.study.plugins
    ]
    for section in (data.get("search"), data.get("tune")):
        if section and section["storage"]:
            section["storage"] = masked(section["storage"])
    yaml = YAML()
    yaml.default_flow_style = False
    buffer = io.StringIO()
    yaml.dump(data, buffer)
    text = buffer.getvalue()
    if not path.is_file() or path.read_bytes() != text.encode():
        write_text(path, text)
