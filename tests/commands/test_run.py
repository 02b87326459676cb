"""The pipeline as a whole, on the workload without torch, inside this process."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from harness import TOY_STUDY, made_again_alone, plan_here, report_here, toy_changed

import ablate
from ablate.base.errors import AblateError, StudyError
from ablate.commands.show import show
from ablate.execution.engines.local_pool import Server
from ablate.records.folder import StudyFolder

MADE = TOY_STUDY

COMPARISONS = [
    "variant", "baseline", "task", "metric", "n", "mean_variant", "mean_baseline", "diff", "ci_low", "ci_high", "level",
    "p", "mde", "verdict", "reason", "exploratory", "settings",
]  # fmt: skip
CLAIMS = ["claim", "hash", "declared", "verdict", "diff", "ci_low", "ci_high", "n", "reason"]


def stamps(tmp_path: Path) -> dict[str, int]:
    return {p.stem: p.stat().st_mtime_ns for p in (tmp_path / "results/store/trials").glob("*.json")}


@pytest.mark.slow
def test_folders_of_results_may_be_links_and_files_beside_the_report_stay(run, tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    for name in ("store", "toy"):
        (tmp_path / "disk" / name).mkdir(parents=True)
        (results / name).symlink_to(tmp_path / "disk" / name)
    figures = tmp_path / "disk" / "toy" / "figures"
    figures.mkdir()
    for name in ("mine.svg", "mine.png"):
        (figures / name).write_text("mine")
    run(TOY_STUDY)
    before = stamps(tmp_path)
    assert len(before) == 9
    drawn = {path.name for path in figures.iterdir()}
    assert drawn > {"mine.svg", "mine.png"}
    # A figure of the last report goes with it, and a link to a folder of others is not written to.
    report = results / "toy" / "report.md"
    report.write_text(f"{report.read_text()}\n![](figures/old.svg)\n![](figures/../mine.svg)\n")
    (figures / "old.svg").write_text("an earlier report's")
    report_here(results / "toy")
    assert {path.name for path in figures.iterdir()} == drawn
    assert stamps(tmp_path) == before
    figures.rename(tmp_path / "pictures")
    figures.symlink_to(tmp_path / "pictures")
    with pytest.raises(AblateError):
        report_here(results / "toy")


@pytest.mark.slow
def test_a_run_leaves_what_the_design_names(run, tmp_path):
    text = TOY_STUDY + "claims: [model.effect=0.2 beats baseline on accuracy]\nquestion: Which?\n"
    outcome, printed = run(text)
    folder = tmp_path / "results" / "toy"
    assert outcome.folder == folder
    names = {path.name for path in folder.iterdir()}
    assert names >= {
        "study.yaml", "trials.parquet", "curves.parquet", "comparisons.csv", "claims.csv", "report.html", "report.md",
        "figures",
    }  # fmt: skip
    trials = pd.read_parquet(folder / "trials.parquet")
    assert len(trials) == 9
    columns = {"id", "variant", "task", "seed", "model.effect", "model.noise", "status", "accuracy", "loss"}
    assert columns <= set(trials.columns)
    assert set(trials.status) == {"completed"}
    record = json.loads((tmp_path / f"results/store/trials/{trials.id[0]}.json").read_text())
    environment = record["environment"]
    assert (environment["parameters"], environment["flops"]) == (4, 100)
    assert {"command", "commit", "dirty", "versions", "machine"} <= set(environment)
    assert environment["versions"]["python"]
    assert record["started_at"] <= record["finished_at"]
    effect = trials.pivot(index="seed", columns="variant", values="accuracy")
    assert (effect["model.effect=0.2"] - effect["baseline"]).round(12).eq(0.2).all()
    curves = pd.read_parquet(folder / "curves.parquet")
    assert list(curves.columns) == ["id", "step", "metric", "value"]
    assert set(curves.id) == set(trials.id)
    comparisons = pd.read_csv(folder / "comparisons.csv")
    assert list(comparisons.columns[: len(COMPARISONS)]) == COMPARISONS
    planned = comparisons[comparisons.metric == "accuracy"]
    assert set(planned.variant) == {"model.effect=0.2", "model.noise=0.3"}
    claims = pd.read_csv(folder / "claims.csv")
    assert list(claims.columns[: len(CLAIMS)]) == CLAIMS
    assert list(claims.verdict) == ["supported"]
    assert "model.effect=0.2" in printed
    assert "better" in printed
    assert str(folder / "report.html") in printed.replace("\n", "")
    assert "Which?" in (folder / "report.html").read_text()

    # A claim keeps its date, and one that comes late is exploratory.
    (before,) = StudyFolder.at(folder).claims()
    run(text.replace("claims: [", "claims: [model.noise=0.3 beats baseline on loss, "))
    late, same = StudyFolder.at(folder).claims()
    assert (same["declared"], same["exploratory"]) == (before["declared"], "False")
    assert late["exploratory"] == "True"


@pytest.mark.slow
def test_the_same_run_again_trains_nothing_and_writes_nothing(run, ran, tmp_path):
    def times() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in ran.rglob("*") if path.is_file()}

    assert run(TOY_STUDY)[0].trained == 0  # what was copied has other times
    before = times()
    _, printed = run(TOY_STUDY)
    assert "Nothing to train" in printed
    assert "effect 0.2" in printed
    # The study is the same, however the options say it.
    same = {"seeds": 3}, {"seeds": (1, 0, 2)}, {"sets": ["task.name=coin", "seeds=[2, 1, 0]", "workload=toy"]}
    assert ["Nothing to train" in run(f"# {options}\n{TOY_STUDY}", **options)[1] for options in same] == [
        True
    ] * 3
    assert times() == before
    # What a run says that had something to do, the next one repeats: here where further seeds begin.
    _, more = run(TOY_STUDY.replace("seeds: 3", "seeds: 4"))
    assert "from: 4" in more
    assert run(TOY_STUDY.replace("seeds: 3", "seeds: 4"))[1].partition("\n\n")[2] in more
    run(TOY_STUDY)
    made_again_alone(ran / "toy", tmp_path / "elsewhere")
    resolved = ran / "toy/study.yaml"
    assert "seconds: 0.0" in resolved.read_text()
    assert run(resolved, results=ran)[0].trained == 0


@pytest.mark.slow
def test_workers_of_the_built_in_workload_come_first_and_others_where_something_is_missing(
    run, ran, monkeypatch
):
    class Begun(Exception):
        pass

    def begin(*_):
        raise Begun

    monkeypatch.setattr(Server, "started", begin)
    (ran / "toy/report.html").unlink()
    assert run(TOY_STUDY, jobs=2)[0].trained == 0
    # That of the built-in workload, which imports torch, before the study is checked.
    built_in = "name: toy\ntask: nonsense\n"
    for jobs, raised in ((0, StudyError), (2, Begun)):
        with pytest.raises(raised):
            run(built_in, jobs=jobs)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "lost", ["toy/report.html", "toy/comparisons.csv", "toy/figures", "a record", "half a record"]
)
def test_what_is_lost_is_made_again_and_nothing_else_is_trained(run, ran, tmp_path, lost):
    known, path, trained = stamps(tmp_path), ran / lost, int("record" in lost)
    if trained:
        path = next((ran / "store/trials").glob("*.json"))
    if lost == "half a record":
        path.write_text(path.read_text()[:50])
        assert f"{path.name} is corrupt" in plan_here(tmp_path / "study.yaml")
        assert len(path.read_text()) == 50, "planning writes nothing"
    else:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    outcome, printed = run(TOY_STUDY)
    assert path.exists()
    assert outcome.trained == trained
    assert sum(known[i] != stamp for i, stamp in stamps(tmp_path).items()) == trained
    assert (f"{path.name} is corrupt" in printed) == (lost == "half a record")


@pytest.mark.slow
def test_more_or_fewer_seeds_a_second_study_and_fresh(run, ran, tmp_path):
    """Each trains what is new alone, and `fresh` all of it."""
    assert run(TOY_STUDY, seeds=5)[0].trained == 6
    outcome, _ = run(TOY_STUDY, seeds=2)
    assert outcome.trained == 0
    assert len(ablate.load(outcome.folder).trials) == 6
    other = TOY_STUDY.replace("name: toy\n", "name: other\n", 1).replace("[0.1, 0.3]", "[0.4]")
    other += "claims: [model.noise=0.4 beats baseline on loss, model.effect=0.2 beats baseline on loss]\n"
    outcome, _ = run(other)
    assert outcome.trained == 3
    assert len(ablate.load(outcome.folder).trials) == 9
    # A claim is not exploratory because another study has trained some of its trials.
    assert list(ablate.load(outcome.folder).claims.exploratory) == [False, True]
    known = stamps(tmp_path)
    assert run(other, fresh=True)[0].trained == 9
    again = ablate.load(outcome.folder).trials.id
    assert all(known[i] != stamps(tmp_path)[i] for i in again)


@pytest.mark.slow
def test_only_and_seed_choose_what_is_trained(run):
    outcome, printed = run(TOY_STUDY, only=["model.noise=0.3"], seed=1)
    assert (outcome.trained, outcome.missing) == (2, 7)
    assert "7 of 9 trials have not been run" in printed
    results = ablate.load(outcome.folder)
    assert set(results.trials.variant) == {"baseline", "model.noise=0.3"}
    # What has not run still counts in the family.
    assert set(results.comparisons.variant) == {"model.effect=0.2", "model.noise=0.3"}
    assert run(TOY_STUDY)[0].trained == 7


@pytest.mark.slow
def test_a_failed_trial_is_named_with_its_record_and_tried_again(run, tmp_path):
    study = TOY_STUDY + "claims: [model.effect=0.2 beats baseline on accuracy]\n"
    sets = ["training.fault=raise", "training.fault_seed=1"]
    outcome, printed = run(study, sets=sets)
    assert len(outcome.failed) == 3
    trials = pd.read_parquet(outcome.folder / "trials.parquet")
    report = (outcome.folder / "report.html").read_text()
    for row in trials[trials.status == "failed"].itertuples():
        where = f"{tmp_path}/results/store/trials/{row.id}.json; ablate show {row.id} --results {tmp_path}/results"
        (line,) = [line for line in printed.splitlines() if f"failed: {row.variant} seed 1: " in line]
        assert re.search(rf"RuntimeError: the toy broke \(\S*toy.py:\d+\) \({re.escape(where)}\)", line)
        assert where in report
        assert "the toy broke" in show(row.id, tmp_path / "results", pytest.fail)
    comparisons = pd.read_csv(outcome.folder / "comparisons.csv")
    planned, claims = comparisons[~comparisons.exploratory], pd.read_csv(outcome.folder / "claims.csv")
    for rows in (planned, claims):
        assert set(rows.verdict) == {"inconclusive"}
        assert set(rows.reason.str.partition(" ")[0]) == {"incomplete"}
    assert run(study, sets=sets)[0].trained == 3
    records = [json.loads(p.read_text()) for p in (tmp_path / "results/store/trials").glob("*.json")]
    assert sum("RuntimeError: the toy broke" in record["error"] for record in records) == 3
    assert "Traceback" not in printed


@pytest.mark.slow
def test_a_diverged_trial_is_counted_and_never_retried(run):
    sets = ["training.fault=diverge"]
    outcome, _ = run(TOY_STUDY, sets=sets)
    assert not outcome.failed
    results = ablate.load(outcome.folder)
    assert sorted(results.trials.status) == ["completed"] * 6 + ["diverged"] * 3
    primary = results.comparisons[~results.comparisons.exploratory]
    assert {reason.partition(" ")[0] for reason in primary.reason} == {"unstable"}
    assert run(TOY_STUDY, sets=sets)[0].trained == 0


@pytest.mark.slow
def test_a_study_all_of_whose_trials_diverged_is_reported_and_remembered(run, tmp_path):
    """At once, so that there is no curve to draw, in a metric without a value for a run that diverged."""
    always = ('if trial.seed == training["fault_seed"]', 'if training["fault"]')
    text = toy_changed(tmp_path, "altered", always, ("metrics=metrics, curves=curves", "metrics=metrics"))
    text += "metric: loss\ntraining: {fault: diverge}\n"
    said = run(text)[1]
    assert "[3/9] model.noise=0.3 seed 0: diverged: the toy diverged" in said
    assert "warning" not in said
    rows = StudyFolder(tmp_path / "results", "toy").comparisons()
    assert [row["reason"] for row in rows if row["verdict"]] == ["unstable diverged=6 counted=0 others=0"] * 2
    assert not (tmp_path / "results/toy/figures").exists()
    assert "the toy diverged" in (tmp_path / "results/toy/report.html").read_text()
    assert run(text)[0].trained == 0


@pytest.mark.parametrize("fault", ["truncated", "foreign", "no curves"])
def test_damaged_tables_are_an_error_without_a_traceback(ran, fault):
    table = ran / "toy/trials.parquet"
    if fault == "truncated":
        table.write_bytes(table.read_bytes()[:200])
    elif fault == "foreign":
        pd.DataFrame({"x": [1]}).to_parquet(table)
    else:
        (ran / "toy/curves.parquet").unlink()
    with pytest.raises(AblateError, match=r"run the study"):
        report_here(Path("toy"), ran)


@pytest.mark.slow
def test_a_plugin_that_is_edited_between_two_runs_in_one_process_and_given_by_set_counts(
    run, tmp_path, monkeypatch
):
    """Even within a second, and with as many characters."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    means = []
    for constant, trained in (("0.8", 9), ("0.8", 0), ("0.5", 9)):
        study = toy_changed(tmp_path, "given", ("0.8 + model", f"{constant} + model"))
        os.utime(tmp_path / "given.py", ns=(len(means), 10**18 + len(means)))
        outcome, _ = run(study.replace("plugins: [given.py]\n", ""), sets=["plugins=[given.py]"])
        assert outcome.trained == trained
        means.append(ablate.load(outcome.folder).trials.accuracy.mean())
    assert means[0] - means[2] == pytest.approx(0.3)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("return None", "TypeError: `train` must return a Record, not NoneType"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("metrics['accuracy'] = 'high'", "ValueError: could not convert string to float"),
    ],
)
def test_a_workload_that_misbehaves_fails_its_trials(run, tmp_path, line, reason):
    edit = ("        steps = np.arange", f"        {line}\n        steps = np.arange")
    outcome, _ = run(toy_changed(tmp_path, "odd", edit), keep_going=True)
    assert len(outcome.failed) == 9
    assert reason in outcome.failed[0]


@pytest.mark.slow
def test_all_pairs_or_a_chosen_reference_are_what_is_planned(run, tmp_path):
    """Each pair has a row, a verdict and a share of the level; the reference takes the baseline's place."""

    def rows(compare):
        _, out = run(f"{three}compare: {compare}\n")
        read = pd.read_csv(tmp_path / "results/toy/comparisons.csv", keep_default_na=False)
        return read[read["verdict"] != ""], " ".join(out.split())

    three = TOY_STUDY.replace("[0.2]", "[0.2, 0.4]").replace("  model.noise: [0.1, 0.3]\n", "placebo: on\n")
    a, b = "model.effect=0.2", "model.effect=0.4"
    found, out = rows("all_pairs")
    pairs = list(zip(found["variant"], found["baseline"], strict=True))
    assert pairs == [(a, "baseline"), (b, "baseline"), (b, a), ("placebo", "baseline")]
    assert found["level"].round(6).eq(1 - 0.05 / 4).all()
    assert "effect 0.4 vs effect 0.2" in out
    found, out = rows(a)
    pairs = list(zip(found["variant"], found["baseline"], strict=True))
    assert pairs == [("baseline", a), (b, a), ("placebo", "baseline")]
    assert "Each variant against effect 0.2" in out
