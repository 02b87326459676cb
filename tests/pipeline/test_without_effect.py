"""Variants with the numbers of the baseline under the first seeds: a dead flag, or a coarse metric by chance."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from harness import prepare
from own import own_study

from ablate.core.record import Curve, Record
from ablate.core.undeclared import keep_undeclared
from ablate.pipeline.without_effect import without_effect

VARIANT = "config.rate=1.0"
LOSSES = [2.302585093, 2.310000201]


@pytest.fixture
def found(tmp_path: Path):
    """Where a variant has no effect, by the values and curves of both variants under two seeds."""
    (tmp_path / "train.py").write_text(
        "def train(config, seed):\n    return {'accuracy': config['rate'] + seed}\n"
    )
    path = tmp_path / "study.yaml"

    def find(values: list[float], others: list[float], **more: Mapping[str, object]) -> set[tuple[str, str]]:
        path.write_text(json.dumps(own_study("function", config={"rate": 0.5}, seeds=4)))
        study = prepare(path)
        cells = study.cells(study.config.seeds.values[: len(values)])
        records = {}
        for cell in cells:
            of_baseline = cell.variant == "baseline"
            index = cell.seed - study.config.seeds.values[0]
            record = Record.of(cell.trial, metrics={"accuracy": (values if of_baseline else others)[index]})
            for name, kept in more.get("baseline" if of_baseline else "variant", {}).items():
                if name == "curve":
                    record.curves["accuracy"] = Curve(np.arange(len(kept)), np.array(kept) + 0.01 * index)
                elif name == "status":
                    record.status = kept
                else:
                    keep_undeclared(record, {name: kept})
            records[cell.id] = record
        return without_effect(study, cells, records)

    return find


def test_numbers_of_many_digits_under_two_seeds_are_enough(found):
    assert found(LOSSES, LOSSES) == {(VARIANT, "")}
    assert found(LOSSES[:1], LOSSES[:1]) == set()
    assert found(LOSSES, [LOSSES[0], LOSSES[1] + 1e-15 * 4]) == set()


@pytest.mark.parametrize(
    "values",
    [
        [0.91, 0.92],  # Of a hundred examples.
        [347 / 360, 350 / 360],
        [96.388888888888886, 97.222222222222229],
        [0.9123, 0.9131],  # Of ten thousand.
        [0.0, 1.0],
        [2.302585093, 2.302585093],  # No seed changes it, as that of parameters.
    ],
)
def test_few_numbers_that_chance_makes_equal_are_none(found, values):
    assert found(values, values) == set()


def test_many_coarse_numbers_are_enough(found):
    both = {"baseline": {"curve": [0.5, 0.62, 0.71]}, "variant": {"curve": [0.5, 0.62, 0.71]}}
    assert found([0.71, 0.72], [0.71, 0.72], **both) == {(VARIANT, "")}
    both["variant"] = {"curve": [0.5, 0.63, 0.71]}
    assert found([0.71, 0.72], [0.71, 0.72], **both) == set()


def test_an_undeclared_number_tells_variants_apart_and_a_time_does_not(found):
    one, two = {"grad_norm": [(1, 0.5)]}, {"grad_norm": [(1, 0.6)]}
    assert found(LOSSES, LOSSES, baseline=one, variant=two) == set()
    one, two = {"step_seconds": [(1, 0.5)]}, {"step_seconds": [(1, 0.6)]}
    assert found(LOSSES, LOSSES, baseline=one, variant=two) == {(VARIANT, "")}


def test_a_run_without_a_result_is_as_no_other(found):
    failed = {"status": "failed"}
    assert found(LOSSES, LOSSES, baseline=failed, variant=failed) == set()
