"""Other calls of `analyse` on the same runs are named, have reports of their own, and a level together."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from harness import ablate_here

import ablate
from ablate.core.other_looks import EarlierCalls
from ablate.records.folder import StudyFolder
from ablate.runs.content import digests_of_rows
from ablate.runs.evidence import evidence_of
from ablate.runs.formats.frames import runs_in_frame
from ablate.runs.looks import ledger
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import by_roles

CALL = ("--baseline", "base", "--metric", "acc", "--margin", "0.02")


def frame_of(seeds=range(5), shift=0.0):
    rng = np.random.default_rng(7)
    rows = []
    for variant, gain in (("base", 0.0), ("wide", 0.06), ("same", 0.0)):
        for seed in seeds:
            for step in (1, 2):
                acc = 0.8 + gain + shift + rng.normal(0, 0.01) + step / 100
                rows.append({"variant": variant, "seed": seed, "step": step, "acc": acc, "loss": 1 - acc / 2})
    return pd.DataFrame(rows)


@pytest.fixture
def here(tmp_path):
    """A folder with a table of runs that was analysed once."""
    frame_of().to_csv(tmp_path / "runs.csv", index=False)
    assert analyse(tmp_path, *CALL).returncode == 0
    return tmp_path


def analyse(folder: Path, *words: object, runs: str = "runs.csv"):
    return ablate_here("analyse", runs, *words, cwd=folder)


def calls(folder: Path, name: str) -> EarlierCalls:
    return StudyFolder(folder / "results", name).facts().earlier_calls


def differences(found: EarlierCalls) -> list[list[str]]:
    return [look.differs for look in found.looks]


OTHERWISE = {
    "margin": (("--baseline", "base", "--metric", "acc", "--margin", "0.03"), ["margin=0.02"], None),
    "metric": (
        ("--baseline", "base", "--metric", "loss", "--margin", "0.02"),
        ["metric=acc", "direction=max"],
        0.1,
    ),
    "baseline": (("--baseline", "wide", "--metric", "acc", "--margin", "0.02"), ["baseline=base"], 0.1),
    "filter": ((*CALL, "--where", "loss > 0"), ["where=none"], 0.1),
    "step": ((*CALL, "--at", "step 1"), ["at=none"], 0.1),
    "claim": ((*CALL, "--claim", "wide beats base on acc by 0.01"), ["claim=none"], None),
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("words", "differs", "level"), OTHERWISE.values(), ids=[*OTHERWISE])
def test_another_call_names_the_first_and_writes_beside_it(here, words, differs, level):
    before = {path: path.read_bytes() for path in (here / "results/runs").rglob("*.*")}
    done = analyse(here, *words)
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in before} == before
    (name,) = [report.name for report in StudyFolder.all(here / "results") if report.name != "runs"]
    assert name.startswith(f"runs@{differs[0].partition('=')[0]}=")
    found = calls(here, name)
    assert differences(found) == [differs]
    assert found.level == level
    assert found.looks[0].verdicts == ["wide better", "same inconclusive"]
    folder = here / "results" / name
    for text in (done.stdout, (folder / "card.md").read_text(), (folder / "report.md").read_text()):
        assert differs[0] in " ".join(text.split())
        assert "report runs" in " ".join(text.split())


@pytest.mark.slow
def test_the_same_call_again_is_no_other_look(here):
    assert analyse(here, *CALL, "--direction", "max").returncode == 0  # What was guessed, outright.
    assert analyse(here, *CALL, "--at", "last", "--column", "variant", "variant").returncode == 0
    assert [report.name for report in StudyFolder.all(here / "results")] == ["runs"]
    assert calls(here, "runs") == EarlierCalls()
    assert len((here / "results/store/analyses.jsonl").read_text().splitlines()) == 1


@pytest.mark.slow
def test_runs_are_known_by_their_content_under_any_name_and_in_any_order(here):
    copied = frame_of().sample(frac=1.0, random_state=1)[["loss", "acc", "step", "seed", "variant"]]
    copied.to_csv(here / "copied.tsv", index=False, sep="\t")
    assert analyse(here, *CALL[:2], "--metric", "loss", runs="copied.tsv").returncode == 0
    assert differences(calls(here, "copied")) == [["metric=acc", "direction=max", "margin=0.02"]]
    # Other runs are others.
    frame_of(shift=0.1).to_csv(here / "others.csv", index=False)
    assert analyse(here, *CALL, runs="others.csv").returncode == 0
    assert calls(here, "others") == EarlierCalls()


@pytest.mark.slow
def test_runs_that_were_added_are_another_look_in_the_same_report(here):
    grown = pd.concat([frame_of(), frame_of(seeds=range(5, 9), shift=0.001)])
    grown.to_csv(here / "runs.csv", index=False)
    assert analyse(here, *CALL).returncode == 0
    assert [report.name for report in StudyFolder.all(here / "results")] == ["runs"]
    assert differences(calls(here, "runs")) == [["rows=30"]]
    assert calls(here, "runs").level == 0.1


@pytest.mark.slow
def test_another_table_of_the_same_name_writes_over_nothing(here):
    (here / "sub").mkdir()
    frame_of(shift=0.1).to_csv(here / "sub/runs.csv", index=False)
    before = (here / "results/runs/comparisons.csv").read_bytes()
    assert analyse(here, *CALL, runs="sub/runs.csv").returncode == 0
    assert (here / "results/runs/comparisons.csv").read_bytes() == before
    assert len(StudyFolder.all(here / "results")) == 2


def test_a_report_without_its_ledger_is_kept_too_and_a_damaged_ledger_is_named(here):
    path = here / "results/store/analyses.jsonl"
    line = path.read_text()
    path.unlink()
    before = (here / "results/runs/comparisons.csv").read_bytes()
    assert analyse(here, *CALL[:-1], "0.05").returncode == 0
    assert (here / "results/runs/comparisons.csv").read_bytes() == before
    path.write_text(line.replace("wide better", "wide worse"))
    done = analyse(here, *CALL)
    assert done.returncode == 2
    assert "analyses.jsonl" in done.stderr


@pytest.mark.slow
def test_folders_of_runs_are_known_whatever_is_asked_of_them(tmp_path):
    for variant, gain in (("relu", 0.0), ("gelu", 0.03)):
        for seed in range(4):
            folder = tmp_path / f"out/{variant}_{seed}"
            folder.mkdir(parents=True)
            (folder / "config.json").write_text(json.dumps({"act": variant, "seed": seed}))
            rows = [
                {"step": step, "acc": 0.7 + gain + seed * 0.01 + step / 50, "loss": 0.5 - gain + seed / 90}
                for step in range(3)
            ]
            (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for words in (("acc",), ("loss",), ("acc", "--at", "step 1")):
        done = analyse(tmp_path, "--baseline", "relu", "--metric", *words, runs="out")
        assert done.returncode == 0, done.stderr
    (name,) = [report.name for report in StudyFolder.all(tmp_path / "results") if "@at" in report.name]
    assert len(calls(tmp_path, name).looks) == 2
    assert calls(tmp_path, name).level == pytest.approx(0.15)


@pytest.mark.slow
def test_in_python_calls_of_a_process_are_named_and_of_a_folder_those_of_its_ledger(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger.OF_THIS_PROCESS, "lines", [])
    monkeypatch.chdir(tmp_path)
    frame = frame_of()
    for metric in ("acc", "loss", "acc"):
        results = ablate.analyse(frame, baseline="base", metric=metric)
    assert differences(results.evidence.facts.earlier_calls) == [["metric=loss", "direction=min"]]
    assert not list(tmp_path.iterdir())

    first = ablate.analyse(frame, baseline="base", metric="acc", name="mine")
    second = ablate.analyse(frame, baseline="base", metric="loss", name="mine")
    assert first.folder == Path("results/mine")
    assert second.folder != first.folder
    assert second.evidence.facts.earlier_calls.looks[0].report == "mine"


def test_digests_of_rows_do_not_depend_on_spelling_or_order():
    one = pd.DataFrame({"a": ["1.0", "2"], "b": ["x", ""]})
    other = pd.DataFrame({"b": ["", "x"], "a": ["2.00", "1"]})
    assert digests_of_rows(one) == digests_of_rows(other)
    swapped = pd.DataFrame({"b": ["1.0", "2"], "a": ["x", ""]})
    assert not {*digests_of_rows(one)} & {*digests_of_rows(swapped)}


def table_of(digits, seed=0, num_seeds=5, gain=0.01):
    """Returns a table of runs whose accuracies have some digits."""
    rng = np.random.default_rng(seed)
    rows = []
    for variant, mean in (("base", 0.9), ("new", 0.9 + gain)):
        for run in range(num_seeds):
            rows.append({"variant": variant, "seed": run, "acc": round(rng.normal(mean, 0.012), digits)})
    return pd.DataFrame(rows)


def looked_at(frame, metric="acc", baseline="base", margin=None):
    results = ablate.analyse(frame, baseline=baseline, metric=metric, direction="max", margin=margin)
    return results.evidence.facts.earlier_calls.looks


SAME = {
    "variants renamed": lambda frame: frame.replace({"base": "relu", "new": "gelu"}),
    "in percent": lambda frame: frame.assign(acc=frame["acc"] * 100),
    "a column added": lambda frame: frame.assign(note="x"),
    "the metric renamed": lambda frame: frame.rename(columns={"acc": "score"}),
    "a column a variant": lambda frame: (
        frame.pivot(index="seed", columns="variant", values="acc").reset_index().rename_axis(columns=None)
    ),
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("act", SAME)
def test_runs_are_known_again_by_their_numbers_whatever_they_are_called(act, monkeypatch):
    monkeypatch.setattr(ledger.OF_THIS_PROCESS, "lines", [])
    assert not looked_at(table_of(16))
    frame = SAME[act](table_of(16))
    metric = "score" if "score" in frame else "acc"
    baseline = "relu" if act == "variants renamed" else "base"
    assert len(looked_at(frame, metric, baseline, margin=0.02)) == 1


@pytest.mark.slow
def test_rounded_accuracies_of_other_runs_that_are_equal_by_chance_are_no_earlier_look(monkeypatch):
    told = []
    for seed in range(6):
        monkeypatch.setattr(ledger.OF_THIS_PROCESS, "lines", [])
        first = table_of(2, seed=2 * seed)
        other = table_of(2, seed=2 * seed + 1)
        told.append(len({*digests_of_rows(first)} & {*digests_of_rows(other)}) > 1)
        assert not looked_at(first)
        assert not looked_at(other)
        assert looked_at(first.iloc[:-1])  # The runs of the first, less one: more are equal than by chance.
    assert sum(told) > 1


HARMLESS = {
    "comment": lambda frame: frame.assign(comment="none"),
    "time": lambda frame: frame.assign(seconds=np.random.default_rng(1).normal(9.0, 1.0, len(frame))),
    "order": lambda frame: frame.sample(frac=1.0, random_state=1),
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("act", HARMLESS)
@pytest.mark.parametrize("digits", [2, 16])
def test_a_column_beside_the_judged_numbers_makes_no_other_look(act, digits, monkeypatch):
    monkeypatch.setattr(ledger.OF_THIS_PROCESS, "lines", [])
    frame = table_of(digits, gain=0.05)
    assert not looked_at(frame)
    assert not looked_at(HARMLESS[act](frame))


@pytest.mark.slow
def test_a_column_that_was_added_makes_no_further_test(here):
    frame_of().assign(comment="none").to_csv(here / "runs.csv", index=False)
    assert analyse(here, *CALL).returncode == 0
    assert calls(here, "runs") == EarlierCalls()
    frame_of().assign(gpu="H100").to_csv(here / "runs.csv", index=False)
    assert analyse(here, *CALL[:-1], "0.03").returncode == 0
    found = calls(here, "runs@margin=0.03")
    assert differences(found) == [["margin=0.02"]]
    assert found.level is None


@pytest.mark.slow
def test_as_many_other_rows_are_named_as_such(here):
    frame = frame_of()
    frame.loc[:3, "acc"] += 0.001
    frame.to_csv(here / "runs.csv", index=False)
    assert analyse(here, *CALL).returncode == 0
    (name,) = [report.name for report in StudyFolder.all(here / "results")]
    assert differences(calls(here, name)) == [["other rows"]]
    assert calls(here, name).level == 0.1


@pytest.mark.slow
def test_rows_of_an_older_ledger_are_compared_as_they_were_read(here):
    options = AnalysisOptions(baseline="base", metric="acc", at="last")
    table = by_roles(runs_in_frame(frame_of(), options), options)
    evidence = evidence_of(table, table.options.metrics(), table.options, "runs")
    line = ledger.line_of(table, evidence, source="")
    older = replace(line, judged="")
    assert older.looked_as(line)
    assert not replace(older, num_runs=29).looked_as(line)
    other = replace(older, runs=[*line.runs[1:], "f" * 16])
    assert ledger.earlier_calls(line, [other]).looks[0].differs == ["other rows or columns"]


def level_after(frame, monkeypatch, first, second):
    """The level of a second call on some runs that differs from the first in its thresholds."""
    monkeypatch.setattr(ledger.OF_THIS_PROCESS, "lines", [])
    for options in (first, second):
        results = ablate.analyse(frame, baseline="base", metric="acc", direction="max", **options)
    assert len(results.evidence.facts.earlier_calls.looks) == 1
    return results.evidence.facts.earlier_calls.level


@pytest.mark.slow
def test_a_floor_is_another_test_where_a_run_diverged(monkeypatch):
    frame = table_of(16)
    assert level_after(frame, monkeypatch, {"floor": 0.1}, {"floor": 0.8}) is None
    frame.loc[7, "acc"] = np.inf
    assert level_after(frame, monkeypatch, {"floor": 0.1}, {"floor": 0.8}) == 0.1
    assert level_after(frame, monkeypatch, {}, {"floor": 0.8}) == 0.1
    assert level_after(frame, monkeypatch, {"margin": 0.1, "floor": 0.1}, {"floor": 0.1}) is None


@pytest.mark.slow
def test_a_resolution_is_another_test_where_it_decides(monkeypatch):
    assert level_after(table_of(16), monkeypatch, {}, {"resolution": 1e-5}) is None
    frame = table_of(2, num_seeds=3)
    frame["acc"] = [0.80, 0.81, 0.80, 0.82, 0.83, 0.82]
    assert level_after(frame, monkeypatch, {}, {"resolution": 1e-4}) == 0.1
    assert level_after(frame, monkeypatch, {}, {"resolution": 0.01}) is None
