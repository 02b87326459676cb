"""Tables as people write them, at the first try: what is read, what is guessed, and what comes out."""

import gzip
import json
import re
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from harness import ablate_here
from scipy import stats

import ablate
from ablate.cli import main
from ablate.records.folder import StudyFolder

CASES = Path(__file__).parent / "cases"
SHAPES = CASES / "shapes"
RISING = {"diff": 0.03, "n": 3, "verdict": "better"}


def call(results, *words):
    """What a call says and returns."""
    return CliRunner().invoke(main, ["analyse", *map(str, words), "--results", str(results)])


def judged(results, *words):
    """The planned verdicts of a call by variant, and what it says of its input."""
    done = call(results, *words, "--json")
    assert done.exit_code == 0, done.output
    rows = [row for row in json.loads(done.stdout)["verdicts"] if not row["exploratory"]]
    return {row["variant"]: row for row in rows}, " ".join(done.stderr.split())


TABLES = {
    # File → further words of the call, the variant that is looked at, what is known of it, what is said.
    "com.csv": ((), {"diff": 0.035, "n": 2}, "comments, which begin with #: 1 line"),
    "euro.csv": ((), {"diff": 0.035, "n": 2}, "Commas are decimal points in acc"),
    "flat.jsonl": (("--baseline", "a"), {"diff": 0.035, "n": 2}, "Read as JSON lines: 4 runs, 2 × 2 seeds"),
    "hist.csv": ((), {"diff": 0.095, "n": 2, "verdict": "better"}, "last step of each run counts"),
    "named.csv": (("--baseline", "resnet"), {"diff": 0.04, "n": 2}, "3 × 2 seeds"),
    "nones.csv": ((), {"n": 0, "verdict": "inconclusive"}, "Taken for a missing value: None, N/A and -"),
    "pandas_index.csv": ((), RISING, "The first column has no name"),
    "percent.csv": ((), RISING | {"diff": 3.0}, "its numbers are percent"),
    "strseed.csv": ((), RISING, "2 × 3 seeds"),
    "wide.csv": (("--metric", "acc"), {"diff": 0.03, "n": 3}, "with a column a seed: 9 runs, 3 × 3 seeds"),
    "wide2.csv": (("--baseline", "base", "--metric", "acc"), {"n": 3}, "with a column a variant: 9 runs"),
}
LOOKED_AT = {"flat.jsonl": "b", "named.csv": "ours"}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_at_the_first_try(name, tmp_path):
    words, known, said = TABLES[name]
    rows, text = judged(tmp_path, SHAPES / name, *words)
    row = rows[LOOKED_AT.get(name, "x")]
    assert {key: row[key] for key in known} == pytest.approx(known)
    assert said in text


@pytest.mark.slow
def test_a_column_for_each_variant_and_metric(tmp_path):
    (tmp_path / "a.csv").write_text(
        "seed,base acc,base loss,x acc,x loss\n1,.50,9,.53,8\n2,.52,7,.56,6\n3,.51,5,.53,4\n"
    )
    rows, text = judged(tmp_path, tmp_path / "a.csv", "--baseline", "base", "--metric", "acc")
    assert (rows["x"]["diff"], rows["x"]["n"]) == (pytest.approx(0.03), 3)
    assert "base and x are variants" in text
    (tmp_path / "b.csv").write_text(
        "seed,base_acc,base_val_acc,x_acc,x_val_acc\n1,.5,.4,.6,.5\n2,.5,.4,.7,.5\n"
    )
    refused = call(tmp_path, tmp_path / "b.csv", "--baseline", "base", "--metric", "acc")
    assert (refused.exit_code, "has no column in which 'base' stands" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_a_table_that_wandb_has_exported(tmp_path):
    rows, text = judged(tmp_path, CASES / "wandb_table.csv", "--baseline", "baseline")
    assert "Read as a W&B runs export: 64 runs, 16 × 4 seeds" in text
    assert "--column variant Name" in text
    assert "--column status State" in text
    assert "--metric val/loss --direction min" in text
    table = pd.read_csv(CASES / "wandb_table.csv").pivot(index="seed", columns="Name", values="val/loss")
    paired = stats.ttest_rel(table["E2_no_residuals"], table["baseline"])
    assert rows["E2_no_residuals"]["p"] == pytest.approx(paired.pvalue)
    assert rows["E2_no_residuals"]["verdict"] == "worse"


@pytest.mark.slow
def test_the_call_that_says_it_outright_gives_the_same(tmp_path, monkeypatch):
    words = ("analyse", str(CASES / "wandb_table.csv"), "--baseline", "baseline", "--json")
    monkeypatch.setattr(sys, "argv", ["ablate", *words])  # That of this process, in which it runs.
    done = ablate_here(*words, cwd=tmp_path)
    said = re.search(r"To say outright what was guessed: ablate (.*)", done.stderr)
    assert said
    again = ablate_here(*shlex.split(said[1]), "--name", "again", cwd=tmp_path)
    assert (again.returncode, "outright" in again.stderr) == (0, False)
    numbers = [json.loads(one.stdout)["verdicts"] for one in (done, again)]
    assert numbers[0] == numbers[1]


@pytest.mark.slow
def test_a_chart_that_wandb_has_exported(tmp_path):
    """Names of runs end with their seed; the lines of minima and maxima are no runs."""
    lines = ["Step," + ",".join(f"{run} s{seed} - val/acc" for run in "ab" for seed in range(3))]
    lines[0] += ",a s0 - val/acc__MIN,a s0 - val/acc__MAX"
    lines += ["100,.1,.1,.1,.1,.1,.1,0,1", "200,.50,.51,.52,.60,.62,.61,0,1"]
    (tmp_path / "chart.csv").write_text("\n".join(lines))
    rows, text = judged(tmp_path, tmp_path / "chart.csv", "--baseline", "a")
    assert "Read as a W&B chart export: 6 runs, 2 × 3 seeds" in text
    assert rows["b"]["diff"] == pytest.approx(0.1)
    single = call(tmp_path, CASES / "wandb_chart.csv", "--baseline", "run-a")
    assert (single.exit_code, "two or more runs" in single.stderr) == (2, True)


def test_means_with_deviations_are_compared_by_welch(tmp_path):
    rows, text = judged(tmp_path, SHAPES / "pm.csv", "--baseline", "base")
    expected = stats.ttest_ind_from_stats(94.1, 0.6, 5, 91.0, 0.4, 5, equal_var=False)
    assert rows["x"]["p"] == pytest.approx(expected.pvalue)
    assert rows["x"]["diff"] == pytest.approx(3.1)
    assert "if it is a standard error" in text
    # Nothing shows runs that nobody has seen.
    folder = StudyFolder(tmp_path, "pm").path
    assert [path.name for path in folder.glob("figures/seeds*")] == []
    assert "Stability" not in (folder / "report.html").read_text()
    (tmp_path / "pm.csv").write_text("method,acc\nbase,91.0 ± 0.4\nx,94.1 (0.6)\n")
    done = call(tmp_path, tmp_path / "pm.csv", "--baseline", "base")
    assert (done.exit_code, "column `n`" in done.stderr) == (2, True)


@pytest.mark.slow
def test_nested_keys_are_joined_by_dots(tmp_path):
    rows, _ = judged(tmp_path, CASES / "nested.jsonl", "--metric", "test.f1", "--baseline", "m1")
    runs = [json.loads(line) for line in (CASES / "nested.jsonl").read_text().splitlines()]
    values = {(run["variant"], run["seed"]): run["test"]["f1"] for run in runs}
    shared = [seed for name, seed in values if name == "m2" and ("m1", seed) in values]
    differences = [values["m2", seed] - values["m1", seed] for seed in shared]
    assert rows["m2"]["diff"] == pytest.approx(sum(differences) / len(shared))
    assert rows["m2"]["n"] == len(shared)


STEPS = "run,seed,step,loss,acc\n" + "".join(
    f"{run},{seed},{step},{loss + seed / 100},{acc}\n"
    for run, values in {
        "base": ((3, 0.5), (2, 0.7), (2.5, 0.6)),
        "x": ((4, 0.3), (1, 0.4), (1.5, 0.9)),
    }.items()
    for seed in range(3)
    for step, (loss, acc) in enumerate(values)
)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("at", "difference"),
    [("last", -1.0), ("step 1", -1.0), ("step 0", 1.0), ("best acc", -0.5), ("best loss", -1.0)],
)
def test_the_step_that_counts(at, difference, tmp_path):
    (tmp_path / "steps.csv").write_text(STEPS)
    rows, _ = judged(tmp_path, tmp_path / "steps.csv", "--baseline", "base", "--metric", "loss", "--at", at)
    # Differences are turned so that above 0 is better.
    assert abs(rows["x"]["mean_variant"] - rows["x"]["mean_baseline"] - difference) < 1e-9


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--at", "step 9"), "0, 1, 2"),
        (("--at", "first"), "`step N`"),
        (("--at", "best f2"), "names no column"),
        (("--where", "step > 5"), "match no row"),
        (("--where", "stepp == 1 and seed == 0"), "query of pandas"),
        (("--seed", "_s(\\d+)"), "number in the name"),
        (("--seed", "("), "neither a column nor a pattern"),
        (("--variant", "runn"), "Did you mean 'run'?"),
        (("--direction", "min", "--metric", "los"), "Did you mean 'loss'?"),
    ],
)
def test_what_a_call_gets_wrong_is_said_at_once(words, said, tmp_path):
    (tmp_path / "steps.csv").write_text(STEPS)
    metric = () if "--metric" in words else ("--metric", "loss")
    done = call(tmp_path, tmp_path / "steps.csv", "--baseline", "base", *metric, *words)
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_a_query_of_pandas_keeps_rows(tmp_path):
    (tmp_path / "steps.csv").write_text(STEPS)
    words = ("--baseline", "base", "--metric", "loss", "--where", "step < 2 and seed in [0, 2]")
    rows, text = judged(tmp_path, tmp_path / "steps.csv", *words)
    assert rows["x"]["n"] == 2
    assert "Of 18 rows, the 8 " in text


@pytest.mark.slow
def test_all_pairs_are_compared(tmp_path):
    words = ("--compare", "all_pairs", "--metric", "acc")
    done = call(tmp_path, SHAPES / "wide.csv", *words, "--json")
    assert done.exit_code == 0, done.output
    rows = [row for row in json.loads(done.stdout)["verdicts"] if not row["exploratory"]]
    assert len({frozenset((row["variant"], row["baseline"])) for row in rows}) == 3
    assert all(row["level"] == pytest.approx(1 - 0.05 / 3) for row in rows)


def test_a_pattern_finds_the_seeds_in_names(tmp_path):
    lines = [
        "model,acc",
        *(
            f"{name}@{seed},{0.1 * seed + shift}"
            for name, shift in (("a", 0), ("b", 0.5))
            for seed in range(3)
        ),
    ]
    (tmp_path / "names.csv").write_text("\n".join(lines))
    rows, _ = judged(tmp_path, tmp_path / "names.csv", "--baseline", "a", "--seed", "@([0-9]+)")
    assert (rows["b"]["n"], rows["b"]["diff"]) == (3, pytest.approx(0.5))


@pytest.mark.parametrize("name", ["q.tsv", "../kept_and_discarded.tsv"])
def test_a_stream_of_single_runs_says_what_to_run_again(name, tmp_path):
    done = call(tmp_path, SHAPES / name)
    assert done.exit_code == 2
    assert "First to run again: " in done.stderr
    assert not list(tmp_path.iterdir())


LINES = {
    "steps of single runs": (
        "variant,step,acc\n" + "".join(f"{v},{i},{0.1 * i}\n" for v, n in (("base", 20), ("x", 18)) for i in range(n)),
        (),
        "two or more runs of each variant",
    ),
    "percent beside fractions": ("variant,seed,acc\nbase,0,91.5%\nx,0,0.917\n", (), "with and without %"),
    "a query of two conditions": (STEPS, ("--metric", "loss", "--where", 'run == "x" and step in [7]'), "match no row"),
    "a step that a run lacks": (
        STEPS + "x,3,7,1,1\n", ("--metric", "loss", "--at", "step 7"), "must be a step of every run",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LINES)
def test_what_looks_like_runs_and_is_none_is_refused(case, tmp_path):
    text, words, said = LINES[case]
    (tmp_path / "runs.csv").write_text(text)
    done = call(tmp_path, tmp_path / "runs.csv", "--baseline", "base", *words)
    assert (done.exit_code, said in done.stderr) == (2, True), done.output


@pytest.mark.slow
def test_a_setting_is_never_the_judged_metric(tmp_path):
    lines = [
        f"{name},{weight},{seed},{loss + seed}"
        for name, weight, loss in (("a", 1, 2), ("b", 2, 3))
        for seed in range(3)
    ]
    (tmp_path / "runs.csv").write_text("\n".join(["Name,config/val_loss_weight,seed,loss", *lines]))
    rows, text = judged(tmp_path, tmp_path / "runs.csv", "--baseline", "a")
    assert "--metric loss" in text
    assert rows["b"]["n"] == 3


@pytest.mark.slow
def test_a_claim_names_a_variant_that_is_called_baseline(tmp_path):
    words = ("--baseline", "resnet", "--claim", "resnet beats baseline on acc", "--json")
    done = call(tmp_path, SHAPES / "named.csv", *words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["claims"][0]["verdict"] in ("inconclusive", "refuted")


BASE = (0.9012, 0.9124, 0.8971)
OURS = (0.9214, 0.9253, 0.9191)
BOTH = {"base": BASE, "ours": OURS}
REWARDS = {"base": (980, 1010, 955), "ours": (1040, 1075, 1012)}
"""Some have a mark of thousands, and some have none."""


def lines_of(row, values):
    """A line of text for each run."""
    return [row.format(v=name, s=seed, x=x) for name, of in values.items() for seed, x in enumerate(of)]


def table(header, row, values=BOTH, *, end="\n"):
    """A table as text, a row a run."""
    return end.join([header, *lines_of(row, values)]) + end


PUBLISHED = {
    # Name → file, its text, further words of the call, the values of the runs, what is said.
    "thousands": ("a.csv", table("model,seed,reward", '{v},{s},"{x:,}"', REWARDS), REWARDS, "Marks of thous"),
    "points mark thousands": (
        "a.csv",
        table("model;seed;reward;acc", "{v};{s};{x:,};0,9{s}", REWARDS).replace("1,0", "1.0"),
        REWARDS,
        "Marks of thousands were left out of reward",
    ),
    "thousands beside decimal points": (
        "a.tsv",
        table("model\tseed\treward\tloss", "{v}\t{s}\t{x:,}\t0.5{s}", REWARDS),
        REWARDS,
        "Marks of thousands",
    ),
    "thousands beside whole numbers": (
        "a.csv",
        table("model;seed;reward", "{v};{s};{x:,}", REWARDS).replace(",", "."),
        REWARDS,
        "reward are taken for marks of thousands",
    ),
    "markdown": (
        "README.md",
        "# Runs\nOurs wins.\n\n" + table("| Method | Seed | Acc |\n|:--|-:|---|", "| **{v}** | {s} | {x} |"),
        BOTH,
        "2 × 3 seeds",
    ),
    "joined files": (
        "a.csv",
        "".join(table("model,seed,acc", "{v},{s},{x}", {name: of}) for name, of in BOTH.items()),
        BOTH,
        "repeated headers: 1 line",
    ),
    "excel": ("a.csv", "sep=;\r\n" + table("model;seed;acc", "{v};{s};{x}", end="\r\n"), BOTH, "2 × 3 seeds"),
    "printed": (
        "a.txt",
        table("  model seed acc", "0  {v}  {s}   {x}"),
        BOTH,
        "The first column has no name",
    ),
}


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("shape", PUBLISHED.values(), ids=PUBLISHED)
def test_a_shape_that_people_publish_is_read_at_the_first_try(shape, tmp_path):
    name, text, values, said = shape
    (tmp_path / name).write_text(text, newline="")
    metric = ("--metric", "reward") if values is REWARDS else ()
    rows, output = judged(tmp_path, tmp_path / name, "--baseline", "base", *metric)
    expected = stats.ttest_rel(values["ours"], values["base"])
    assert (rows["ours"]["n"], rows["ours"]["p"]) == (3, pytest.approx(expected.pvalue))
    assert said in output


@pytest.mark.slow
def test_a_compressed_table_is_read(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(table("model,seed,acc", "{v},{s},{x}").encode()))
    assert judged(tmp_path, path, "--baseline", "base")[0]["ours"]["n"] == 3
    path.write_bytes(path.read_bytes()[:40])
    assert call(tmp_path, path, "--baseline", "base").exit_code == 2


@pytest.mark.parametrize(
    ("content", "words", "said"),
    [
        (
            table(
                "model\tseed\treward",
                "{v}\t{s}\t1,{x}",
                {"base": (980, 910, 955), "ours": (940, 975, 912)},
            ),
            ("--metric", "reward"),
            "mark of thousands",
        ),
        (",acc,\nseed,base,ours\n0,1,2\n", (), "several lines of headers"),
        ("|a|b|\n|-|-|\n|1|2|\n\n" * 2, (), "one table of Markdown"),
        ("PK\x03\x04", (), "spreadsheet"),
        ("\x80\x04", (), "pickle"),
    ],
)
def test_what_is_unclear_is_refused(content, words, said, tmp_path):
    (tmp_path / "published").write_bytes(content.encode("latin-1"))
    done = call(tmp_path / "out", tmp_path / "published", "--baseline", "base", *words)
    assert (done.exit_code, said in " ".join(done.stderr.split())) == (2, True), done.stderr


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(("base", "other"), [("50%", "100%"), ("0,1", "0,01"), ("none", "0.1")])
def test_names_that_look_like_numbers_stay_names(base, other, tmp_path):
    text = table("keep;seed;acc", "{v};{s};{x}", {base: BASE, other: OURS})
    (tmp_path / "names.csv").write_text(text)
    rows, _ = judged(tmp_path, tmp_path / "names.csv", "--baseline", base, "--metric", "acc")
    assert [*rows] == [other]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("cell", ["$91.0_{\\pm 0.4}$", "$\\mathbf{91.0} \\pm 0.4$", "**91.0 ± 0.4**"])
def test_means_as_latex_and_markdown_write_them(cell, tmp_path):
    (tmp_path / "means.csv").write_text(f"method,acc,n\nbase,{cell},5\nx,94.1 ± 0.6,5\n")
    rows, _ = judged(tmp_path, tmp_path / "means.csv", "--baseline", "base")
    expected = stats.ttest_ind_from_stats(94.1, 0.6, 5, 91.0, 0.4, 5, equal_var=False)
    assert rows["x"]["p"] == pytest.approx(expected.pvalue)


def test_an_error_of_the_last_digits_is_not_taken_for_a_deviation(tmp_path):
    (tmp_path / "means.csv").write_text("method,acc,n\nbase,91.2(4),5\nx,92.9(3),5\n")
    done = call(tmp_path, tmp_path / "means.csv", "--baseline", "base")
    assert (done.exit_code, "last digits" in done.stderr) == (2, True)


@pytest.mark.slow
def test_how_long_a_trial_took_is_no_setting(tmp_path):
    rows = table("number,value,duration,params_model,params_seed", "{s},{x},0 days 00:0{s}:00.5,{v},{s}")
    rows = rows.replace("0 days 00:02:00.5", "0 days 00:01:00.5")
    (tmp_path / "trials.csv").write_text(rows)
    words = ("--baseline", "base", "--metric", "value", "--direction", "max")
    assert judged(tmp_path, tmp_path / "trials.csv", *words)[0]["ours"]["n"] == 3


def test_numbers_at_the_ends_of_names_are_seeds_where_the_call_says_so(tmp_path):
    (tmp_path / "names.csv").write_text(table("exp,acc", "{v}_{s},{x}"))
    words = (tmp_path / "names.csv", "--baseline", "base")
    done = call(tmp_path, *words)
    said = re.search(r"--seed '(.*?)'", done.stderr)
    assert done.exit_code == 2
    assert said
    assert judged(tmp_path, *words, "--seed", said[1])[0]["ours"]["n"] == 3


SEEDED = {
    name: {str(seed): {"acc": x, "loss": 1 - x} for seed, x in enumerate(of)} for name, of in BOTH.items()
}
COLUMNS = {"model": ["base"] * 3 + ["ours"] * 3, "seed": [0, 1, 2] * 2, "acc": [*BASE, *OURS]}
DOCUMENTS = {
    "variants, seeds, metrics": (SEEDED, ()),
    "variants, seeds": ({name: {f"seed_{s}": x for s, x in enumerate(of)} for name, of in BOTH.items()}, ()),
    "variants, runs": (
        {name: [{"seed": s, "acc": x} for s, x in enumerate(of)] for name, of in BOTH.items()},
        (),
    ),
    "variants, lists": (BOTH, ("--seed", "place")),
    "variants, metrics, lists": ({name: {"acc": of} for name, of in BOTH.items()}, ("--seed", "place")),
    "variants, lists beside others": (
        {name: {"acc": of, "history": [*range(9)], "params": 7} for name, of in BOTH.items()},
        ("--seed", "place"),
    ),
    "variants, seeds, histories": (
        {name: {s: {"acc": x, "history": [1, 2]} for s, x in enumerate(of)} for name, of in BOTH.items()},
        (),
    ),
    "metrics, variants, lists": ({"acc": BOTH, "loss": BOTH}, ("--seed", "place")),
    "columns": (COLUMNS, ()),
    "columns of pandas": ({name: dict(enumerate(cells)) for name, cells in COLUMNS.items()}, ()),
    "rows of pandas": ({"columns": [*COLUMNS], "data": [*zip(*COLUMNS.values(), strict=True)]}, ()),
}


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("shape", DOCUMENTS.values(), ids=DOCUMENTS)
def test_json_documents_as_people_write_them(shape, tmp_path):
    document, words = shape
    (tmp_path / "a.json").write_text(json.dumps(document))
    rows, _ = judged(tmp_path, tmp_path / "a.json", "--baseline", "base", "--metric", "acc", *words)
    assert (rows["ours"]["n"], rows["ours"]["p"]) == (3, pytest.approx(stats.ttest_rel(OURS, BASE).pvalue))


@pytest.mark.slow
def test_places_in_lists_are_seeds_where_the_call_says_so(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(BOTH))
    words = (tmp_path / "a.json", "--baseline", "base", "--metric", "acc")
    rows, said = judged(tmp_path, *words)
    assert rows["ours"]["p"] == pytest.approx(stats.ttest_ind(OURS, BASE, equal_var=False).pvalue)
    assert "--seed place pairs those at one place" in said
    rows, _ = judged(tmp_path, *words, "--seed", "place")
    assert rows["ours"]["p"] == pytest.approx(stats.ttest_rel(OURS, BASE).pvalue)


WIDE = {
    "a row a metric": (
        table("model,seed,metric,value", "{v},{s},acc,{x}\n{v},{s},loss,0.{s}"),
        "acc",
        "a row for each metric",
    ),
    "a column for each metric and seed": (
        "model,"
        + ",".join(f"{metric}_seed{seed}" for metric in ("acc", "loss") for seed in range(3))
        + "\nbase,{},{},{},1,2,3\nours,{},{},{},4,5,6\n".format(*BASE, *OURS),
        "acc",
        "acc and loss for each seed",
    ),
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("shape", WIDE.values(), ids=WIDE)
def test_metrics_in_rows_and_in_columns(shape, tmp_path):
    text, metric, said = shape
    (tmp_path / "a.csv").write_text(text)
    rows, output = judged(tmp_path, tmp_path / "a.csv", "--baseline", "base", "--metric", metric)
    assert (rows["ours"]["n"], rows["ours"]["p"]) == (3, pytest.approx(stats.ttest_rel(OURS, BASE).pvalue))
    assert said in output


def test_folds_of_a_search_are_folds(tmp_path):
    header = (
        "param_clf,split0_test_score,split1_test_score,split2_test_score,mean_test_score,rank_test_score\n"
    )
    cells = "base,{},{},{},0.9,2\nours,{},{},{},0.92,1\n".format(*BASE, *OURS)
    (tmp_path / "cv.csv").write_text(header + cells)
    words = ("--baseline", "base", "--metric", "test_score", "--direction", "max")
    rows, said = judged(tmp_path, tmp_path / "cv.csv", *words)
    assert "told apart by fold, as the folds of one cross-validation" in said
    assert rows["ours"]["n"] == 3


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("kind", ["variants", "variants with epochs", "seeds", "tasks"])
def test_a_folder_of_tables(kind, tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    for name, of in BOTH.items():
        for seed, x in enumerate(of):
            line = {
                "variants": (f"{name}.csv", "seed,acc\n", f"{seed},{x}\n"),
                "variants with epochs": (f"{name}.csv", "seed,epoch,acc\n", f"{seed},1,0\n{seed},2,{x}\n"),
                "seeds": (f"acc_seed{seed}.csv", "model,acc\n", f"{name},{x}\n"),
                "tasks": ("mnist.csv", "model,seed,acc\n", f"{name},{seed},{x}\n"),
            }[kind]
            path = folder / line[0]
            path.write_text((path.read_text() if path.exists() else line[1]) + line[2])
    if kind == "tasks":
        (folder / "svhn.csv").write_text((folder / "mnist.csv").read_text())
    rows, said = judged(tmp_path / "out", folder, "--baseline", "base", "--metric", "acc")
    assert "a folder of tables" in said
    assert (rows["ours"]["n"], rows["ours"]["p"]) == (3, pytest.approx(stats.ttest_rel(OURS, BASE).pvalue))
    assert rows["ours"]["task"] == ("svhn" if kind == "tasks" else "runs")


def test_rows_of_a_file_that_may_be_steps_are_no_runs(tmp_path):
    for name, of in BOTH.items():
        (tmp_path / f"{name}.csv").write_text("acc\n" + "".join(f"{x}\n" for x in of))
    words = (tmp_path, "--baseline", "base", "--metric", "acc")
    done = call(tmp_path / "out", *words)
    assert (done.exit_code, "--replicates" in done.stderr) == (2, True)
    assert judged(tmp_path / "out", *words, "--replicates")[0]["ours"]["n"] == 3


def test_a_metric_with_the_name_of_a_column_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("metric,value,seed,model\nacc,1,0,base\nmodel,2,0,base\nacc,2,1,ours\n")
    done = call(tmp_path / "out", tmp_path / "a.csv", "--baseline", "base", "--metric", "acc")
    assert (done.exit_code, "names of others" in " ".join(done.stderr.split())) == (2, True)


def test_a_pivot_with_two_levels_of_columns():
    runs = pd.DataFrame(COLUMNS).assign(loss=0.5)
    pivot = runs.pivot(index="seed", columns="model", values=["acc", "loss"])
    (comparison,) = ablate.analyse(pivot, baseline="base", metric="acc").comparisons.to_dict("records")
    assert (comparison["variant"], comparison["n"]) == ("ours", 3)
    assert comparison["p"] == pytest.approx(stats.ttest_rel(OURS, BASE).pvalue)


def test_blank_cells_are_no_names_where_the_call_names_no_baseline(tmp_path):
    rows = "base,0,90%\nbase,1,91%\nbase,2,\nx,0,92%\nx,1,94%\nx,2,95%\n"
    (tmp_path / "a.csv").write_text("model,seed,acc\n" + rows)
    assert judged(tmp_path, tmp_path / "a.csv")[0]["x"]["diff"] == pytest.approx(2.5)


def test_a_run_of_json_without_the_metric_has_failed(tmp_path):
    document = {name: [{"seed": s, "acc": x} for s, x in enumerate(of)] for name, of in BOTH.items()}
    document["ours"].append({"seed": 3, "loss": 1})
    (tmp_path / "a.json").write_text(json.dumps(document))
    _, said = judged(tmp_path, tmp_path / "a.json", "--baseline", "base", "--metric", "acc")
    assert "Read as JSON: 7 runs" in said


TWICE = {
    # File → its text: two values of which one would hide the other.
    "a heading of a chart": ("a.csv", "Step,relu - acc,relu - acc,x - acc\n1,.1,.2,.3\n"),
    "a heading of a chart that pandas has numbered": ("a.csv", "Step,relu - acc,relu - acc.1\n1,.1,.2\n"),
    "a metric called as the step of a chart": ("a.csv", "Step,relu - step,x - step\n1,.1,.2\n"),
    "a column": ("a.csv", "variant,acc,acc\nrelu,.1,.2\n"),
    "a column for each metric and seed": ("a.csv", "model,acc_seed0,acc-s0,acc_seed1\nrelu,.1,.2,.3\n"),
    "a key": ("a.json", '[{"variant": "relu", "acc": 0.1, "acc": 0.2}]'),
    "a key below another": ("a.json", '{"relu": {"seed0": {"acc": 0.1}, "seed0": {"acc": 0.2}}, "x": {}}'),
    "a key of JSON lines": ("a.jsonl", '{"variant": "relu", "acc": 1}\n{"variant": "x", "acc": 1, "acc": 2}'),
    "a dotted key": ("a.json", '[{"variant": "relu", "m.acc": 0.1, "m": {"acc": 0.2}}]'),
    "a seed of two spellings": (
        "a.json",
        '{"relu": {"s1": {"acc": 0.1}, "seed_1": {"acc": 0.2}}, "x": {"s1": {"acc": 0.1}}}',
    ),
    "a seed beside its name": (
        "a.json",
        '{"relu": {"s1": {"acc": 0.1, "seed": 7}}, "x": {"s1": {"acc": 0.1, "seed": 7}}}',
    ),
    "a column as pandas writes them": (
        "a.json",
        '{"columns": ["variant", "acc", "acc"], "data": [["relu", 0.1, 0.2]]}',
    ),
    "results of lm-eval": (
        "results_1.json",
        '{"results": {"arc": {"acc": 0.1, "acc": 0.2}}, "versions": {"arc": 1}}',
    ),
}


@pytest.mark.parametrize("case", TWICE)
def test_two_values_of_one_name_are_refused(case, tmp_path):
    name, text = TWICE[case]
    (tmp_path / name).write_text(text)
    done = call(
        tmp_path / "out", tmp_path / name, "--baseline", "relu", "--metric", "acc", "--direction", "max"
    )
    said = " ".join(done.output.split())
    assert done.exit_code == 2
    assert re.search("two values have the name|none twice|two runs of one name|names of others", said), said


def test_what_stands_beside_the_list_of_runs_is_named(tmp_path):
    runs = [{"model": name, "seed": s, "acc": x} for name, of in BOTH.items() for s, x in enumerate(of)]
    (tmp_path / "a.json").write_text(json.dumps({"runs": runs, "late": {"acc": 1}, "date": "today"}))
    _, said = judged(tmp_path / "out", tmp_path / "a.json", "--baseline", "base", "--metric", "acc")
    assert "Passed over beside the list of runs: late" in said


@pytest.mark.slow
def test_a_chart_has_the_last_measured_value_of_each_run_and_seeds_of_names_part_none(tmp_path):
    """Two runs whose names differ by more than their seed are no steps of one."""
    lines = [
        "Step,a_s0 - loss,a_s0 - acc,a-s0 - acc,b_s0 - acc,b_s1 - acc",
        "1,2,.5,.6,.7,.8",
        "2,1,,,.71,.81",
    ]
    (tmp_path / "chart.csv").write_text("\n".join(lines))
    words = ("--baseline", "a", "--metric", "acc", "--direction", "max")
    done = call(tmp_path / "out", tmp_path / "chart.csv", *words)
    assert (done.exit_code, "are the same run" in " ".join(done.output.split())) == (2, True)
    (tmp_path / "chart.csv").write_text("\n".join(lines).replace("a-s0", "a_s1"))
    rows, said = judged(tmp_path / "out", tmp_path / "chart.csv", *words)
    assert rows["b"]["mean_baseline"] == pytest.approx(0.55)
    assert "acc has no value at the step that counts in 1 of 4 runs" in said
