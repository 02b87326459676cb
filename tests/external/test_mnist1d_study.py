"""The study of the MNIST-1D paper's models: they are the authors', and it runs from its file to a report."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from harness import ablate

from ablate import load
from ablate.tasks import mnist1d_signals

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "studies" / "mnist1d.yaml"
CONFIG = {"shuffled": False, "steps": 30, "batch_size": 20, "lr": 0.01, "train_size": 100, "test_size": 200}


@pytest.fixture
def models(monkeypatch) -> ModuleType:
    """The code of the study, which finds the recipe beside it."""
    monkeypatch.setitem(sys.modules, "mnist1d_signals", mnist1d_signals)
    spec = importlib.util.spec_from_file_location("mnist1d_models", STUDY.with_suffix(".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "count"), [("logistic", 410), ("mlp", 15_210), ("cnn", 5_210), ("gru", 5_134)]
)
def test_each_model_has_as_many_parameters_as_that_of_the_authors_and_learns(models, name, count):
    assert sum(parameter.numel() for parameter in models.model_of(name).parameters()) == count
    config = CONFIG | {"model": name}
    accuracy = models.train(config, 0)["accuracy"]
    assert accuracy == models.train(config, 0)["accuracy"]
    assert 0.1 < accuracy < 1


def test_conditions_have_the_same_examples_and_seeds_others(models):
    ordered = models.examples_of(CONFIG, 0)
    shuffled = models.examples_of(CONFIG | {"shuffled": True}, 0)
    for (signals, digits), (moved, same) in zip(ordered, shuffled, strict=True):
        assert torch.equal(digits, same)
        assert not torch.equal(signals, moved)
        assert torch.equal(signals.sort().values, moved.sort().values)
    other, _ = models.examples_of(CONFIG, 1)
    assert not torch.equal(other[0], ordered[0][0])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_runs_from_its_file_to_a_report(tmp_path):
    """In the repository of ablate itself, whose own files start its trials."""
    words = ["run", STUDY, "--results", tmp_path, "--only", "config.model=cnn", "--condition", "ordered"]
    for setting in ("steps=3", "train_size=100", "test_size=100"):
        words += ["--set", f"config.{setting}"]
    done = ablate(*words, "--seeds", "2", "--jobs", "1", cwd=ROOT, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("mnist1d@*")
    trials = load(folder).trials
    assert len(trials) == 4
    assert np.isfinite(trials["accuracy"]).all()
