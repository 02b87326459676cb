"""`ablate eval`: from kept weights to numbers, maps and the report."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from harness import made_again_alone, plan_here, prepare, run_here

from ablate.base.errors import AblateError, StudyError
from ablate.commands.show import show
from ablate.pipeline.evaluate import Evaluated, evaluate
from ablate.records.folder import StudyFolder
from ablate.report.words import message
from ablate.session.options import Options

STUDY = """
name: tiny
checkpoint: final
task: {name: recall, vocab_size: 16, seq_len: 5, validation_size: 64, test_size: 64}
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}, position: sincos}
training: {steps: 20, batch_size: 16, eval_every: 10}
factors:
  model.mixer.score: [bilinear]
  model.norm: [rms]
  model.position: [learned]
seeds: 2
"""
TASKS = """tasks:
- {name: recall, validation_size: 64, test_size: 64}
- {name: segments, validation_size: 64, test_size: 64}"""
TASK = "task: {name: recall, vocab_size: 16, seq_len: 5, validation_size: 64, test_size: 64}"
FEW = STUDY.replace("seeds: 2", "seeds: 1").replace("  model.mixer.score: [bilinear]\n", "")
FEW = FEW.replace("  model.position: [learned]\n", "")
"""Two trials."""
ABLE = ("baseline", "model.mixer.score=bilinear", "model.norm=rms")


def run_in(folder, text=STUDY, **options):
    (folder / "study.yaml").write_text(text)
    return run_here(folder / "study.yaml", **options)


def evaluated(folder, **options):
    said = []
    every = Options(results=folder / "results", **options)
    evaluate(folder / "study.yaml", every, said.append, said.append)
    return "\n".join(said)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study that has run, kept its weights and been evaluated, on its own task and on a longer one."""
    folder = tmp_path_factory.mktemp("tiny")
    run_in(folder)
    evaluated(folder)
    evaluated(folder, sets=["task.seq_len=9"], only=ABLE)
    return folder


@pytest.mark.slow
def test_the_table_is_tidy_and_its_own_slice_is_what_training_measured(folder):
    table = pd.read_csv(folder / "results/tiny/evaluation.csv")
    assert list(table.columns) == ["id", "variant", "task", "seed", "weights", "slice", "metric", "value"]
    assert set(table.weights) == {"final"}
    assert not table.duplicated(["id", "slice", "metric"]).any()
    assert set(table.slice) == {"test", "task.seq_len=9"}
    assert set(table[table.slice == "task.seq_len=9"].variant) == set(ABLE)
    layers = {"attention_entropy": "mixer", "head_similarity": "mixer", "attention_logit_max": "mixer"}
    layers["dead_units"] = "feedforward"
    assert set(table.metric) == {
        *("accuracy", "loss", *layers, "accuracy_without_a_head", "accuracy_without_its_best_head"),
        *(f"accuracy_without_a_head/stack.blocks.0.mixer/{head}" for head in (1, 2)),
        *(f"{name}/stack.blocks.0.{at}" for name, at in layers.items()),
    }
    trials = pd.read_parquet(folder / "results/tiny/trials.parquet").set_index("id")
    own = table[(table.slice == "test") & table.metric.isin(["accuracy", "loss"])]
    assert len(own) == 2 * len(trials) == 16
    for row in own.itertuples():
        assert trials.loc[row.id, row.metric] == row.value


@pytest.mark.slow
def test_the_maps_are_of_the_baseline_and_of_what_changes_attention(folder):
    maps = Evaluated.load(StudyFolder.at(folder / "results/tiny")).maps
    assert set(maps["variant"]) == {"baseline", "model.mixer.score=bilinear", "model.position=learned"}
    for each in maps.itertuples():
        assert each.seed == 0
        assert each.weights.shape == (3, 2, 5, 5)
        np.testing.assert_allclose(each.weights.sum(-1), 1, rtol=1e-5)


@pytest.mark.slow
def test_the_report_shows_them_also_from_its_folder_alone_and_a_run_after_it_has_nothing_to_do(
    folder, tmp_path
):
    source = folder / "results/tiny"
    page = (source / "report.html").read_text()
    assert "From kept weights" in page
    assert "seq_len=9" in page
    assert len(list((source / "figures").glob("attention-*.svg"))) == 3
    made_again_alone(source, tmp_path)
    assert run_in(folder)[0].trained == 0


def test_a_slice_that_a_part_cannot_do_is_refused_before_anything_is_evaluated(folder):
    before = (folder / "results/tiny/evaluation.csv").read_bytes()
    with pytest.raises(StudyError) as caught:
        evaluated(folder, sets=["task.seq_len=7"])
    (problem,) = caught.value.problems
    assert problem.path == ("model", "position")
    assert "ends at length 5" in problem.rule
    assert "(in model.position=learned)" in problem.rule
    assert problem.given == "learned"
    assert "sincos" in problem.allowed
    assert "learned" not in problem.allowed
    assert problem.source == "--set task.seq_len=7"
    assert "--only" in problem.hint
    assert (folder / "results/tiny/evaluation.csv").read_bytes() == before


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model.d_model=16", "must be task.PATH=VALUE"),
        ("task.seq_len", "must be PATH=VALUE"),
        ("task.seq_length=9", "task has no 'seq_length'"),
        ("task.seq_len=1", "must hold num_pairs"),
        ("task.vocab_size=32", "must leave the num_outputs"),
        ("task.seq_len={}", "changes nothing"),
    ],
)
def test_other_mistakes_name_the_option(folder, text, words):
    with pytest.raises(StudyError, match="1 problem") as caught:
        evaluated(folder, sets=[text])
    assert words in str(caught.value)
    assert f"--set {text}" in str(caught.value)


@pytest.mark.slow
def test_a_study_that_keeps_nothing_says_how_to_get_weights(tmp_path):
    bare = FEW.replace("checkpoint: final\n", "")
    run_in(tmp_path, bare)
    with pytest.raises(AblateError, match="has no kept weights of tiny") as caught:
        evaluated(tmp_path)
    assert "write `checkpoint: final` into the study; then `ablate run" in str(caught.value)
    assert f"--results {tmp_path / 'results'}`" in str(caught.value)
    outcome, printed = run_in(tmp_path, bare + "checkpoint: best\n")
    assert outcome.trained == 2
    assert "2 finished trials lack the weights that the study keeps; they are trained again" in printed
    stored = {path.stem for path in (tmp_path / "results/store/trials").glob("*.safetensors")}
    assert len(stored) == 2
    missing = sorted(stored)[0]
    assert "best)" in show(missing, tmp_path / "results", print)
    (tmp_path / f"results/store/trials/{missing}.safetensors").unlink()
    assert "1 trial to train" in plan_here(tmp_path / "study.yaml")
    assert "1 trial without kept weights left out" in evaluated(tmp_path)


def test_what_is_kept_is_no_part_of_a_trials_id(write):
    plain = prepare(write(STUDY.replace("checkpoint: final\n", "")))
    keeping = prepare(write(STUDY + "save_every: 5\n", "other.yaml"))
    assert [c.trial.id for c in plain.cells()] == [c.trial.id for c in keeping.cells()]
    assert {(c.trial.checkpoint, c.trial.save_every) for c in keeping.cells()} == {("final", 5)}


@pytest.mark.slow
def test_a_study_by_its_name_is_taken_as_it_was_run(tmp_path):
    outcome, _ = run_in(tmp_path, seeds=1, sets=["training.steps=10"], only=["model.norm=rms"])
    (tmp_path / "study.yaml").write_text(STUDY.replace("d_model: 8", "d_model: 16"))
    written = evaluate(Path(outcome.folder.name), Options(results=tmp_path / "results"), print, print)
    assert Evaluated.load(written).rows["id"].nunique() == 2


def test_a_study_that_was_edited_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "study.yaml").write_text(STUDY.replace("d_model: 8", "d_model: 16"))
    with pytest.raises(AblateError, match=r"differs from the study that .* reports, in model") as caught:
        evaluated(tmp_path)
    assert f"give the study as it was run: {tmp_path}/results/tiny/study.yaml" in str(caught.value)


@pytest.mark.slow
def test_a_change_is_one_of_every_task(tmp_path):
    two = STUDY.replace(TASK, TASKS).replace("seeds: 2", "seeds: 1")
    run_in(tmp_path, two)
    evaluated(tmp_path, sets=["task.test_size=32"], only=["model.norm=rms"])
    rows = Evaluated.load(StudyFolder.at(tmp_path / "results/tiny")).rows
    assert {*zip(rows["task"], rows["slice"], strict=True)} == {
        (task, place) for task in ("recall", "segments") for place in ("test", "task.test_size=32")
    }
    for setting in ("num_pairs", "num_pair"):
        with pytest.raises(StudyError, match=f"has no '{setting}'"):
            evaluated(tmp_path, sets=[f"task.{setting}=1"])


@pytest.mark.slow
def test_numbers_of_other_weights_than_the_study_keeps_are_left_out_of_the_report(tmp_path):
    run_in(tmp_path, FEW)
    evaluated(tmp_path, only=["model.norm=rms"])
    report = tmp_path / "results/tiny/report.html"
    assert "Left out" not in report.read_text()
    run_in(tmp_path, FEW.replace("checkpoint: final", "checkpoint: best"))
    text = report.read_text()
    left_out = message("evaluate.gone", 1)
    assert left_out in text
    assert "attention-1" not in text
    evaluated(tmp_path)
    assert "Left out" not in report.read_text()
    assert {*Evaluated.load(StudyFolder.at(report.parent)).rows["weights"]} == {"best"}


SEARCHED = """
name: tiny
checkpoint: final
task: {name: recall, validation_size: 32, test_size: 32}
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
training: {steps: 8, batch_size: 32, eval_every: 8, lr: 1e-3}
seeds: 1
"""
SPACE = "over: {training.lr: {float: [1e-4, 1e-2], log: true}}, trials: 1, seeds: 3"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "sweep", "variants"),
    [
        (f"search: {{{SPACE}}}\n", True, {"baseline", "winner"}),
        (f"tune: {{{SPACE}}}\nfactors: {{model.norm: [rms]}}\n", False, {"baseline", "model.norm=rms"}),
    ],
)
def test_what_a_search_has_found_is_evaluated(tmp_path, text, sweep, variants):
    run_in(tmp_path, SEARCHED + text, sweep=sweep)
    evaluated(tmp_path)
    trials = pd.read_parquet(tmp_path / "results/tiny/trials.parquet")
    table = pd.read_csv(tmp_path / "results/tiny/evaluation.csv")
    assert set(table.id) == set(trials.id)
    assert set(table.variant) == variants
    own = table[table.metric == "accuracy"].set_index("id").value
    assert own.to_dict() == trials.set_index("id").accuracy.to_dict()
    assert run_in(tmp_path, SEARCHED + text, sweep=sweep)[0].trained == 0
    (tmp_path / "study.yaml").write_text((SEARCHED + text).replace("1e-2", "1e-1"))
    with pytest.raises(AblateError, match="differs from the study that"):
        evaluated(tmp_path)
