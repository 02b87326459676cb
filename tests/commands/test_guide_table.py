"""The study of a table in the guide, on the table of statsmodels that it names."""

import re
from pathlib import Path

import pytest
from harness import prepare, run_here

from ablate import load
from ablate.commands.guide import text_of


@pytest.fixture
def study(tmp_path, monkeypatch) -> Path:
    """The study as the guide has it, beside the file that the guide's code writes."""
    guide = text_of("own-parts")
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "randhie" in block]
    (text,) = [block for block in re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL) if "randhie" in block]
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    path = tmp_path / "visits.yaml"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_it_is_valid_and_asks_for_the_number_of_visits(study):
    prepared = prepare(study)
    assert [variant.name for variant in prepared.variants] == ["baseline", "model.mixer.weighting=uniform"]
    described = prepared.baseline_description
    assert described.sampling.test == pytest.approx(20_190 / 5, rel=0.05)
    assert described.constants["naive"]["r2"] == pytest.approx(0, abs=0.01)


@pytest.mark.slow
def test_it_runs_and_its_model_beats_the_mean(study):
    outcome, _ = run_here(study, seeds=3)
    assert not outcome.failed
    (folder,) = (study.parent / "results").glob("visits@*")
    (claim,) = load(folder).claims.itertuples()
    assert claim.diff > 0.02
