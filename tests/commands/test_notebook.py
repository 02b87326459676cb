"""The page on notebooks: its cells run one after the other, and show what it says."""

import re

import matplotlib
import pytest
from harness import with_database

from ablate.commands import guide


@pytest.fixture
def cells():
    return re.findall(r"```python\n(.*?)```", guide.text_of("notebook"), re.DOTALL)


@pytest.mark.slow
def test_the_page_runs_cell_by_cell(cells, tmp_path, monkeypatch):
    with_database(tmp_path / "results/store")
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile(cell, "notebook", "exec"), names)
    results = names["results"]
    keys = ["variant", "label", "task", "seed", "stage"]
    assert set(keys) <= {*results.trials} & {*results.curves}
    assert len(results.trials) == 12
    assert not results.trials.duplicated(keys).any()
    assert not results.curves.duplicated([*keys, "step", "metric"]).any()
    assert set(results.trials["label"]) == {"baseline", "no positions", "batch norm"}
    assert {"label", "verdict"} <= {*results.comparisons}

    shown = results._repr_html_()
    assert shown.count("<table>") == 1
    assert all(line in shown for line in ("batch norm", "no positions"))
    assert len(names["pairs"]) == 8
    assert names["figure"].axes
