"""The studies of the atlas are valid, and say what is asked and found."""

from pathlib import Path

import pytest
from harness import prepare

ATLAS = sorted((Path(__file__).parents[2] / "studies/atlas").glob("*.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("path", ATLAS, ids=lambda path: path.stem)
def test_a_study_of_the_atlas_is_valid_and_tunes_what_it_compares(path):
    found = prepare(path)
    study = found.config
    assert study.name == path.stem
    assert study.question
    assert found.claims
    # Parts are compared at rates of their own; sensitivities are of a grid, and times of no training.
    assert {"tune", "stress", "speed"} & {key for key in ("tune", "stress", "speed") if getattr(study, key)}
