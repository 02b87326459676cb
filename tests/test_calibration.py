"""A small part of `make calibrate`; and that its bands find rules that are wrong, and its report shows what failed."""

import json

import numpy as np
import pytest
from calibration import clusters, coverage, families, outliers, power, report, single
from calibration.campaign import calibrate
from calibration.check import STUDIES, Check, Place
from calibration.many_streams import Spreads, p_of_gains
from calibration.rules import PACKAGE, PERCENTILE, UNCORRECTED, UNPAIRED, Rules
from calibration.runs import fictitious
from calibration.simulations import band
from harness import ablate_here
from made_evidence import study

from ablate.analysis.clusters import Clustered
from ablate.analysis.compare import compare
from ablate.analysis.paired import Differences
from ablate.commits.stream import PAIRS, Spread, p_of_gain


def fast(rules: Rules) -> list[Check]:
    rng = np.random.default_rng(0)
    return [
        single.of(rng, 2000, 5, rules),
        families.alike(rng, 500, 5, rules),
        coverage.of(rng, 4000, 5, "normal", rules),
        power.of(rng, 4000, 10, 1.0, rules),
    ]


@pytest.mark.slow
def test_the_rules_of_the_package_are_inside_of_every_band():
    outside = [check for check in fast(PACKAGE) if not check.inside]
    assert not outside


PARTS = (
    *("mixtures", "diverged", "sequential", "tuned", "clusters", "streams", "outliers", "added"),
    *("grids", "repeats", "claims", "means", "independent", "fixed_sets", "varying", "everywhere", "samples"),
    *("trends", "forms", "waves"),
)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("part", PARTS)
def test_parts_that_train_nothing_are_inside_of_their_bands(part, tmp_path):
    """With fewer studies; their wrong rules are found."""
    ((checks, _),) = calibrate([part], 0, Place(tmp_path, studies=400)).values()
    assert not [check for check in checks if check.rules == PACKAGE.name and not check.inside]
    assert not report.wrong_rules_missed(checks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "missed"),
    [
        (UNCORRECTED, ["Ten variants, no difference: any `better` or `worse`"]),
        (UNPAIRED, ["One variant, no difference: `better` or `worse`"]),
        (
            PERCENTILE,
            [
                "One variant, no difference: `better` or `worse`",
                "Ten variants, no difference: any `better` or `worse`",
                "Coverage of the 95 % interval over seeds",
            ],
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_wrong_rules_are_outside_of_the_same_bands(rules, missed):
    outside = [check.what for check in fast(rules) if not check.inside]
    assert set(missed) <= set(outside)


def test_shortcuts_over_arrays_are_the_rules_of_the_package():
    rng = np.random.default_rng(3)
    base, tried = rng.normal(size=(2, 6, PAIRS))
    tried *= np.array([[1], [1], [3], [3], [10], [0.2]])
    gains = tried.mean(axis=1) - base.mean(axis=1) + 1
    pooled = Spreads(rng.uniform(0.5, 2, 6), np.full(6, 17.0))
    own = Spreads(rng.uniform(0.5, 2, 6), np.full(6, 13.0))
    found = p_of_gains(gains, pooled=pooled, base=own, tried=Spreads.of(tried))
    for i, gain in enumerate(gains):
        spreads = [Spread(of.variance[i], of.df[i]) for of in (pooled, own)]
        assert found[i] == pytest.approx(p_of_gain(gain, *spreads, Spread.of(tried[i].tolist())))

    sizes = np.array([3, 1, 5, 2])
    sources = np.repeat(np.arange(4), sizes)
    values = rng.normal(0.6, 1, (40, 11))
    sums = np.stack([np.bincount(sources, weights=of_study) for of_study in values])
    judged = [Clustered.of_documents(Differences.between(d, 0 * d), sources) for d in values]
    expected = [2 * min(d.above(0), d.below(0)) <= 0.2 for d in judged]
    assert clusters.told(sums, sizes, 0.2).tolist() == expected
    plain = [2 * min(d.above(0), d.below(0)) <= 0.05 for d in (Differences.between(d, 0 * d) for d in values)]
    assert outliers.differ(values, 0.05).tolist() == plain
    assert 0 < sum(plain) < 40
    assert 0 < sum(expected) < 40


def test_bands_are_the_binomial_ones_of_methods():
    assert band(1_000) == pytest.approx((0.033, 0.069))
    assert band(10_000) == pytest.approx((0.0445, 0.0557))


def test_fictitious_variants_are_runs_of_one_configuration():
    values = np.random.default_rng(0).uniform(0.5, 0.9, (2, 20))
    evidence = study({"baseline": values[0], "placebo": values[1]}, placebos=["placebo"])
    rng = np.random.default_rng(1)
    ids = {kind: fictitious(rng, evidence, kind, 5).trials["id"].tolist() for kind in ("A/A", "placebo")}
    assert len(set(ids["A/A"])) == 10
    assert {text.split("-")[0] for text in ids["A/A"]} == {"baseline"}
    one, other = ([text.rsplit("-", 1) for text in side] for side in (ids["placebo"][:5], ids["placebo"][5:]))
    assert [seed for _, seed in one] == [seed for _, seed in other]
    assert all(
        {a, b} == {"baseline-recall", "placebo-recall"} for (a, _), (b, _) in zip(one, other, strict=True)
    )
    assert len({a for a, _ in one}) == 2
    assert (compare(fictitious(rng, evidence, "placebo", 5))["n"] == 5).all()


@pytest.mark.slow
def test_the_same_seed_writes_the_same_numbers(tmp_path):
    for name in ("one", "other"):
        place = Place(tmp_path, studies=100)
        report.write(tmp_path / name, calibrate(["single", "coverage", "power"], 7, place), 7, place)
    one, other = ((tmp_path / name / "checks.csv").read_bytes() for name in ("one", "other"))
    assert one == other
    assert json.loads((tmp_path / "one/calibration.json").read_text())["seed"] == 7


@pytest.mark.slow
def test_the_study_with_planted_labels_trains(tmp_path):
    words = (
        "--seeds",
        2,
        "--set",
        "training.steps=2",
        "--set",
        "training.warmup_steps=1",
        "--jobs",
        0,
        "--json",
    )
    done = ablate_here(
        "run", STUDIES / "labels.yaml", *words, "--results", tmp_path / "results", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
