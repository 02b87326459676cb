"""Results of lm-eval, old and new: told with their errors, and judged where a variant has several models."""

import json
import os
import shutil
from pathlib import Path

import pytest
from harness import ablate_here

from ablate.records.folder import StudyFolder

RECORDED = Path(__file__).parent / "recorded" / "lm-eval"
NEW = "results_2024-10-27T03-33-20.123456.json"


@pytest.mark.parametrize(
    ("name", "baseline", "metric", "told"),
    [
        ("new", "org__small", "acc", ["arc_easy", "0.567 ± 0.010", "0.541 ± 0.010", "0.026 ± 0.014"]),
        (
            "new",
            "org__small",
            "exact_match",
            ["gsm8k,strict-match", "gsm8k,flexible-extract", "0.033 ± 0.011"],
        ),
        ("old", "small", "acc", ["arc_easy", "0.567 ± 0.010", "0.026 ± 0.014"]),
        ("new", "org__small", "word_perplexity", ["wikitext", "org__large 21"]),
    ],
)
def test_one_evaluation_of_each_is_told_and_not_judged(tmp_path, name, baseline, metric, told):
    done = ablate_here("analyse", RECORDED / name, "--baseline", baseline, "--metric", metric, cwd=tmp_path)
    assert done.returncode == 2
    assert [words for words in [*told, "--log_samples", "other seeds"] if words not in done.stderr] == []
    assert not (tmp_path / "results").exists()


def write_seeds(folder):
    """Writes results of three seeds of two models."""
    data = json.loads((RECORDED / "new" / "org__small" / NEW).read_text())
    for model, gain in (("small", 0.0), ("large", 0.05)):
        for seed in range(3):
            data["results"]["arc_easy"]["acc,none"] = 0.5 + gain + 0.003 * seed
            path = folder / f"{model}_s{seed}" / NEW
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(data))


@pytest.mark.slow
def test_several_models_of_a_variant_are_judged_over_their_seeds(tmp_path):
    write_seeds(tmp_path / "out")
    done = ablate_here("analyse", "out", "--baseline", "small", "--metric", "acc", cwd=tmp_path)
    assert (done.returncode, "results of lm-eval: 6 runs" in done.stdout + done.stderr) == (0, True), (
        done.stderr
    )
    (row,) = StudyFolder(tmp_path / "results", "out").comparisons()
    assert (row["task"], row["n"], float(row["diff"])) == ("arc_easy", "3", pytest.approx(0.05))


def test_a_later_evaluation_of_a_model_counts(tmp_path):
    out = Path(shutil.copytree(RECORDED / "new", tmp_path / "out"))
    later = out / "org__small" / NEW.replace("10-27", "11-02")
    later.write_text((out / "org__small" / NEW).read_text().replace("0.5412", "0.6412"))
    done = ablate_here("analyse", "out", "--metric", "acc", cwd=tmp_path)
    assert ("0.641" in done.stderr, "0.541" in done.stderr) == (True, False)


@pytest.mark.slow
def test_samples_beside_results_are_preferred(tmp_path):
    out = Path(shutil.copytree(RECORDED / "new", tmp_path / "out"))
    for model in ("org__small", "org__large"):
        samples = [{"doc_id": i, "acc": float(i % (2 + (model == "org__large")) == 0)} for i in range(30)]
        path = out / model / "samples_arc_2024-10-27T03-33-20.123456.jsonl"
        path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    call = ("--baseline", "org__small", "--metric", "acc")
    done = ablate_here("analyse", "out", *call, cwd=tmp_path)
    assert (done.returncode, "samples of lm-eval" in done.stdout + done.stderr) == (0, True), done.stderr
    done = ablate_here("analyse", out / "org__small" / NEW, *call, cwd=tmp_path)
    assert (done.returncode, "Samples lie beside" in done.stderr, str(out) in done.stderr) == (2, True, True)


BROKEN = {
    "cut": lambda path: path.write_text(path.read_text()[:-200]),
    "deep": lambda path: path.write_text('{"versions": 1, "results": ' + "[" * 100_000),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "binary": lambda path: path.write_bytes(b'{"results" "versions" \xff'),
}


@pytest.mark.parametrize("spoil", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_refused_by_its_name(tmp_path, spoil):
    out = Path(shutil.copytree(RECORDED / "new", tmp_path / "out"))
    spoil(out / "org__small" / NEW)
    done = ablate_here("analyse", "out", "--baseline", "org__small", "--metric", "acc", cwd=tmp_path)
    assert (done.returncode, f"org__small/{NEW}" in done.stderr, done.stderr.count("\n")) == (2, True, 1), (
        done.stderr
    )


def test_a_wrong_name_is_answered_with_the_nearest(tmp_path):
    for words in (
        ("--baseline", "org__smal", "--metric", "acc"),
        ("--baseline", "org__small", "--metric", "accc"),
    ):
        done = ablate_here("analyse", RECORDED / "new", *words, cwd=tmp_path)
        assert (done.returncode, "Did you mean" in done.stderr) == (2, True), done.stderr
