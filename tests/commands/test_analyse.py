"""`ablate analyse`: runs that exist, from files of all kinds, through the command line."""

import json
import math
import os
import shutil

import numpy as np
import pytest
from harness import ablate_here, ablate_without
from scipy import stats
from statsmodels.stats.tests.test_tost import clinic

from ablate.core.reason import Reason
from ablate.records.folder import StudyFolder
from ablate.runs.option_values import MADE_WITH

LOSS = ["--baseline", "base", "--metric", "loss", "--direction", "min"]
RUNS = "variant,seed,loss\n" + "".join(
    f"{name},{seed},{3.2 + shift + 0.001 * seed + 0.0003 * ((7 * seed + 31 * len(name)) % 5):.5f}\n"
    for name, shift in (("base", 0.0), ("wide", -0.02), ("same", 0.0001))
    for seed in range(5)
)


def analyse(folder, text, *words, name="runs.csv", call=LOSS):
    """Analyses a text; words of `call` whose options `words` has, too, are left out."""
    call = list(call)
    given = {word for word in words if word.startswith("--")} - {"--claim", "--also"}
    for option in given & {*call}:
        at = call.index(option)
        del call[at : at + 2]
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return ablate_here("analyse", name, *call, *words, cwd=folder)


def rows(folder, name="runs"):
    return {row["variant"]: row for row in StudyFolder(folder / "results", name).comparisons()}


@pytest.mark.slow
def test_runs_are_judged_and_reported_without_torch(tmp_path):
    (tmp_path / "runs.csv").write_text(RUNS)
    words = (*LOSS, "--margin", "0.002", "--claim", "wide beats base on loss by 0.01", "--strict", "--json")
    done = ablate_without({"torch", "mlflow", "optuna"}, "analyse", "runs.csv", *words, cwd=tmp_path)
    found = json.loads(done.stdout)
    verdicts = {row["variant"]: row["verdict"] for row in found["verdicts"]}
    assert verdicts == {"wide": "better", "same": "equivalent"}
    assert [claim["verdict"] for claim in found["claims"]] == ["supported"]
    card = (tmp_path / "results/runs/card.md").read_text()
    assert card.startswith("### ")
    assert "| wide | ▲ better |" in card
    assert "wide: paired with base by seed (5 pairs, correlation" in card


@pytest.mark.slow
def test_a_call_again_writes_its_claims_once_and_another_call_has_its_own(tmp_path):
    for _ in range(2):
        analyse(tmp_path, RUNS, "--claim", "wide beats base on loss")
    refuted = analyse(tmp_path, RUNS, "--claim", "base beats wide on loss", "--gate")
    assert refuted.returncode == 1
    reports = StudyFolder.all(tmp_path / "results")
    assert [len(report.claims()) for report in reports] == [1, 1]


@pytest.mark.slow
def test_reference_values_of_a_paired_t_test(tmp_path):
    """Of METHODS §9, on var 1 of `clinic`."""
    sides = {"other": clinic[:15, 2], "base": clinic[15:, 2]}
    lines = [f"{name},{seed},{value}" for name, of in sides.items() for seed, value in enumerate(of)]
    words = (
        "--direction",
        "max",
        "--margin",
        "0.6",
        "--claim",
        "other matches base on loss within 0.6",
        "--strict",
    )
    assert analyse(tmp_path, "\n".join(["variant,seed,loss", *lines]), *words).returncode == 0
    row = rows(tmp_path)["other"]
    numbers = [float(row[name]) for name in ("diff", "p", "ci_low", "ci_high", "level")]
    assert numbers == pytest.approx([0.1646667, 0.2451999, -0.1264911, 0.4558245, 0.95], abs=1e-7)
    assert (row["n"], row["verdict"]) == ("15", "equivalent")


@pytest.mark.slow
def test_noise_is_kept_behind_a_link_and_over_nothing_that_it_has_not_written(tmp_path):
    base = "variant,loss\nbase,1.1\nbase,1.2\nbase,1.4\n"
    made = [word for name in MADE_WITH for word in ("--made-with", name, "v")]

    def code(file):
        return analyse(tmp_path, base, *made, "--keep-noise", file).returncode

    (tmp_path / "link.json").symlink_to("noise.json")
    assert [code("link.json"), code("link.json"), code("noise.json")] == [0, 0, 0]
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "noise.json").read_text())["noise"]["runs"]["n"] == 3
    (tmp_path / "thesis.tex").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    for name in ("thesis.tex", "pipe", os.devnull):
        assert code(name) == 2
    assert (tmp_path / "thesis.tex").read_text() == "mine"
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.slow
def test_known_noise_judges_single_runs_and_is_refused_where_something_changed(tmp_path):
    kept = [3.2791, 3.2803, 3.2785, 3.2810, 3.2799]
    base = "variant,loss\n" + "".join(f"base,{value}\n" for value in kept)

    def made(**changed):
        of = {"evaluation": "e", "data": "d", "machine": "h100", "commit": "abc"} | changed
        return [word for item in of.items() for word in ("--made-with", *item)]

    assert analyse(tmp_path, base, *made(), "--keep-noise", "noise.json").returncode == 0
    found = json.loads((tmp_path / "noise.json").read_text())
    noise = found["noise"]["runs"]
    assert (noise["n"], noise["values"], found["made_with"]["commit"]) == (5, kept, "abc")
    assert noise["sd"] == pytest.approx(np.std(kept, ddof=1))

    def judge(**changed):
        words = ("--known-noise", "noise.json", *made(commit="def", **changed))
        return analyse(tmp_path, "variant,loss\nnew,3.27\n", *words, name="one.csv")

    assert judge().returncode == 0
    row, scale = rows(tmp_path, "one")["new"], np.std(kept, ddof=1) * (1 + 1 / 5) ** 0.5
    difference = np.mean(kept) - 3.27
    low, high = stats.t.interval(0.95, 4, difference, scale)
    assert [float(row[name]) for name in ("diff", "ci_low", "ci_high")] == pytest.approx(
        [difference, low, high]
    )
    assert float(row["p"]) == pytest.approx(2 * stats.t.sf(difference / scale, 4))
    refused = judge(data="d2", machine="a100")
    assert refused.returncode == 2
    assert "{data: d2, machine: a100}; allowed: {data: d, machine: h100}" in refused.stderr
    older = json.dumps({name: value for name, value in found.items() if name != "format"})
    wrong = [{"values": [*kept[:4], value]} for value in (None, "3.28", math.nan, 3.5, 10**400, True)]
    wrong += [{"values": kept[:4]}, {"values": []}, {"values": 3.28}, {"n": 4}, {"n": "5"}, {"sd": 0.1}]
    texts = ["", "[]", "[" * 100_000, '{"baseline": "base"}', older.replace("{", '{"other": 1, ', 1)]
    texts += [json.dumps({**found, "noise": {"runs": noise | fields}}) for fields in wrong]
    texts += [json.dumps({**found, "format": 2}), json.dumps({**found, "noise": {}})]
    for text in texts:
        (tmp_path / "noise.json").write_text(text)
        done = judge()
        assert (done.returncode, done.stderr.startswith("noise.json: ")) == (2, True), (text, done.stderr)
        assert "--keep-noise" in done.stderr
    (tmp_path / "noise.json").write_text(older)
    assert judge().returncode == 0


@pytest.mark.slow
def test_the_same_runs_under_two_names_are_named(tmp_path):
    values = np.random.default_rng(1).normal(3.28, 0.002, 8).tolist()
    runs = [f"{'base' if seed < 4 else 'b'},{seed},{value}" for seed, value in enumerate(values)]
    text = "\n".join(["variant,seed,loss", *runs, f"c,8,{values[2] + 1e-12}", f"c,9,{values[0] + 1e-3}"])
    done = analyse(tmp_path, text)
    assert "The same numbers: base seed 2, c seed 8." in done.stdout
    assert "base seed 2, c seed 8" in (tmp_path / "results/runs/report.html").read_text()
    # With four decimals some are alike by chance.
    others = np.random.default_rng(2).normal(3.28, 0.002, (16, 2))
    rows = [f"base,{seed},{base:.4f}\nb,{seed},{other:.4f}" for seed, (base, other) in enumerate(others)]
    rounded = "\n".join(rows)
    assert len({f"{x:.4f}" for x in others.flat}) < others.size
    assert "The same numbers" not in analyse(tmp_path, "variant,seed,loss\n" + rounded).stdout


@pytest.mark.slow
def test_samples_of_lm_eval_are_paired_by_document(tmp_path):
    rng = np.random.default_rng(0)
    hard = rng.uniform(-0.3, 0.3, 120)
    for model, share in (("a__small", 0.5), ("a__big", 0.7)):
        folder = tmp_path / "out" / model
        folder.mkdir(parents=True)
        for task, metric, kind in (("arc", "acc", "none"), ("gsm8k", "exact_match", "strict-match")):
            samples = [
                {
                    "doc_id": i,
                    "doc": {"page": i // 2},
                    "filter": kind,
                    metric: float(rng.random() < share + hard[i]),
                }
                for i in range(120)
            ]
            text = "".join(json.dumps(sample) + "\n" for sample in samples)
            (folder / f"samples_{task}_2025-01-02T10-11-12.345.jsonl").write_text(text)
    words = ("--baseline", "a__small", "--direction", "max", "--metric")
    for metric, more, n in (("acc", (), "120"), ("exact_match", ("--column", "source", "doc.page"), "120")):
        done = ablate_here("analyse", "out", *words, metric, *more, "--name", metric, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        row = rows(tmp_path, metric)["a__big"]
        assert (row["n"], row["verdict"]) == (n, "better")
    assert row["task"] == "gsm8k,strict-match"
    # The folder has the sources of the documents.
    assert ablate_here("report", "exact_match", cwd=tmp_path).returncode == 0
    assert rows(tmp_path, "exact_match")["a__big"] == row
    assert "fixed models" in (tmp_path / "results/exact_match/report.md").read_text()
    again = tmp_path / "out/a__big/samples_arc_2025-02-02T10-11-12.345.jsonl"
    shutil.copy(next(tmp_path.glob("out/a__big/samples_arc*")), again)
    done = ablate_here("analyse", "out", *words, "acc", cwd=tmp_path)
    assert (done.returncode, f"{again.relative_to(tmp_path)}, line 1 " in done.stderr) == (2, True)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("sizes", "reason"), [([40], "few"), ([140, *[5] * 12], "examples")], ids=["one source", "a large source"]
)
def test_seeds_on_documents_of_one_large_source_find_nothing_falsely(tmp_path, sizes, reason):
    rng = np.random.default_rng(0)
    sources = np.repeat(np.arange(len(sizes)), sizes)
    lines = ["variant,seed,example,page,acc"]
    for name, shift in (("base", 0.0), ("wide", 0.2)):
        effects = (shift + 0.02 * rng.normal(size=len(sizes)))[sources]
        effects[sources > 0] = 0.0
        for seed in range(4):
            values = 0.5 + effects + 0.02 * rng.normal(size=len(sources))
            cells = enumerate(zip(sources, values, strict=True))
            lines += [f"{name},{seed},{example},{page},{value:.4f}" for example, (page, value) in cells]
    call = ["--baseline", "base", "--metric", "acc", "--direction", "max", "--column", "source", "page"]
    done = analyse(tmp_path, "\n".join(lines) + "\n", call=call)
    assert done.returncode == 0, done.stderr
    row = rows(tmp_path)["wide"]
    assert (row["verdict"], Reason.parse(row["reason"]).code) == ("inconclusive", reason)


@pytest.mark.slow
def test_an_experiment_of_mlflow_is_judged(tmp_path):
    from ablate.tracking.database import import_client

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    client = import_client()(uri)
    experiment = client.create_experiment("lr sweep")
    for line in RUNS.splitlines()[1:]:
        name, seed, loss = line.split(",")
        run = client.create_run(experiment).info.run_id
        client.log_param(run, "kind", name)
        client.log_param(run, "random_seed", seed)
        client.log_metric(run, "loss", 9.0, step=1)
        client.log_metric(run, "loss", float(loss), step=2)
        client.set_terminated(run)
    roles = [
        "--column",
        "variant",
        "params.kind",
        "--column",
        "seed",
        "params.random_seed",
    ]
    call = [
        *roles,
        "--baseline",
        "base",
        "--metric",
        "metrics.loss",
        "--direction",
        "min",
        "--name",
        "lr-sweep",
    ]
    done = ablate_here("analyse", uri, "--experiment", "lr sweep", *call, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path, "lr-sweep")["wide"]["verdict"] == "better"
    assert ablate_here("analyse", uri, "--experiment", "lr sweeps", *call, cwd=tmp_path).returncode == 2


BAD = {
    "a ragged line": (RUNS.replace("base,3,", "base,"), (), "runs.csv, line 5: ", "has 2 cells"),
    "a line too long": (RUNS + "base,9,1,2\n", (), "runs.csv, line 17: ", "has 4 cells"),
    "a run twice": (RUNS + RUNS.splitlines()[1] + "\n", (), "runs.csv, line 2 and runs.csv, line 17 ", "same"),
    "no number": (RUNS.replace("3.20", "about", 1), (), "runs.csv, line 2: loss", "number"),
    "a broken seed": (RUNS.replace("base,2,", "base,two,"), (), "runs.csv, line 4: seed", "'two'"),
    "no name": (RUNS.replace("wide,2,", ",2,"), (), "runs.csv, line 9: variant", "empty"),
    "nothing": ("", (), "RUNS: ", "is empty"),
    "a head alone": ("variant,seed,loss\n", (), "RUNS: ", "no runs"),
    "a column twice": (RUNS.replace("variant,seed", "loss,seed"), (), "RUNS: ", "none twice"),
    "latin-1": (RUNS.replace("wide", "größe").encode("latin-1"), (), "RUNS: ", "line 7"),
    "an open quote": (RUNS.replace("wide,0", '"wide,0'), (), "RUNS: ", "is no table"),
    "one seed": ("variant,seed,loss\nbase,0,1.5\nwide,0,1.4\n", (), "RUNS: ", "--known-noise"),
    "the baseline alone": ("variant,seed,loss\nbase,0,1.5\nbase,1,1.4\n", (), "RUNS: ", "beside the baseline"),
    "another baseline": (RUNS, ("--baseline", "bases"), "--baseline", "Did you mean 'base'?"),
    "another metric": (RUNS, ("--metric", "los"), "RUNS: ", "Did you mean 'loss'?"),
    "two directions": (RUNS, ("--also", "loss", "max"), "--also", "another metric"),
    "a claim on nobody": (RUNS, ("--claim", "wide beats narrow on loss"), "--claim", "unknown variant 'narrow'"),
    "a claim on nothing": (RUNS, ("--claim", "wide beats base on acc"), "--claim", "unknown metric 'acc'"),
    "a reserved name": (RUNS, ("--name", "store"), "--name", "name of a new report"),
    "noise of nothing": (RUNS, ("--keep-noise", "noise.json"), "--keep-noise", "--made-with evaluation VALUE"),
    "no noise": (RUNS, ("--known-noise", "none.json"), "none.json", "does not exist"),
    "examples that differ": (
        "variant,seed,example,loss\nbase,0,a,1\nbase,0,b,2\nb,0,a,1\nb,1,a,2\nb,1,b,2\n",
        (), "RUNS: every run", "('runs', 'b')",
    ),
}  # fmt: skip


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_its_place(tmp_path, case):
    text, words, place, said = BAD[case]
    done = analyse(tmp_path, text, *words)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(place), done.stderr
    assert said in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_the_folder_of_a_study_is_not_written_over(tmp_path):
    (tmp_path / "results/runs").mkdir(parents=True)
    (tmp_path / "results/runs/study.yaml").write_text("name: runs\n")
    assert analyse(tmp_path, RUNS, "--name", "runs").returncode == 2
    assert analyse(tmp_path, RUNS).returncode == 0
    assert sorted(path.name for path in tmp_path.glob("results/runs/*")) == ["study.yaml"]
    assert (tmp_path / "results/runs-analysed/report.md").is_file()


def test_what_was_passed_over_is_said_of_runs_that_are_refused(tmp_path):
    tries = '"experiments": [{"data": {"loss": 0.8}}]'
    text = (
        f'[{{"model": "base", "seed": 1, "loss": 1.0}}, {{"model": "wide", "seed": 1, "loss": 0.9, {tries}}}]'
    )
    refused = analyse(tmp_path, text, name="runs.json")
    assert refused.returncode == 2
    assert "must have two or more runs" in refused.stderr
    assert "Passed over inside the records, though they may be runs: experiments" in refused.stdout


def test_runs_without_any_number_of_the_metric_are_asked_for_its_name(tmp_path):
    for name in ("base_seed1", "base_seed2", "wide_seed1", "wide_seed2"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "metrics.json").write_text('{"loss": "low", "why": ["a"]}')
    refused = ablate_here("analyse", "runs", *LOSS, cwd=tmp_path)
    assert "another name has their numbers: --metric NAME" in refused.stderr
