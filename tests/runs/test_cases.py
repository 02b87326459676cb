"""Tables in the shapes that people publish, through the command line: what they show, and what they do not."""

import json
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from harness import ablate_here
from scipy import stats

from ablate.records.folder import StudyFolder

pytestmark = pytest.mark.draws

CASES = Path(__file__).parent / "cases"


@pytest.fixture(autouse=True)
def _no_words_of_pytest(monkeypatch):
    """The command that reports show is that of this process, which may name anything."""
    monkeypatch.setattr(sys, "argv", ["ablate", "analyse"])


def analyse(folder, runs, metric, direction, baseline, *words):
    """Judges a table, the name of a case or its text, in a folder."""
    if "\n" in runs:
        (folder / "runs.csv").write_text(runs)
        runs = "runs.csv"
    else:
        shutil.copy(CASES / runs, folder)
    return ablate_here(
        "analyse",
        runs,
        "--metric",
        metric,
        "--direction",
        direction,
        "--baseline",
        baseline,
        *words,
        cwd=folder,
    )


def verdicts(done):
    """The rows of a call with `--json` by variant, and by task where there are several."""
    assert done.returncode == 0, done.stderr
    rows = [row for row in json.loads(done.stdout)["verdicts"] if not row["exploratory"]]
    several = len({row["task"] for row in rows}) > 1
    return {(row["variant"], row["task"]) if several else row["variant"]: row for row in rows}


def written(folder, name):
    """Everything that a report says in words: page, card, methods, tables and figures, with their names."""
    done = ablate_here("export", name, cwd=folder)
    assert done.returncode == 0, done.stderr
    results = folder / "results" / name
    texts = {}
    for path in results.rglob("*"):
        if path.suffix in (".html", ".md", ".csv", ".tex", ".svg"):
            texts[str(path.relative_to(results))] = path.read_text()
    # What a page looks like is none of its words.
    texts["report.html"] = re.sub(r"<(style|script).*?</\1>", "", texts["report.html"], flags=re.DOTALL)
    return texts


# Replicates


def sweep(**columns):
    """Two variants, without seeds: each at these settings, one run each."""
    rows = [{"opt": name} for name in ("adam", "sgd")]
    for column, values in columns.items():
        rows = [row | {column: value} for row in rows for value in values]
    table = pd.DataFrame(rows)
    table["time"] = [61.5 + 0.37 * i for i in range(len(table))]
    table["loss"] = [1.0 + 0.01 * ((7 * i) % 11) for i in range(len(table))]
    return table


def as_csv(table):
    return table.to_csv(index=False)


SETTINGS = {
    "a rate": {"lr": [0.1, 0.01, 0.001]},
    "two settings": {"lr": [0.1, 0.01, 0.001], "batch": [16, 32]},
    "a word": {"norm": ["layer", "batch", "rms"]},
    "layers that look like an index": {"n_layers": [1, 2, 3, 4]},
    "a flag": {"augment": [True, False]},
    "an unknown number": {"k": [3, 5, 7]},
    "epochs that were set": {"epochs": [50, 100]},
    "versions of the code": {"commit": ["a1b2c3", "d4e5f6"]},
}


@pytest.mark.parametrize("case", SETTINGS)
def test_rows_that_differ_in_a_setting_are_no_replicates(tmp_path, case):
    table = sweep(**SETTINGS[case])
    done = analyse(tmp_path, as_csv(table), "loss", "min", "adam", "--column", "variant", "opt")
    assert done.returncode == 2
    named = done.stderr.partition("; given {")[2].partition("}.")[0]
    assert re.findall(r"(\w+): \[", named) == [*SETTINGS[case]]
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_settings_that_no_seed_shares_are_none_either(tmp_path):
    """Each setting once a variant, with seeds: what varies is not the seed alone."""
    table = sweep(lr=[0.1, 0.01], seed=[0, 1, 2])
    table["seed"] = [*range(6), *range(6)]
    words = ("loss", "min", "adam", "--column", "variant", "opt")
    assert analyse(tmp_path, as_csv(table), *words).returncode == 2
    assert analyse(tmp_path, as_csv(table), *words, "--where", "lr=0.10").returncode == 0
    # A random search names no value twice; the name says that it is set.
    drawn = table.assign(lr=[0.0131 * (i + 1) for i in range(12)])
    assert "lr: [" in analyse(tmp_path, as_csv(drawn), *words).stderr


@pytest.mark.slow
def test_the_ways_out_of_settings(tmp_path):
    table = sweep(lr=[0.1, 0.01], seed=[0, 1, 2])
    words = ("loss", "min")
    opt = ("--column", "variant", "opt")
    joined = analyse(
        tmp_path, as_csv(table), *words, "opt=adam,lr=0.1", "--column", "variant", "opt,lr", "--json",
        "--claim", "opt=sgd, lr=0.1 matches opt=adam, lr=0.1 on loss within 0.5",
    )  # fmt: skip
    assert [*verdicts(joined)] == ["opt=adam, lr=0.01", "opt=sgd, lr=0.1", "opt=sgd, lr=0.01"]
    assert [claim["verdict"] for claim in json.loads(joined.stdout)["claims"]] == ["supported"]

    one = analyse(tmp_path, as_csv(table), *words, "adam", *opt, "--where", "lr=0.1", "--json")
    assert verdicts(one)["sgd"]["n"] == 3
    task = analyse(tmp_path, as_csv(table), *words, "adam", *opt, "--column", "task", "lr", "--json")
    assert [*verdicts(task)] == [("sgd", "0.1"), ("sgd", "0.01")]

    # Where the caller says so, the report says that the caller says so.
    unseeded = as_csv(table.drop(columns="seed"))
    stated = analyse(tmp_path, unseeded, *words, "adam", *opt, "--replicates", "--name", "stated")
    assert stated.returncode == 0
    assert "differ in lr" in (tmp_path / "results/stated/report.md").read_text()
    # And one run under two names of a setting stays one run too many.
    assert analyse(tmp_path, as_csv(table), *words, "adam", *opt, "--replicates").returncode == 2


HARMLESS = {
    "metrics and times": {
        "val_acc": [0.91, 0.92, 0.92, 0.91, 0.93, 0.92],
        "runtime": [61, 60, 61, 59, 57, 58],
    },
    "steps that were reached": {
        "best_epoch": [95, 99, 89, 99, 100, 95],
        "steps": [812, 790, 805, 811, 801, 799],
    },
    "names": {"run_name": [f"r{i}" for i in range(6)], "notes": ["", "", "again", "", "", "again"]},
    "dates": {"created": ["2026-01-01", "2026-01-02", "2026-01-02"] * 2, "host": ["n1", "n2", "n1"] * 2},
    "another name of the seed": {
        "fold": [0, 1, 2] * 2,
        "data_seed": [7, 8, 9] * 2,
        "split": ["a", "b", "c"] * 2,
    },
    "why it stopped": {"stop_reason": ["early stopping", "max epochs", "max epochs"] * 2},
    "what each variant has": {"layers": [2, 2, 2, 4, 4, 4], "model": ["s", "s", "s", "l", "l", "l"]},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", HARMLESS)
def test_what_is_measured_or_kept_beside_is_no_setting(tmp_path, case):
    table = pd.DataFrame(
        {"variant": ["a"] * 3 + ["b"] * 3, "seed": [0, 1, 2] * 2, "loss": [1.1, 1.2, 1.35, 1.0, 1.3, 1.21]}
    )
    done = analyse(tmp_path, as_csv(table.assign(**HARMLESS[case])), "loss", "min", "a", "--json")
    assert verdicts(done)["b"]["n"] == 3


@pytest.mark.slow
def test_two_checkpoints_of_each_seed(tmp_path):
    words = ("best_and_last.csv", "clean_top1", "min", "baseline", "--column", "variant", "method")
    refused = analyse(tmp_path, *words)
    assert refused.returncode == 2
    assert "--where checkpoint=best" in refused.stderr
    row = verdicts(analyse(tmp_path, *words, "--json", "--where", 'checkpoint == "best"'))["augmix"]
    assert (row["n"], row["verdict"]) == (3, "better")
    assert row["diff"] == pytest.approx(1.18)
    report = (tmp_path / "results/best_and_last/report.md").read_text()
    assert "Of 12 rows, the 6" in report


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("checkpoint", "COLUMN=VALUE"),
        ("chekpoint=best", "Did you mean 'checkpoint'?"),
        ("checkpoint=first", "allowed: best, last"),
        ("=best", "COLUMN=VALUE"),
    ],
)
def test_a_condition_that_no_row_can_meet_is_refused(tmp_path, condition, said):
    words = ("best_and_last.csv", "clean_top1", "min", "baseline", "--column", "variant", "method")
    done = analyse(tmp_path, *words, "--where", condition)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.slow
def test_scores_with_several_metrics(tmp_path):
    words = ("several_metrics.csv", "BLEU", "max")
    claim = ("--also", "chrF++", "max", "--claim", "fast_dot beats fast_add on chrF++ by 1")
    done = analyse(tmp_path, *words, "fast_dot", "--column", "variant", "experiment", *claim, "--json")
    found = {variant: row["verdict"] for variant, row in verdicts(done).items()}
    assert found == {
        "fast_add": "worse",
        "var_bilinear": "inconclusive",
        "var_gated": "inconclusive",
        "var_entmax15": "inconclusive",
        "fast_add_lr3e3": "better",
    }
    # Two experiments under one name of a mechanism: its rate differs.
    mixed = analyse(tmp_path, *words, "dot_product", "--column", "variant", "attention_type")
    assert (mixed.returncode, "experiment: [" in mixed.stderr) == (2, True)


# Without seeds


@pytest.mark.slow
def test_runs_without_seeds_are_never_called_seeds(tmp_path):
    words = ("five_runs_each.csv", "final_loss", "min", "baseline", "--column", "variant", "configuration")
    done = analyse(tmp_path, *words, "--margin", "0.003", "--floor", "11", "--ceiling", "0")
    assert done.returncode == 0, done.stderr
    assert "seed" not in done.stdout.lower()
    texts = written(tmp_path, "five_runs_each")
    assert {"report.html", "card.md", "paper/methods.tex", "figures/forest.svg", "comparisons.csv"} <= {
        *texts
    }
    assert [name for name, text in texts.items() if "seed" in text.lower()] == []

    losses = pd.read_csv(CASES / "five_runs_each.csv").groupby("configuration")["final_loss"]
    row = StudyFolder(tmp_path / "results", "five_runs_each").comparisons()[0]
    expected = stats.ttest_ind(
        losses.get_group(row["variant"]), losses.get_group("baseline"), equal_var=False
    )
    assert float(row["p"]) == pytest.approx(expected.pvalue)


UNSEEDED = {
    "a crash, a divergence and the same numbers": (
        "variant,status,loss\n" + "".join(f"a,done,{x}\n" for x in (1.1234, 1.2345, 1.3456, 1.4567))
        + "b,done,1.1234\nb,crashed,0.0\nb,diverged,9\nb,done,1.5678\n", (),
    ),
    "all or nothing": (
        "variant,loss\n" + "".join(f"a,{x}\nb,{1 - x}\n" for x in (0.9, 0.95, 0.1, 0.2)),
        ("--all-or-nothing", "0.3", "--floor", "1", "--ceiling", "0"),
    ),
    "groups": (
        "variant,loss\n" + "".join(f"a,{x}\nb,{1 - x}\n" for x in (0.9, 0.95, 0.1, 0.2)),
        ("--floor", "1", "--ceiling", "0", "--margin", "0.01"),
    ),
    "at the best value": (
        "variant,loss\n" + "".join(f"a,{x}\nb,{x}\n" for x in (0.001, 0.0012, 0.0, 0.0009)),
        ("--ceiling", "0", "--floor", "1", "--margin", "0.01"),
    ),
    "one run of a variant, and a claim": (
        "variant,loss\na,1.1\na,1.2\na,1.4\nb,1.3\nc,1.5\nc,1.7\n",
        ("--claim", "c beats a on loss", "--claim", "b matches a on loss within 0.1"),
    ),
    "fixed models": (
        "variant,example,loss\n" + "".join(f"{v},{i},{1 + (7 * i % 5) / 3 + shift}\n"
                                           for v, shift in (("a", 0), ("b", 0.01)) for i in range(9)), (),
    ),
}  # fmt: skip


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("case", UNSEEDED)
def test_no_reason_or_limitation_speaks_of_seeds_where_there_are_none(tmp_path, case):
    text, words = UNSEEDED[case]
    done = analyse(tmp_path, text, "loss", "min", "a", *words)
    assert done.returncode == 0, done.stderr
    assert "seed" not in (done.stdout + done.stderr).lower()
    assert [name for name, text in written(tmp_path, "runs").items() if "seed" in text.lower()] == []


@pytest.mark.slow
def test_nothing_is_said_of_runs_that_nobody_told(tmp_path):
    words = ("run_again.csv", "val/acc", "max", "base", "--column", "variant", "Name")
    assert analyse(tmp_path, *words, "--made-with", "data", "9f2c").returncode == 0
    texts = written(tmp_path, "run_again")
    told = " ".join(texts[name] for name in ("report.html", "report.md", "card.md", "paper/methods.md"))
    for words in ("drawn anew", "no run trains", "validation", "common initial values", "fixed in advance"):
        assert words not in told.lower()
    assert "- **Test data** not stated" in texts["report.md"]
    assert "- **Data** 9f2c" in texts["report.md"]
    assert "**Versions**" not in texts["report.md"]  # Those of whoever analysed are not those of the runs.


# Cells


@pytest.mark.slow
def test_only_pairs_with_runs_are_planned(tmp_path):
    """Each of 43 variants ran on one of three tasks."""
    rows = ["variant,task,seed,acc"]
    for i in range(43):
        rows += [f"v{i},t{i % 3},{seed},{0.5 + 0.01 * ((3 * i + 7 * seed) % 10)}" for seed in range(3)]
    for task in range(3):
        rows += [f"base,t{task},{seed},{0.5 + 0.01 * ((5 * task + 3 * seed) % 7)}" for seed in range(3)]
    claims = ("--claim", "v4 beats base on acc", "--claim", "v1 matches v4 on acc within 0.5")
    found = verdicts(analyse(tmp_path, "\n".join(rows), "acc", "max", "base", "--json", *claims))
    assert {(f"v{i}", f"t{i % 3}") for i in range(43)} == {*found}
    # M: the comparisons, and the claim that is none of them.
    assert all(row["level"] == pytest.approx(1 - 0.05 / 44) for row in found.values())
    texts = written(tmp_path, "runs")
    assert "43 comparisons and 1 claim" in texts["paper/methods.md"]
    assert "43 comparisons and 1 claim" in texts["report.md"]
    assert "missing" not in texts["report.md"]
    assert len(StudyFolder(tmp_path / "results", "runs").beside("stability.csv")) % 43 == 0

    apart = analyse(tmp_path, "\n".join(rows), "acc", "max", "base", "--claim", "v0 beats v1 on acc")
    assert (apart.returncode, apart.stderr.startswith("--claim: ")) == (2, True)


@pytest.mark.slow
def test_a_task_without_a_baseline_is_said_and_not_counted(tmp_path):
    rows = ["variant,task,seed,acc"]
    for variant, task in (("base", "t0"), ("a", "t0"), ("a", "t1"), ("b", "t1")):
        rows += [f"{variant},{task},{seed},{0.5 + 0.01 * (seed * len(variant) % 4)}" for seed in range(4)]
    done = analyse(tmp_path, "\n".join(rows), "acc", "max", "base", "--json")
    (row,) = json.loads(done.stdout)["verdicts"]
    assert (row["variant"], row["task"], row["level"]) == ("a", "t0", 0.95)
    assert "base has no runs on t1" in (tmp_path / "results/runs/report.md").read_text()
    lost = analyse(tmp_path, "\n".join(rows), "acc", "max", "b", "--where", "variant=b", "--where", "task=t0")
    assert lost.returncode == 2


# Statuses


def test_crashed_and_preempted_runs_leave_their_pairs_out(tmp_path):
    words = ("crashed.csv", "val/loss", "min", "baseline", "--column", "variant", "Name")
    found = verdicts(analyse(tmp_path, *words, "--json"))
    rope, relu = found["A2_rope"], found["D1_relu"]
    assert (rope["n"], rope["verdict"], relu["n"]) == (3, "worse", 2)
    table = pd.read_csv(CASES / "crashed.csv").pivot(index="seed", columns="Name", values="val/loss")
    kept = table.drop(index=3740)
    expected = stats.ttest_rel(kept["baseline"], kept["A2_rope"])
    assert (rope["p"], rope["diff"]) == pytest.approx(
        (expected.pvalue, (kept["baseline"] - kept["A2_rope"]).mean())
    )
    assert rope["left_out"].startswith("3 of 4 (seed 3740 was preempted); ")
    assert relu["left_out"].startswith("2 of 4 (seeds 6242 and 2026 crashed); ")
    report = (tmp_path / "results/crashed/report.md").read_text()
    assert rope["left_out"] in report
    assert "4.17" not in report


def test_a_run_of_the_same_seed_replaces_its_crashed_predecessor(tmp_path):
    words = ("val/acc", "max", "base", "--column", "variant", "Name")
    row = verdicts(analyse(tmp_path, "run_again.csv", *words, "--json"))["x"]
    assert (row["n"], row["mean_variant"], row.get("left_out")) == (3, pytest.approx(0.94), None)
    # What diverged is an outcome, which no later run undoes.
    text = (CASES / "run_again.csv").read_text().replace("crashed", "diverged")
    assert analyse(tmp_path, text, *words).returncode == 2


TEXT = "crashed crash failed FAILED killed KILLED running RUNNING preempted preempting SCHEDULED ERROR PENDING PAUSED"
LOST = [*TEXT.split(" "), "CANCELLED", "NODE_FAIL", "PREEMPTED", "aborted", "queued"]
ENDED = [
    "finished",
    "FINISHED",
    "Complete",
    "COMPLETED",
    "TERMINATED",
    "done",
    "success",
    "ok",
    "keep",
    "discard",
]


@pytest.mark.slow
@pytest.mark.parametrize("column", ["status", "State", "job"])
def test_statuses_of_trackers_and_schedulers(tmp_path, column):
    """A row a word: each crashed run leaves out its own seed, and no number beside it is read."""
    rows = [f"variant,seed,{column},acc"]
    for seed, word in enumerate([*LOST, *ENDED, "CANCELLED by 1007", "CANCELLED+"]):
        value = 0.93 + 0.001 * (seed % 7) if word in ENDED else 0.0
        rows += [f"base,{seed},finished,{0.9 + 0.001 * (seed % 5)}", f"x,{seed},{word},{value}"]
    words = ("--column", "status", "job") if column == "job" else ()
    row = verdicts(analyse(tmp_path, "\n".join(rows), "acc", "max", "base", *words, "--json"))["x"]
    assert (row["n"], row["verdict"]) == (len(ENDED), "better")
    assert row["left_out"].startswith(f"{len(ENDED)} of {len(ENDED) + len(LOST) + 2} (")


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("word", ["diverged", "OUT_OF_MEMORY", "OOM", "TIMEOUT", "finished"])
def test_a_run_lost_for_a_reason_of_its_variant_counts_with_the_floor(tmp_path, word):
    """Memory and time limit as divergence, METHODS §1; NaN of a run that finished too."""
    rows = ["variant,seed,status,acc"]
    for seed in range(8):
        rows += [f"base,{seed},finished,{0.9 + 0.001 * (seed % 5)}"]
        rows += [f"x,{seed},finished,{0.93 + 0.001 * (seed % 3)}"]
    rows[-1] = f"x,7,{word},nan"
    row = verdicts(analyse(tmp_path, "\n".join(rows), "acc", "max", "base", "--floor", "0.1", "--json"))["x"]
    assert (row["n"], row["reason"]) == (8, "unstable diverged=1")
    assert row["mean_variant"] == pytest.approx(
        (sum(0.93 + 0.001 * (seed % 3) for seed in range(7)) + 0.1) / 8
    )


@pytest.mark.slow
def test_a_blank_without_a_word_leaves_the_comparison_open(tmp_path):
    text = "variant,seed,acc\n" + "".join(f"base,{s},0.9{s}\nx,{s},0.95{s}\n" for s in range(4))
    row = verdicts(analyse(tmp_path, text.replace("x,2,0.952", "x,2,"), "acc", "max", "base", "--json"))["x"]
    assert row["reason"] == "incomplete pairs=3 missing=1"
    # A run that was pruned was given up for its result.
    pruned = text.replace("x,2,0.952", "x,2,").replace("acc\n", "acc,status\n", 1)
    pruned = re.sub(r"(?m)^((?:base|x),\d,.*)$", r"\1,done", pruned).replace("x,2,,done", "x,2,0.8,pruned")
    row = verdicts(analyse(tmp_path, pruned, "acc", "max", "base", "--json"))["x"]
    assert row["reason"] == "incomplete pairs=3 missing=1"


@pytest.mark.slow
def test_a_status_that_is_not_known_is_refused(tmp_path):
    text = "variant,seed,status,acc\nbase,0,finished,0.9\nx,0,exploded,0.9\nx,1,crashd,0.9\n"
    done = analyse(tmp_path, text, "acc", "max", "base")
    assert done.returncode == 2
    assert "runs.csv, line 3: " in done.stderr
    assert "Did you mean 'crashed'?" in done.stderr
    assert "preempted" in done.stderr
    # A state that is none of a run is another column.
    text = "variant,seed,state,acc\n" + "".join(f"{v},{s},Ohio,0.9{s}\n" for v in "ab" for s in range(3))
    assert analyse(tmp_path, text, "acc", "max", "a").returncode == 0


@pytest.mark.slow
def test_runs_by_example_of_a_crashed_run_may_lack_examples(tmp_path):
    rows = ["variant,seed,example,status,acc"]
    for variant, shift in (("base", 0), ("x", 1)):
        for seed in range(4):
            for example in range(5 if (variant, seed) != ("x", 3) else 2):
                status = "finished" if (variant, seed) != ("x", 3) else "crashed"
                rows.append(f"{variant},{seed},{example},{status},{(example + seed * 3 + shift * 2) % 5}")
    row = verdicts(analyse(tmp_path, "\n".join(rows), "acc", "max", "base", "--json"))["x"]
    assert (row["n"], row["left_out"].partition(";")[0]) == (3, "3 of 4 (seed 3 crashed)")


# Single runs


@pytest.mark.slow
def test_single_runs_have_no_verdict(tmp_path):
    loop = analyse(
        tmp_path, "kept_and_discarded.tsv", "val_bpb", "min", "3087aeb", "--column", "variant", "commit"
    )
    assert loop.returncode == 2
    assert "345ec03" in loop.stderr  # It was kept, and may be judged by running it again.
    assert "81dd182" not in loop.stderr
    assert not (tmp_path / "results").exists()
    words = ("test_loss", "min", "baseline", "--column", "variant", "experiment")
    assert analyse(tmp_path, "one_run_each.csv", *words).returncode == 2
    text = (CASES / "one_run_each.csv").read_text("utf-8-sig")
    same = text + text.splitlines()[2].replace("fewer_heads", "no_flag") + "\n"
    done = analyse(tmp_path, same, *words)
    assert "fewer_heads (runs.csv, line 3), no_flag (runs.csv, line 11)" in done.stderr


@pytest.mark.slow
def test_a_metric_that_one_method_lacks_and_another_does_not_vary(tmp_path):
    words = (
        "blank_for_one_method.csv",
        "cert_ratio",
        "max",
        "pdgnn0",
        "--column",
        "task",
        "family",
        "--json",
    )
    found = verdicts(analyse(tmp_path, *words))
    assert {row["reason"] for (variant, _), row in found.items() if variant == "plain"} == {
        "incomplete pairs=0 missing=5"
    }
    constant = (
        "blank_for_one_method.csv",
        "emp_ratio",
        "max",
        "plain",
        "--column",
        "task",
        "family",
        "--json",
    )
    found = verdicts(analyse(tmp_path, *constant))
    assert {row["reason"] for (variant, _), row in found.items() if variant == "pdgnn0"} == {"degenerate n=5"}
    assert len(found) == 8
