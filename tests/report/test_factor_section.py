"""Main effects and interactions in a report: what the table and the interaction plot are made of."""

import numpy as np
import pytest
from made_evidence import crossed

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.crossings import crossings
from ablate.analysis.factors import effects
from ablate.report.page import figures
from ablate.report.section import Material, Picture, Sentences
from ablate.report.sections.factors import Factors, parting
from ablate.report.tables import Table

FACTORS = {"model.norm": ["layer", "batch"], "training.lr": ["0.003", "0.01", "0.03"]}
NOISE = np.random.default_rng(2).normal(0, 0.01, (2, 3, 5))


def value(levels, seed):
    norm, lr = (FACTORS[path].index(level) for path, level in levels.items())
    return 0.7 - 0.2 * norm * lr + NOISE[norm, lr, seed] + 0.05 * seed


def material(**options) -> Material:
    evidence = crossed(FACTORS, value, **options)
    return Material(evidence, compare(evidence), judge_claims(evidence))


def test_the_lines_of_the_plot_are_paired_differences_at_each_level_of_the_other_factor():
    evidence = material().evidence
    (one,) = crossings(evidence)
    data = parting(one, effects(evidence))
    assert list(data["place"]) == [0, 1, 2, 0, 1, 2]
    assert set(data["along"]) == {"training.lr"}
    row = data[(data["line"] == "batch") & (data["level"] == "0.03")].iloc[0]
    by_lr = [
        [value({"model.norm": "batch", "training.lr": lr}, s) for s in range(5)] for lr in ("0.003", "0.03")
    ]
    d = np.subtract(by_lr[1], by_lr[0])
    assert row["diff"] == pytest.approx(np.mean(d))
    assert row["low"] < np.mean(d) < row["high"]
    first = data[data["place"] == 0]
    assert not first[["diff", "low", "high"]].to_numpy().any()


def test_every_row_is_marked_exploratory_in_the_words_of_a_reader():
    blocks = list(Factors().blocks(material()))
    (table,) = (block for block in blocks if isinstance(block, Table))
    assert [row["effect"] for row in table.rows] == [
        "batch norm", "lr 0.01", "lr 0.03", "batch norm × lr 0.01", "batch norm × lr 0.03",
    ]  # fmt: skip
    assert table.rows[-1]["verdict"] == "less together (exploratory)"
    assert all(row["verdict"].endswith("(exploratory)") for row in table.rows)
    assert "nan" not in str(table.rows).lower()
    assert [block.name for block in blocks if isinstance(block, Picture)] == ["interactions"]
    assert "interactions" in figures(material())


def test_a_cell_that_failed_leaves_a_report_that_says_so():
    failed = {("model.norm=batch,training.lr=0.03", seed): "failed" for seed in range(5)}
    blocks = list(Factors().blocks(material(statuses=failed)))
    (left,) = (block.items for block in blocks if isinstance(block, Sentences))
    assert left == ["Left out: model.norm=batch,training.lr=0.03 has no run with an outcome."]
    assert "nan" not in str([block.rows for block in blocks if isinstance(block, Table)]).lower()


def test_it_is_for_designs_that_cross_their_factors():
    assert not Factors().applies(material(design="one_factor"))
