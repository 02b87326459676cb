"""A run that ended before the others is marked beside its verdict, whatever format says how far it came."""

import csv
import json
from html import unescape

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ablate.cli import main
from ablate.core.rows import list_in
from ablate.core.unequal_run import UnequalRun
from ablate.runs.evidence import evidence_of
from ablate.runs.formats.frames import runs_in_frame
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import by_roles, read

STEPS = (200, 400, 600, 800, 1000)
RUNS = [(variant, seed) for variant in ("relu", "gelu") for seed in range(4)]
EARLY = ("gelu", 2)
MARK = "unequal budget: seed 2 of gelu ended at step 600 of 1,000"


def accuracy(variant, seed, step):
    return round(0.8 + 0.02 * (variant == "gelu") + 0.003 * seed + 0.0001 * step + 0.001 * (seed % 3), 6)


def steps_of(variant, seed):
    """The steps of a run, one of which ends before the others."""
    return [step for step in STEPS if step <= 600 or (variant, seed) != EARLY]


def as_table(folder):
    lines = ["variant,seed,step,acc"]
    for variant, seed in RUNS:
        lines += [
            f"{variant},{seed},{step},{accuracy(variant, seed, step)}" for step in steps_of(variant, seed)
        ]
    (folder / "runs.csv").write_text("\n".join(lines))
    return folder / "runs.csv", {}


def as_chart(folder):
    columns = {"Step": pd.Series(STEPS)}
    for variant, seed in RUNS:
        values = [accuracy(variant, seed, step) for step in steps_of(variant, seed)]
        columns[f"{variant} seed{seed} - acc"] = pd.Series(values)
    pd.DataFrame(columns).to_csv(folder / "chart.csv", index=False)
    return folder / "chart.csv", {"seed": r"seed(\d+)"}


def as_logs(folder):
    for variant, seed in RUNS:
        lines = [f"step={step} acc={accuracy(variant, seed, step)}" for step in steps_of(variant, seed)]
        (folder / f"{variant}_seed{seed}.log").write_text("\n".join(lines))
    return folder, {"read": {"step": r"step=(\d+)", "acc": r"acc=(\S+)"}}


def as_folders(folder):
    for variant, seed in RUNS:
        run = folder / f"{variant}_seed{seed}"
        run.mkdir()
        rows = [f"{step},{accuracy(variant, seed, step)}" for step in steps_of(variant, seed)]
        (run / "metrics.csv").write_text("\n".join(["step,acc", *rows]))
    return folder, {}


def as_ends_of_folders(folder):
    for variant, seed in RUNS:
        run = folder / f"{variant}_seed{seed}"
        run.mkdir()
        last = steps_of(variant, seed)[-1]
        (run / "results.json").write_text(json.dumps({"step": last, "acc": accuracy(variant, seed, last)}))
    return folder, {}


def as_rows(column):
    """A table with a row a run, and a column of this name that says how far it came."""

    def write(folder):
        rows = []
        for variant, seed in RUNS:
            last = steps_of(variant, seed)[-1]
            rows.append(
                {"variant": variant, "seed": seed, column: last, "acc": accuracy(variant, seed, last)}
            )
        pd.DataFrame(rows).to_csv(folder / "rows.csv", index=False)
        return folder / "rows.csv", {}

    return write


COLUMNS = (
    "step",
    "_step",
    "global_step",
    "trainer/global_step",
    "epochs_trained",
    "total_timesteps",
    "n_iter",
    "steps",
)
FORMATS = {
    "table": (as_table, "step"),
    "chart": (as_chart, "step"),
    "logs": (as_logs, "step"),
    "folders": (as_folders, "step"),
    "ends of folders": (as_ends_of_folders, "step"),
    **{column: (as_rows(column), column) for column in COLUMNS},
}


def facts_of(path, **options):
    """The facts of runs at a path."""
    table = read(str(path), AnalysisOptions(baseline="relu", metric="acc", direction="max", **options))
    return evidence_of(table, table.options.metrics(), table.options, "runs").facts


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_how_far_its_runs_came(name, tmp_path):
    write, counted = FORMATS[name]
    path, options = write(tmp_path)
    facts = facts_of(path, **options)
    assert facts.provenance.length_column == counted
    (lengths,) = facts.provenance.own_lengths["gelu"].values()
    assert lengths == {0: 1000.0, 1: 1000.0, 2: 600.0, 3: 1000.0}


@pytest.mark.slow
def test_the_mark_stands_beside_the_verdict_everywhere(tmp_path):
    path, _ = as_table(tmp_path)
    words = ["analyse", str(path), "--baseline", "relu", "--metric", "acc", "--results", str(tmp_path)]
    claim = ["--claim", "gelu beats relu on acc"]
    done = CliRunner().invoke(main, [*words, *claim, "--json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    early = [UnequalRun("gelu", 2, "step", 600.0, 1000.0)]
    assert list_in(answer["verdicts"][0]["unequal_runs"], UnequalRun) == early
    assert list_in(answer["claims"][0]["unequal_runs"], UnequalRun) == early
    assert " ".join(done.stderr.split()).count(MARK) == 2
    with (tmp_path / "runs" / "comparisons.csv").open() as file:
        assert list_in(next(csv.DictReader(file))["unequal_runs"], UnequalRun) == early
    for name in ("card.md", "report.md", "report.html"):
        text = unescape((tmp_path / "runs" / name).read_text())
        assert MARK in text, name
        assert "4 runs of each, of which 1 ended early" in text, name


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("at", "is_marked"), [("last", True), ("best acc", True), ("step 600", False)])
def test_runs_that_are_compared_at_one_step_are_equal(at, is_marked, tmp_path):
    path, _ = as_table(tmp_path)
    assert bool(facts_of(path, at=at).provenance.own_lengths) == is_marked


@pytest.mark.slow
def test_rows_that_a_condition_leaves_out_are_no_early_end(tmp_path):
    path, _ = as_table(tmp_path)
    assert not facts_of(path, where=("step <= 600",)).provenance.own_lengths


def frame_of(**columns):
    runs = pd.DataFrame(RUNS, columns=["variant", "seed"])
    return runs.assign(acc=np.linspace(0.8, 0.9, len(RUNS)), **columns)


def facts_of_frame(frame):
    options = AnalysisOptions(baseline="relu", metric="acc", direction="max")
    table = by_roles(runs_in_frame(frame, options), options)
    return evidence_of(table, table.options.metrics(), table.options, "runs").facts


@pytest.mark.slow
def test_a_run_that_does_not_count_by_its_number_did_not_end_early():
    steps = [1000] * 6 + [600, 1000]
    marked = facts_of_frame(frame_of(steps=steps))
    assert marked.provenance.own_lengths["gelu"]["runs"][2] == 600
    frame = frame_of(steps=steps)
    diverged = frame.assign(acc=frame["acc"].where(frame["steps"] == 1000, np.inf))
    assert not facts_of_frame(diverged).provenance.own_lengths
    failed = frame.assign(state=["failed" if each == 600 else "finished" for each in steps])
    assert not facts_of_frame(failed).provenance.own_lengths
    unknown = frame.assign(state=["unknown" if each == 600 else "finished" for each in steps])
    assert facts_of_frame(unknown).provenance.own_lengths == marked.provenance.own_lengths


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("column", ["best_epoch", "eval_steps", "steps_per_epoch", "num_examples"])
def test_other_counts_are_no_lengths(column):
    assert not facts_of_frame(frame_of(**{column: [1000] * 6 + [600, 1000]})).provenance.own_lengths


@pytest.mark.slow
def test_a_step_that_differs_from_run_to_run_is_that_of_a_checkpoint():
    assert not facts_of_frame(frame_of(epoch=[12, 31, 7, 22, 15, 40, 9, 3])).provenance.own_lengths
    # Of those that reach the last epoch, some by chance.
    assert not facts_of_frame(frame_of(epoch=[100, 99, 95, 100, 98, 93, 100, 100])).provenance.own_lengths


@pytest.mark.slow
def test_a_variant_whose_runs_are_all_shorter_has_its_mark_of_treatment(tmp_path):
    lines = ["variant,seed,step,acc"]
    for variant, seed in RUNS:
        steps = STEPS if variant == "relu" else STEPS[:3]
        lines += [f"{variant},{seed},{step},{accuracy(variant, seed, step)}" for step in steps]
    (tmp_path / "half.csv").write_text("\n".join(lines))
    words = ["analyse", str(tmp_path / "half.csv"), "--baseline", "relu", "--metric", "acc", "--json"]
    done = CliRunner().invoke(main, [*words, "--results", str(tmp_path)])
    (row,) = [row for row in json.loads(done.stdout)["verdicts"] if not row["exploratory"]]
    assert row["treatment"] == "steps step=600|1000"
    assert row["unequal_runs"] is None
    assert "of which" not in done.stderr


def test_a_log_without_steps_is_as_long_as_its_rows(tmp_path):
    for variant, seed in RUNS:
        lines = [f"acc={accuracy(variant, seed, step)}" for step in steps_of(variant, seed)]
        (tmp_path / f"{variant}_seed{seed}.log").write_text("\n".join(lines))
    facts = facts_of(tmp_path, read={"acc": r"acc=(\S+)"})
    assert facts.provenance.length_column == "row"
    assert facts.provenance.own_lengths["gelu"]["runs"][2] == 3
