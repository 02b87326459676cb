"""A small part of `make calibrate`; and that its bands find rules that are wrong, and its report shows what failed."""

import json

import numpy as np
import pytest
from calibration import coverage, families, power, report, single
from calibration.campaign import calibrate
from calibration.check import Check, Place
from calibration.rules import PACKAGE, PERCENTILE, UNCORRECTED, UNPAIRED, Rules
from calibration.runs import fictitious
from calibration.simulations import band
from made_evidence import study

from ablate.analysis.compare import compare


def fast(rules: Rules) -> list[Check]:
    rng = np.random.default_rng(0)
    return [
        single.of(rng, 2000, 5, rules),
        families.alike(rng, 500, 5, rules),
        coverage.of(rng, 4000, 5, "normal", rules),
        power.of(rng, 4000, 10, 1.0, rules),
    ]


def test_the_rules_of_the_package_are_inside_of_every_band():
    outside = [check for check in fast(PACKAGE) if not check.inside]
    assert not outside


@pytest.mark.parametrize("part", ["mixtures", "diverged", "sequential", "tuned"])
def test_parts_that_train_nothing_are_inside_of_their_bands(part, tmp_path):
    """With fewer studies; their wrong rules are found."""
    ((checks, _),) = calibrate([part], 0, Place(tmp_path, studies=400)).values()
    assert not [check for check in checks if check.rules == PACKAGE.name and not check.inside]
    assert not report.wrong_rules_missed(checks)


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
