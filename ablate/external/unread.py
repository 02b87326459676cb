"""What a run that gave no number of a metric has written, and how that is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ablate.base.errors import listed
from ablate.base.event_files import is_event_file
from ablate.base.extras import EXTRAS, is_installed
from ablate.base.text import printable
from ablate.external.tree import paths_below
from ablate.external.written import places_of

_READ = "CSV, JSON, JSON lines and event files of TensorBoard"
_MAX_NAMED = 3


def hint_on_folder(metric: str, folder: Path) -> str:
    """Returns what `$ABLATE_DIR` has of a metric, or its files, as the end of a sentence; empty where it has none."""
    files = [folder / path for path in sorted(paths_below(folder))]
    if not files:
        return ""
    places = places_of(metric, folder, files)
    if places:
        names = [place.partition(" in ")[0] for place in places]
        way = "name the metric as it stands there"
        if len({*names}) < len(names):
            # A name in two files is refused where their values differ.
            way += "; several files have one name: have your code give that which counts another, such as test_acc"
        return f"; there is {listed(places, _MAX_NAMED)}: {way}"
    package = "tensorboard"
    if any(is_event_file(file.name) for file in files) and not is_installed(package):
        return f"; reading its event files needs {package}: pip install 'ablate[{EXTRAS[package]}]'"
    return f"; $ABLATE_DIR has {_names(files, folder)}, and {metric} is in none that is read: {_READ}"


def hint_on_copy(metric: str, folder: Path, paths: Sequence[str]) -> str:
    """Returns what the files that a run has written to its copy have of a metric, as the end of a sentence.

    paths: those of the files, from the study's folder in the copy.
    """
    if not paths:
        return f"; it wrote no file: print it, and add `read: {{{metric}: PATTERN}}` under workload"
    files = [folder / path for path in paths]
    places = places_of(metric, folder, files)
    if places:
        return f"; there is {listed(places, _MAX_NAMED)}: have your code write that below {{dir}}, or $ABLATE_DIR"
    names = _names(files, folder)
    return f"; it wrote {names}: have your code write it below {{dir}}, or $ABLATE_DIR, as one of {_READ}"


def _names(files: Iterable[Path], folder: Path) -> str:
    """Returns the paths of some files from a folder."""
    return listed((printable(os.path.relpath(file, folder)) for file in files), _MAX_NAMED)
