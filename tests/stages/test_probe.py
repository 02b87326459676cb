"""The probe: what a short run does not show to change anything is refused before the study's trainings."""

import json
import shutil

import numpy as np
import pytest
from harness import TOY_STUDY, plan_here, problems, run_here, stored
from own import OPTIONS, OWN, own_study

from ablate.analysis.repeats import spread_no_more
from ablate.base.errors import AblateError
from ablate.core.record import Curve, Record
from ablate.records.folder import StudyFolder
from ablate.stages.probe import distance

PROBED = TOY_STUDY + "probe: {training.steps: 2}\n"


def test_distance():
    def record(*values: float, **metrics: float | None) -> Record:
        curves = {"loss": Curve(np.arange(len(values)), np.array(values))}
        return Record("x", {}, 0, "completed", metrics=metrics, curves=curves)

    one = record(1.0, 2.0, a=0.5, b=None, t_seconds=1.0)
    assert distance(one, record(1.0, 2.0, a=0.5, b=None, t_seconds=9.0)) == 0
    assert distance(one, record(1.0, 2.5, a=0.75, b=None, t_seconds=1.0)) == 0.5
    for other in (
        record(1.0, a=0.5, b=None, t_seconds=1.0),
        record(1.0, 2.0, b=1.0),
        record(1.0, 2.0, a=0.5, b=1.0),
    ):
        assert distance(one, other) == np.inf


@pytest.mark.slow
def test_what_is_live_is_trained_and_the_probe_is_kept(tmp_path):
    study = tmp_path / "study.yaml"
    study.write_text(PROBED)
    assert "At most 17 trials" in plan_here(study, seeds=3)
    _, printed = run_here(study)
    assert "probe, another seed" in printed
    assert len(stored(tmp_path / "results")) == 9 + 5
    before = stored(tmp_path / "results")
    study.write_text(PROBED + "notes: again\n")
    run_here(study)
    assert stored(tmp_path / "results") == before


@pytest.mark.slow
@pytest.mark.parametrize(("late", "refused"), [([], True), (["config.dead"], False)])
def test_a_flag_that_does_nothing_is_refused_unless_it_acts_late(tmp_path, late, refused):
    folder = shutil.copytree(OWN, tmp_path / "own")
    factors = {"config.act": ["gelu"], "config.dead": [1]}
    study = own_study("command", factors=factors, probe={"config.steps": 2}, acts_late=late)
    (folder / "study.yaml").write_text(json.dumps(study))
    if refused:
        with pytest.raises(AblateError, match=r"config\.dead=1 changes nothing\nCorrect") as error:
            run_here(folder / "study.yaml")
        assert "config.act" not in str(error.value)
        assert len(stored(folder / "results")) == 5
        return
    run_here(folder / "study.yaml")
    assert "lists it under" in (folder / "results/own/report.html").read_text()


@pytest.mark.slow
def test_a_seed_that_changes_nothing_is_refused_with_the_line_that_fixes_it(tmp_path):
    folder = shutil.copytree(OWN, tmp_path / "own")
    (folder / "walk.py").write_text((folder / "walk.py").read_text().replace("args.seed)", "1337)"))
    (folder / "walk.py").write_text((folder / "walk.py").read_text() + "random.seed(1337)\n")
    study = own_study("command", probe={"config.steps": 2}, workload=OPTIONS["command"])
    (folder / "study.yaml").write_text(json.dumps(study))
    with pytest.raises(
        AblateError, match=r"another seed changes nothing\n.*walk.py:\d+: random.seed\(1337\)"
    ):
        run_here(folder / "study.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("probe: {training.stepz: 2}", "training.stepz"),
        ("probe: {model.effect: 1.0}", "which `probe` sets"),
        ("acts_late: [model.effect]", "needs a `probe`"),
        ("probe: {training.steps: 2}\nacts_late: [model.width]", "is not changed by any variant"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, text, said):
    (tmp_path / "study.yaml").write_text(f"{TOY_STUDY}{text}\n")
    assert any(said in problem for problem in problems(tmp_path / "study.yaml"))


SHARES = """
import argparse, pathlib
parser = argparse.ArgumentParser()
for name in ("rate", "seed", "dead", "act", "steps"):
    parser.add_argument(f"--{name}")
args = parser.parse_args()
cache = pathlib.Path("CACHE")
known = cache.read_text() if cache.exists() else ""
loss = 1 + 0.5 * float(args.rate) + 0.01 * int(args.seed) + (len(known) if args.seed == "0" else 0)
if args.act == "gelu":
    cache.write_text("x")
    loss += 1
print("val loss", loss)
"""


@pytest.mark.slow
def test_runs_that_touch_one_another_outside_of_their_copies_are_named(tmp_path):
    folder = shutil.copytree(OWN, tmp_path / "own")
    (folder / "walk.py").write_text(SHARES.replace("CACHE", str(tmp_path / "cache")))
    study = own_study("command", probe={"config.steps": 2}, seeds=1)
    (folder / "study.yaml").write_text(json.dumps(study))
    run_here(folder / "study.yaml")
    assert "repeats exactly, but differs by" in (folder / "results/own/report.html").read_text()


JITTERS = """
import argparse, pathlib
parser = argparse.ArgumentParser()
for name in ("rate", "seed", "dead", "act", "steps"):
    parser.add_argument(f"--{name}")
args = parser.parse_args()
count = pathlib.Path("COUNT")
runs = int(count.read_text()) if count.exists() else 0
count.write_text(str(runs + 1))
jitter = 1e-5 * (runs * 7 % 10)
is_short = args.steps == "2"
print("val loss", 1 + jitter + (args.act == "gelu") + (0.01 * int(args.seed) if HEARS or is_short else 0))
"""
"""A script whose runs differ by up to 9e-5 under one seed, and whose full runs may not hear the seed at all."""


@pytest.mark.slow
@pytest.mark.parametrize("hears", [True, False])
def test_where_runs_do_not_repeat_the_first_seeds_of_the_baseline_run_twice_and_are_compared(tmp_path, hears):
    folder = shutil.copytree(OWN, tmp_path / "own")
    text = JITTERS.replace("COUNT", str(tmp_path / "count")).replace("HEARS", str(hears))
    (folder / "walk.py").write_text(text)
    study = own_study("command", probe={"config.steps": 2}, seeds=3)
    (folder / "study.yaml").write_text(json.dumps(study))
    run_here(folder / "study.yaml")
    evidence = StudyFolder.at(folder / "results/own").evidence()
    repeats = evidence.other_trials("repeats", ())
    assert repeats[["variant", "seed"]].values.tolist() == [["baseline", seed] for seed in (0, 1, 2)]
    assert len(stored(folder / "results")) == 5 + 2 * 3 + 3, "the probe, two variants, three repeats"
    first = evidence.trials.query("variant == 'baseline'").set_index("seed")["val_loss"]
    differences = repeats.set_index("seed")["val_loss"] - first[:3]
    assert differences.abs().max() < 1e-4
    assert differences.abs().max() > 0
    said = spread_no_more(first.to_numpy(), differences.to_numpy())
    assert said == (first.var() < (differences**2).mean())
    assert said == (not hears)
    page = (folder / "results/own/report.html").read_text()
    assert ("spread no more than a repeat of one seed" in page) is said
