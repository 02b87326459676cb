"""A small part of `make calibrate`; and that its bands find rules that are wrong, and its report shows what failed."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from calibration import coverage, families, power, report, single
from calibration.campaign import calibrate
from calibration.check import Check, Place, frequency
from calibration.figures import FIGURES
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


def test_the_rules_of_the_package_are_inside_of_every_band() -> None:
    outside = [check for check in fast(PACKAGE) if not check.inside]
    assert not outside


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
def test_wrong_rules_are_outside_of_the_same_bands(rules: Rules, missed: Sequence[str]) -> None:
    outside = [check.what for check in fast(rules) if not check.inside]
    assert set(missed) <= set(outside)


def test_bands_are_the_binomial_ones_of_methods() -> None:
    assert band(1_000) == pytest.approx((0.033, 0.069))
    assert band(10_000) == pytest.approx((0.0445, 0.0557))


def made() -> tuple[list[Check], dict[str, tuple[list[Check], float]]]:
    good = frequency("Alone: `better` or `worse`", np.arange(1000) < 50, {"n": 5}, exactly=True)
    bad = frequency("Alone: `better` or `worse`", np.arange(1000) < 80, {"n": 8}, exactly=True)
    wrong = frequency("Alone: `better` or `worse`", np.arange(1000) < 300, {"n": 5}, rules="peeking")
    blind = frequency("Alone: `better` or `worse`", np.arange(1000) < 50, {"n": 5}, rules="harmless")
    checks = [good, bad, wrong, blind]
    return checks, {"single": (checks, 1.0)}


def test_the_report_shows_what_failed_and_what_was_not_found() -> None:
    checks, found = made()
    table = report.frame(found)
    head = {
        "seed": 3,
        "date": "2026-11-22T00:00:00",
        "seconds": {"single": 1.0},
        "environment": {
            "command": "make calibrate",
            "commit": "0123456789abcdef",
            "dirty": True,
            "versions": {},
            "machine": "one",
        },
    }
    page = report.page(head, table, report.rows_of(table))
    assert "seed 3, commit 0123456789ab with changes" in page
    assert "1 checks in 2 settings: **1 failed.**" in page
    assert "| 2 | 1,000 | .0500 – .0800 | .0330 – .0690 | **FAIL** 1 of 2 |" in page
    assert "- Alone: `better` or `worse` (n 8): .0800, band .0330 – .0690" in page
    assert "| peeking | Alone: `better` or `worse` | 1 | 1,000 | .3000 | ≤ .0690 | found |" in page
    assert "**Not found: harmless.**" in page
    assert report.wrong_rules_missed(checks) == ["harmless"]


def test_fictitious_variants_are_runs_of_one_configuration() -> None:
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
def test_the_same_seed_writes_the_same_numbers(tmp_path: Path) -> None:
    bins = {
        "task": "digits",
        "metric": "accuracy",
        "n": 5,
        "kind": "A/A",
        "from": [0.0, 0.5],
        "share": [0.5, 0.5],
    }
    effect = {
        "variant": ["a"],
        "diff": [-0.1],
        "ci_low": [-0.2],
        "ci_high": [-0.05],
        "verdict": ["worse"],
        "study": ["labels"],
    }
    frames = {"p_values": pd.DataFrame(bins), "planted": pd.DataFrame(effect)}
    for name in ("one", "other"):
        place = Place(tmp_path, studies=100, frames=frames)
        report.write(tmp_path / name, calibrate(["single", "coverage", "power"], 7, place), 7, place)
    one, other = ({p.name: p.read_bytes() for p in (tmp_path / n).rglob("*.*")} for n in ("one", "other"))
    timed = {"report.md", "calibration.json"}
    assert {n for n in one if one[n] != other[n]} <= timed
    drawn = {name for name, figure in FIGURES.items() if figure.part in ("", "coverage", "power")}
    assert {name.removesuffix(".png") for name in one if name.endswith(".png")} == drawn
    assert json.loads(one["calibration.json"])["seed"] == 7
