"""The step of the grid on which values lie, against the reference values of METHODS §2; and that the row says so."""

import numpy as np
import pytest
from made_evidence import claim, study
from scipy import stats

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.grid import grid_step, resolution_of
from ablate.analysis.paired import Differences
from ablate.analysis.unpaired import Unpaired
from ablate.core.metric import Metric
from ablate.report.tables.claim_tables import claim_table
from ablate.report.tables.verdicts import verdict_tables

UNDECLARED = {"accuracy": Metric("max")}
RNG = np.random.default_rng(0)


def differences(a, b):
    return Differences.between(a, b, resolution_of(Metric("max"), np.array([a, b])))


@pytest.mark.parametrize(
    ("a", "b", "step", "p"),
    [
        ([0.995, 0.99, 1], [0.99, 0.985, 0.995], 0.005, 0.2254033308),
        ([60 / 64, 61 / 64], [59 / 64, 60 / 64], 1 / 64, 0.3918265520),
        (
            100 * np.array([1600, 1611, 1607]) / 1797,
            100 * np.array([1598, 1602, 1603]) / 1797,
            0.0556483027,
            0.1382725156,
        ),
    ],
)
def test_step_and_p_are_those_of_the_reference(a, b, step, p):
    d = differences(a, b)
    assert d.resolution == pytest.approx(step, abs=5e-11)
    assert 2 * min(d.above(0.0), d.below(0.0)) == pytest.approx(p, abs=5e-11)


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([], 0.0),
        ([0.0, 0.0], 0.0),
        ([3.0, 7.0, 12.0], 1.0),
        ([10.0, 15.0, 20.0], 5.0),
        ([-0.25, 0.5], 0.25),
        (np.float32([60, 61, 59]) / np.float32(64), 1 / 64),
        (np.float32([1600, 1611, 1598]) / np.float32(1797), 1 / 1797),
        ([89.03, 89.65, 88.93], 0.01),  # percent, rounded
        ([0.123457, 0.234568, 0.345679, 0.876541], 1e-6),  # no N up to 50,000
        ([1234567.0, 1234570.0], 1.0),  # no N whose multiples stay below 50,000
        ([0.1374159265, 0.2718281828, 0.8862269254], 0.0),
        (RNG.normal(0.8, 0.01, 6), 0.0),
        (RNG.normal(3.1, 0.2, 6), 0.0),
    ],
)
def test_steps_of_shares_percent_decimals_and_full_floats(values, step):
    assert grid_step(np.asarray(values, float)) == pytest.approx(step, rel=1e-6)


def test_full_floats_have_no_grid_by_chance():
    rng = np.random.default_rng(1)
    assert sum(grid_step(rng.uniform(0, 1, (2, 3))) > 0 for _ in range(300)) == 0


def test_a_declared_resolution_counts_as_it_is():
    assert resolution_of(Metric("max", resolution=0.001), np.array([0.5, 0.6])) == 0.001


def test_full_floats_are_judged_by_their_spread_alone():
    """The smallest gap between two of them would be 0.02, ten times the spread of the differences."""
    base = np.array([0.70123456781, 0.80234567812, 0.75345678123])
    gain = np.array([0.02012345671, 0.02056789123, 0.01987654323])
    d = differences(base + gain, base)
    assert 2 * min(d.above(0.0), d.below(0.0)) == pytest.approx(stats.ttest_1samp(gain, 0).pvalue, rel=1e-6)
    assert np.isnan(d.binding_resolution)


def test_where_the_step_binds_the_row_and_the_claim_say_so():
    values = {
        "baseline": [0.50, 0.60, 0.70, 0.65],
        "equal steps": [0.55, 0.65, 0.75, 0.70],
        "spread": [0.55, 0.55, 0.85, 0.75],
        "same": [0.50, 0.60, 0.70, 0.65],
    }
    claims = [claim("beats", "equal steps", "baseline"), claim("beats", "spread", "baseline")]
    evidence = study({name: np.array(of) for name, of in values.items()}, metrics=UNDECLARED, claims=claims)
    rows = compare(evidence).set_index("variant")
    assert rows.loc["equal steps", "resolution"] == pytest.approx(0.05)
    half = stats.t.isf(0.05 / 3 / 2, 3) * 0.05 / 2
    assert rows.loc["equal steps", "ci_low"] == pytest.approx(0.05 - half)
    assert rows.loc[["spread", "same"], "resolution"].isna().all()
    table = next(verdict_tables(compare(evidence), evidence.facts))
    marks = {row["variant"]: row["resolution"] for row in table.rows}
    assert "0.05" in marks["equal steps"]
    assert [marks["spread"], marks["same"]] == ["", ""]
    claimed = claim_table(judge_claims(evidence), evidence.facts, "95 %")
    assert [bool(row["resolution"]) for row in claimed.rows] == [True, False]


def test_of_unpaired_runs_the_step_binds_for_a_side_of_equal_runs():
    a, b = np.array([0.5, 0.6, 0.7]), np.array([0.4, 0.4, 0.4])
    step = grid_step(np.array([a, b]))
    d = Unpaired.of_runs(a, b, step, known=False)
    assert d.binding_resolution == pytest.approx(0.1)
    assert d.errors[0].se ** 2 == pytest.approx((a.var(ddof=1) + step**2) / 3)
    assert Unpaired.of_runs(a[:1], b, step, known=True).binding_resolution == pytest.approx(0.1)
    assert np.isnan(Unpaired.of_runs(a[:1], a, step / 2, known=True).binding_resolution)
