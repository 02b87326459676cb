"""The kept noise of a baseline: its runs stand beside those of a call that was made in the same way."""

import pandas as pd
import pytest

from ablate.base.errors import Invalid
from ablate.core.metric import Metric
from ablate.runs.checking import checked
from ablate.runs.formats.frames import runs_in_frame
from ablate.runs.noise import beside_noise, keep_noise
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import by_roles

KEPT = [3.2791, 3.2803, 3.2785, 3.2810, 3.2799]


def options(**made):
    made_with = {"evaluation": "e", "data": "d", "machine": "h100", "commit": "abc", **made}
    return AnalysisOptions(baseline="base", metric="loss", direction="min", made_with=made_with)


def table(variant, values, asked):
    frame = pd.DataFrame({"variant": variant, "seed": range(len(values)), "loss": values})
    return by_roles(runs_in_frame(frame, asked), asked)


@pytest.fixture
def noise(tmp_path):
    file = tmp_path / "noise.json"
    said = keep_noise(
        checked(table("base", KEPT, options()), {"loss": Metric("min")}), options(), file, "seed"
    )
    assert "5" in said
    return file


def test_kept_runs_stand_beside_new_ones_once_each_under_seeds_that_no_run_has(noise):
    now = options(commit="def")
    both = beside_noise(table("new", [3.27], now), now, noise)
    runs = both.rows
    kept = runs[runs["variant"] == "base"]
    assert kept["loss"].tolist() == KEPT
    assert (kept["seed"] < 0).all()
    assert kept["seed"].is_unique
    assert runs[runs["variant"] == "new"]["loss"].tolist() == ["3.27"]


def test_kept_runs_that_were_made_otherwise_are_refused(noise):
    other = options(data="d2")
    with pytest.raises(Invalid, match=r"\{data: d2\}"):
        beside_noise(table("new", [3.27], other), other, noise)
