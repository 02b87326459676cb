"""What a report does, counted: nothing is read, compared or drawn twice, whatever the number of trials."""

from collections import Counter

import numpy as np
import pytest
from made_evidence import study
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ablate.analysis import compare, family
from ablate.pipeline.judging import judge_evidence
from ablate.records import tables
from ablate.records.folder import StudyFolder
from ablate.report.figures.rows import MAX_ROWS
from ablate.report.sections import pictures, shown


def counting(found, name, of):
    def counted(*given, **options):
        found[name] += 1
        return of(*given, **options)

    return counted


@pytest.fixture
def calls(monkeypatch):
    found = Counter()
    places = ((tables, "_read"), (family, "family_size"), (compare, "primary_comparison"), (Figure, "draw"))
    for owner, name in (*places, (ConstrainedLayoutEngine, "execute")):
        monkeypatch.setattr(owner, name, counting(found, name, getattr(owner, name)))
    return found


@pytest.mark.slow
def test_each_table_is_read_each_pair_compared_and_each_figure_drawn_once(publish, evidence, calls):
    folder = publish(evidence)
    assert calls["primary_comparison"] == len(evidence.facts.variants) - 1
    assert calls["_read"] == len(list(folder.glob("*.parquet")))
    # One of them is a PNG file too.
    assert calls["draw"] == len(list((folder / "figures").iterdir())) == 6
    assert calls["execute"] == 5, "each is laid out once"


@pytest.mark.slow
def test_many_variants_are_one_family_and_the_largest_are_drawn(tmp_path, calls):
    spread = np.random.default_rng(1).normal(0.8, 0.01, (150, 4))
    values = {"baseline": [0.8] * 4} | {f"v{i}": of + i / 1000 for i, of in enumerate(spread)}
    folder = StudyFolder.at(tmp_path / "many")
    folder.save_evidence(study(values, margin=0.02))
    found = judge_evidence(folder)
    assert calls["family_size"] == 1, "and not once for each of the comparisons"
    figures = {picture.name: picture for picture in pictures(shown(found))}
    for name in ("forest", "seeds"):
        assert figures[name].data["variant"].nunique() == MAX_ROWS
        assert "Of 150 rows, the 60 with the largest differences are shown." in figures[name].caption
        assert "v149" in set(figures[name].data["variant"])
    assert len(found.comparisons) == 150
