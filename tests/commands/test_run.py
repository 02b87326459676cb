"""The route as a whole, on the workload without torch, inside this process."""

import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pandas as pd
import pytest
from harness import TOY, TOY_STUDY, with_database
from planned import print_plan
from rich.console import Console

import ablate
from ablate.base.errors import AblateError, StudyError
from ablate.commands.report import rebuild
from ablate.commands.run import execute
from ablate.commands.show import show
from ablate.records.folder import StudyFolder
from ablate.route.options import Options, Outcome

Run = Callable[..., tuple[Outcome, str]]

COMPARISONS = [
    "variant", "baseline", "task", "metric", "n", "mean_variant", "mean_baseline", "diff", "ci_low", "ci_high", "level",
    "p", "mde", "verdict", "reason", "exploratory", "settings",
]  # fmt: skip
CLAIMS = ["claim", "hash", "declared", "verdict", "diff", "ci_low", "ci_high", "n", "reason"]


@pytest.fixture
def run(tmp_path: Path, toy_study: Path) -> Run:
    """Runs the toy study; returns the outcome and what was printed."""

    def run(*, study: Path = toy_study, **options: object) -> tuple[Outcome, str]:
        console = Console(file=io.StringIO(), width=100)
        options = {"results": tmp_path / "results", "jobs": 0} | options
        with_database(tmp_path / "results/store")
        outcome = execute(study, Options(**options), console)  # type: ignore[arg-type]
        return outcome, console.file.getvalue()  # type: ignore[attr-defined]

    return run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the toy study, run once."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "study.yaml").write_text(dedent(TOY_STUDY))
    with_database(folder / "results/store")
    execute(folder / "study.yaml", Options(results=folder / "results", jobs=0), Console(file=io.StringIO()))
    return folder / "results"


@pytest.fixture
def ran(made: Path, tmp_path: Path) -> None:
    """The toy study has run here already; `run` goes on from it."""
    shutil.copytree(made, tmp_path / "results")


def stamps(tmp_path: Path) -> dict[str, int]:
    return {p.stem: p.stat().st_mtime_ns for p in (tmp_path / "results/store/trials").glob("*.json")}


def test_a_run_leaves_what_the_design_names(run: Run, tmp_path: Path, write: Callable[..., Path]) -> None:
    text = TOY_STUDY + "claims: [model.effect=0.2 beats baseline on accuracy]\nquestion: Which?\n"
    outcome, printed = run(study=write(text))
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
    environment = json.loads((tmp_path / f"results/store/trials/{trials.id[0]}.json").read_text())[
        "environment"
    ]
    assert (environment["parameters"], environment["flops"]) == (4, 100)
    effect = trials.pivot(index="seed", columns="variant", values="accuracy")
    assert (effect["model.effect=0.2"] - effect["baseline"]).round(12).eq(0.2).all()
    curves = pd.read_parquet(folder / "curves.parquet")
    assert list(curves.columns) == ["id", "step", "metric", "value"]
    assert set(curves.id) == set(trials.id)
    comparisons = pd.read_csv(folder / "comparisons.csv")
    assert list(comparisons.columns[: len(COMPARISONS)]) == COMPARISONS
    assert set(comparisons[comparisons.metric == "accuracy"].variant) == {
        "model.effect=0.2",
        "model.noise=0.3",
    }
    claims = pd.read_csv(folder / "claims.csv")
    assert list(claims.columns[: len(CLAIMS)]) == CLAIMS
    assert list(claims.verdict) == ["supported"]
    assert "model.effect=0.2" in printed
    assert "better" in printed
    assert str(folder / "report.html") in printed.replace("\n", "")
    assert "Which?" in (folder / "report.html").read_text()


def test_the_same_run_again_trains_nothing_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    run()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*") if path.is_file()}
    _, printed = run()
    assert "Nothing to train" in printed
    assert "effect 0.2" in printed
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize("lost", ["toy/report.html", "toy/comparisons.csv", "toy/figures", "a record"])
def test_what_is_lost_is_made_again_and_nothing_else_is_trained(
    run: Run, ran: None, tmp_path: Path, lost: str
) -> None:
    known = stamps(tmp_path)
    path = tmp_path / "results" / lost
    if lost == "a record":
        path = next((tmp_path / "results/store/trials").glob("*.json"))
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    outcome, _ = run()
    assert path.exists()
    assert outcome.trained == (lost == "a record")
    assert sum(known[i] != stamp for i, stamp in stamps(tmp_path).items()) == (lost == "a record")


def test_a_corrupt_record_is_trained_again_with_a_warning(run: Run, ran: None, tmp_path: Path) -> None:
    path = next((tmp_path / "results/store/trials").glob("*.json"))
    path.write_text(path.read_text()[:50])
    outcome, printed = run()
    assert outcome.trained == 1
    assert f"{path.name} is corrupt" in printed.replace("\n", "")


def test_more_seeds_train_only_the_new_ones(run: Run, ran: None) -> None:
    assert run(seeds=5)[0].trained == 6
    outcome, _ = run(seeds=2)
    assert outcome.trained == 0
    assert len(ablate.load(outcome.folder).trials) == 6


def test_a_trial_of_two_studies_is_trained_once(
    run: Run, ran: None, write: Callable[..., Path], tmp_path: Path
) -> None:
    other = write(
        TOY_STUDY.replace("name: toy\n", "name: other\n", 1).replace("[0.1, 0.3]", "[0.4]"), "other.yaml"
    )
    assert run(study=other)[0].trained == 3
    assert len(ablate.load(tmp_path / "results/other").trials) == 9


def test_only_and_seed_choose_what_is_trained(run: Run) -> None:
    outcome, printed = run(only=["model.noise=0.3"], seed=1)
    assert (outcome.trained, outcome.missing) == (2, 7)
    assert "7 of 9 trials have not been run" in printed
    results = ablate.load(outcome.folder)
    assert set(results.trials.variant) == {"baseline", "model.noise=0.3"}
    # What has not run still counts in the family.
    assert set(results.comparisons.variant) == {"model.effect=0.2", "model.noise=0.3"}
    assert run()[0].trained == 7


def test_what_cannot_be_chosen_is_named(run: Run) -> None:
    with pytest.raises(StudyError) as caught:
        run(only=["model.nois=0.3"], seed=9)
    assert "--only: is not a variant of the study; given 'model.nois=0.3'" in str(caught.value)
    assert "Did you mean 'model.noise=0.3'?" in str(caught.value)
    assert "--seed: is not a seed of the study; given 9; allowed: 0–2" in str(caught.value)


def test_fresh_trains_again(run: Run, ran: None, tmp_path: Path) -> None:
    known = stamps(tmp_path)
    assert run(fresh=True)[0].trained == 9
    assert all(known[i] != stamp for i, stamp in stamps(tmp_path).items())


def test_a_failed_trial_is_named_with_its_record_and_tried_again(
    run: Run, tmp_path: Path, write: Callable[..., Path]
) -> None:
    study = write(TOY_STUDY + "claims: [model.effect=0.2 beats baseline on accuracy]\n")
    sets = ["training.fault=raise", "training.fault_seed=1"]
    outcome, printed = run(study=study, sets=sets)
    assert len(outcome.failed) == 3
    trials = pd.read_parquet(outcome.folder / "trials.parquet")
    report = (outcome.folder / "report.md").read_text()
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
    assert run(study=study, sets=sets)[0].trained == 3
    records = [json.loads(p.read_text()) for p in (tmp_path / "results/store/trials").glob("*.json")]
    assert sum("RuntimeError: the toy broke" in record["error"] for record in records) == 3
    assert "Traceback" not in printed


def test_a_diverged_trial_is_counted_and_never_retried(run: Run) -> None:
    sets = ["training.fault=diverge"]
    outcome, _ = run(sets=sets)
    assert not outcome.failed
    results = ablate.load(outcome.folder)
    assert sorted(results.trials.status) == ["completed"] * 6 + ["diverged"] * 3
    primary = results.comparisons[~results.comparisons.exploratory]
    assert {reason.partition(" ")[0] for reason in primary.reason} == {"unstable"}
    assert run(sets=sets)[0].trained == 0


def altered(write: Callable[..., Path], *changes: tuple[str, str]) -> str:
    """The toy study on a workload of its own: the toy with changes to its source."""
    source = TOY.read_text().replace('"workload", "toy"', '"workload", "altered"')
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    write(source, "altered.py")
    return TOY_STUDY.replace(str(TOY), "altered.py").replace("workload: toy", "workload: altered")


def test_a_study_all_of_whose_trials_diverged_is_reported_and_remembered(
    run: Run, tmp_path: Path, write: Callable[..., Path]
) -> None:
    """At once, so that there is no curve to draw, in a metric without a value for a run that diverged."""
    always = ('if trial.seed == training["fault_seed"]', 'if training["fault"]')
    text = altered(write, always, ("metrics=metrics, curves=curves", "metrics=metrics"))
    options = {"study": write(f"{text}metric: loss\ntraining: {{fault: diverge}}\n")}
    said = run(**options)[1]
    assert "[3/9] model.noise=0.3 seed 0: diverged: the toy diverged" in said
    assert "warning" not in said
    reasons = [
        row["reason"] for row in StudyFolder(tmp_path / "results", "toy").comparisons() if row["verdict"]
    ]
    assert reasons == ["unstable diverged=6"] * 2
    assert not (tmp_path / "results/toy/figures").exists()
    assert "the toy diverged" in (tmp_path / "results/toy/report.md").read_text()
    assert run(**options)[0].trained == 0


def test_a_record_says_where_it_comes_from(ran: None, tmp_path: Path) -> None:
    record = json.loads(next((tmp_path / "results/store/trials").glob("*.json")).read_text())
    assert {"command", "commit", "dirty", "versions", "machine"} <= set(record["environment"])
    assert record["environment"]["versions"]["python"]
    assert record["started_at"] <= record["finished_at"]


def test_the_resolved_study_runs_as_it_stands(run: Run, ran: None, tmp_path: Path) -> None:
    resolved = tmp_path / "results/toy/study.yaml"
    assert "seconds: 0.0" in resolved.read_text()
    assert run(study=resolved)[0].trained == 0


def test_the_report_is_made_again_from_the_results_folder_alone(ran: None, tmp_path: Path) -> None:
    folder = tmp_path / "results/toy"
    kept = {name: (folder / name).read_bytes() for name in ("report.html", "comparisons.csv", "claims.csv")}
    alone = tmp_path / "elsewhere" / "toy"
    shutil.copytree(folder, alone)
    shutil.rmtree(tmp_path / "results")
    for name in kept:
        (alone / name).unlink()
    rebuild(Path("toy"), tmp_path / "elsewhere", Console(file=io.StringIO()))
    assert {name: (alone / name).read_bytes() for name in kept} == kept


def test_claims_keep_their_date_and_late_ones_are_exploratory(
    run: Run, write: Callable[..., Path], tmp_path: Path
) -> None:
    first = "model.effect=0.2 beats baseline on accuracy"
    run(study=write(f"{TOY_STUDY}claims: [{first}]\n"))
    path = tmp_path / "results/toy/claims.csv"
    (before,) = StudyFolder.at(path.parent).claims()
    run(study=write(f"{TOY_STUDY}claims: [model.noise=0.3 beats baseline on loss, {first}]\n"))
    late, same = StudyFolder.at(path.parent).claims()
    assert (same["declared"], same["exploratory"]) == (before["declared"], "False")
    assert late["exploratory"] == "True"


def test_claims_of_a_new_study_are_not_exploratory_because_it_shares_trials(
    run: Run, ran: None, write: Callable[..., Path]
) -> None:
    text = TOY_STUDY.replace("name: toy\n", "name: other\n", 1).replace("[0.1, 0.3]", "[0.4]")
    claims = "claims: [model.noise=0.4 beats baseline on loss, model.effect=0.2 beats baseline on loss]\n"
    outcome, _ = run(study=write(text + claims, "other.yaml"))
    assert list(ablate.load(outcome.folder).claims.exploratory) == [False, True]


@pytest.mark.slow
def own_workload(write: Callable[..., Path], name: str, *edit: str) -> Path:
    """The toy study on a copy of the toy workload, with one piece of its source replaced."""
    toy = TOY.read_text().replace('"toy"', f'"{name}"')
    if edit:
        assert edit[0] in toy
        toy = toy.replace(*edit)
    write("", f"{name}.py").write_text(toy)
    study = TOY_STUDY.replace("workload: toy", f"workload: {name}").replace(str(TOY), f"{name}.py")
    return write(study, f"{name}.yaml")


@pytest.mark.slow
def test_a_plugin_edited_between_two_runs_in_one_process(write: Callable[..., Path], tmp_path: Path) -> None:
    means = []
    for constant in ("0.8", "0.5"):
        study = own_workload(write, "edited", "0.8 + model", f"{constant} + model")
        means.append(ablate.run(study, results=tmp_path / "r", jobs=1).trials.accuracy.mean())
    assert means[0] - means[1] == pytest.approx(0.3)


def test_a_plugin_given_by_set_counts(run: Run, write: Callable[..., Path]) -> None:
    for constant, trained in (("0.8", 9), ("0.8", 0), ("0.5", 9)):
        study = own_workload(write, "given", "0.8 + model", f"{constant} + model")
        study.write_text(study.read_text().replace("plugins: [given.py]\n", ""))
        assert run(study=study, sets=["plugins=[given.py]"])[0].trained == trained


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("return None", "TypeError: `train` must return a Record, not NoneType"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("metrics['accuracy'] = 'high'", "ValueError: could not convert string to float"),
    ],
)
def test_a_workload_that_misbehaves_fails_its_trials(
    run: Run, write: Callable[..., Path], line: str, reason: str
) -> None:
    edit = ("        steps = np.arange", f"        {line}\n        steps = np.arange")
    outcome, _ = run(study=own_workload(write, "odd", *edit))
    assert len(outcome.failed) == 9
    assert reason in outcome.failed[0]


@pytest.mark.parametrize("fault", ["truncated", "foreign", "no curves"])
def test_damaged_tables_are_an_error_without_a_traceback(ran: None, tmp_path: Path, fault: str) -> None:
    folder = tmp_path / "results/toy"
    if fault == "truncated":
        (folder / "trials.parquet").write_bytes((folder / "trials.parquet").read_bytes()[:200])
    elif fault == "foreign":
        pd.DataFrame({"x": [1]}).to_parquet(folder / "trials.parquet")
    else:
        (folder / "curves.parquet").unlink()
    with pytest.raises(AblateError, match=r"run the study"):
        rebuild(Path("toy"), tmp_path / "results", Console(file=io.StringIO()))


def test_planning_writes_nothing(ran: None, toy_study: Path, tmp_path: Path) -> None:
    path = next((tmp_path / "results/store/trials").glob("*.json"))
    path.write_text("{")
    console = Console(file=io.StringIO(), width=200)
    print_plan(toy_study, Options(results=tmp_path / "results"), console)
    assert "is corrupt" in console.file.getvalue()  # type: ignore[attr-defined]
    assert path.read_text() == "{"
