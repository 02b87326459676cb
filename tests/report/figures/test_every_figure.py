"""What holds for every figure: it can be read on the page and in a paper, and the same data give the same bytes."""

import hashlib
import os
import pickle
import pkgutil
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from ablate.report import figures as package
from ablate.report.figures.heads import attention_maps
from ablate.report.figures.saving import saved
from ablate.report.figures.theme import WIDTH, theme
from ablate.report.page import figures
from figures.looks import COLUMN, assert_readable, settings

KINDS = {
    "conditions": "over_mean",
    "cost": "",
    "forest": "",
    "seeds": "",
    "train-loss": "",
    "validation-accuracy": "",
    "cost-1-recall": "many_timed",
    "interaction": "factorial",
    "tasks": "several_tasks",
    "trend": "ladder",
    "learning-rates": "stressed",
    "settings": "tuned",
    "speed": "only_timed",
    "scaling": "only_timed",
    "sweep-front": "swept",
    "sweep-history": "swept",
    "sweep-importances": "swept",
    "sweep-slices": "swept",
}
"""A figure of each kind → the study of `reports.MADE` that it is of."""
MORE = [
    ("forest", "rates"),
    ("forest", "factorial"),
    ("forest", "troubled"),
    ("seeds", "losses"),
    ("conditions", "ladder"),
]
WHOLE = [*KINDS.items(), *MORE]
TOOLS = {"facets", "line_names", "rows", "saving", "scales", "theme", "summary", "atlas"}
QUICK = [("forest", "factorial"), ("interaction", "factorial"), ("sweep-slices", "swept"), ("cost", "tuned")]
QUICK += [("validation-accuracy", "matched"), ("settings", "tuned")]

AGAIN = """
import hashlib, json, pickle, sys
from pathlib import Path
from ablate.report.figures.saving import saved
from ablate.report.figures.theme import theme

for picture in pickle.loads(Path(sys.argv[1]).read_bytes()):
    with theme():
        print(hashlib.sha256(saved(picture.draw(), picture.name)["svg"]).hexdigest())
"""


@pytest.mark.slow
def test_every_kind_is_looked_at(of_study):
    files = {info.name for info in pkgutil.iter_modules(package.__path__)} - TOOLS
    drawing = {of_study(study)[name].drawing.__module__.rpartition(".")[2] for name, study in WHOLE}
    assert drawing | {"heads"} == files


@pytest.mark.slow
@pytest.mark.parametrize("width", [None, COLUMN], ids=["page", "paper"])
@pytest.mark.parametrize(("name", "study"), WHOLE)
def test_words_are_inside_and_never_over_words(of_study, drawn, name, study, width):
    if width is None:
        figure = drawn(name, study)
    else:
        with theme(settings(width)):
            figure = of_study(study)[name].draw()
    assert figure.get_size_inches()[0] == (width or WIDTH)
    with theme(settings(width)):
        assert_readable(figure)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("width", [None, COLUMN], ids=["page", "paper"])
@pytest.mark.parametrize("heads", [1, 4, 12])
def test_attention_too(heads, width):
    weights = np.full((5, 5), 0.2)
    rows = [(f"layer {layer}", head + 1, weights) for layer in (1, 2) for head in range(heads)]
    with theme(settings(width)):
        assert_readable(attention_maps(pd.DataFrame(rows, columns=["layer", "head", "weights"]), 0.2))


@pytest.mark.slow
def test_the_same_data_give_the_same_bytes_here_and_in_another_process(of_study, tmp_path):
    """Whatever the order of sets, which every process has its own of."""
    drawn = [of_study(study)[name] for name, study in QUICK]
    here = []
    for picture in drawn:
        with theme():
            first, second = (saved(picture.draw(), picture.name)["svg"] for _ in range(2))
        assert first == second, picture.name
        here.append(hashlib.sha256(first).hexdigest())
    (tmp_path / "pictures").write_bytes(pickle.dumps(drawn))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", AGAIN, str(tmp_path / "pictures")],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == here


@pytest.mark.slow
def test_the_figures_of_a_report_as_objects_leave_the_caller_alone(few):
    """Its settings, and the figures that it has open."""
    mine = pyplot.figure()
    try:
        with matplotlib.rc_context({"font.size": 21.0}):
            before = dict(matplotlib.rcParams)
            found = figures(few)
            assert dict(matplotlib.rcParams) == before
        assert pyplot.get_fignums() == [mine.number]
    finally:
        pyplot.close(mine)
    assert list(found) == ["forest", "seeds", "cost", "validation-accuracy", "train-loss"]
    for figure in found.values():
        assert figure.get_facecolor()[:3] == pytest.approx((1, 1, 1), abs=0.01)
