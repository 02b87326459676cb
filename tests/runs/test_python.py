"""`ablate.analyse` in Python: as the command line, of a DataFrame, without what a light core lacks."""

import gc
import html
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from harness import ABSENT, ablate_here

import ablate
from ablate.records.folder import StudyFolder

CASES = Path(__file__).parent / "cases"
NUMBERS = ["variant", "n", "diff", "ci_low", "ci_high", "p", "verdict"]


def judged(runs, **options):
    return ablate.analyse(runs, **options).comparisons[NUMBERS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("five_runs_each.csv", {"baseline": "baseline", "metric": "final_loss", "margin": 0.002}),
        ("several_metrics.csv", {"baseline": "fast_dot", "metric": "BLEU", "direction": "max"}),
    ],
    ids=["five runs each", "several metrics"],
)
def test_a_frame_gives_what_its_file_gives_on_the_command_line(tmp_path, file, options):
    frame = pd.read_csv(CASES / file)
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    done = ablate_here("analyse", CASES / file, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    theirs = StudyFolder(tmp_path / "results", Path(file).stem).frames().comparisons[NUMBERS]
    pd.testing.assert_frame_equal(judged(frame, **options), theirs)
    pd.testing.assert_frame_equal(judged(CASES / file, **options), theirs)


def frame_of(**columns):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"variant": ["a"] * 5 + ["b"] * 5, "seed": [*range(5)] * 2, "acc": rng.normal(0.8, 0.01, 10)}
    )
    frame.loc[frame["variant"] == "b", "acc"] += 0.05
    return frame.assign(**columns)


@pytest.mark.slow
def test_numbers_keep_their_digits_and_named_levels_of_the_index_are_columns():
    frame = frame_of(seed=[2**60 + seed for seed in [*range(5)] * 2])
    plain = ablate.analyse(frame, baseline="a", metric="acc")
    assert plain.trials["seed"].tolist() == frame["seed"].tolist()
    assert plain.trials["acc"].tolist() == frame["acc"].tolist()
    indexed = frame.set_index(["variant", "seed"])
    pd.testing.assert_frame_equal(judged(indexed, baseline="a"), plain.comparisons[NUMBERS])
    objects = frame.astype(object)
    objects["acc"] = [np.float64(value) for value in frame["acc"]]
    pd.testing.assert_frame_equal(judged(objects, baseline="a"), plain.comparisons[NUMBERS])


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("name", ["0.10", "NA", "None"])
def test_names_that_look_like_something_else_are_names(name):
    rows = ablate.analyse(
        frame_of().replace({"variant": {"b": name}}), baseline="a", metric="acc"
    ).comparisons
    assert rows["variant"].tolist() == [name]


@pytest.mark.slow
def test_a_missing_value_is_none_and_infinity_diverged():
    statuses = {}
    for value in (np.nan, np.inf):
        frame = frame_of()
        frame.loc[7, "acc"] = value
        trials = ablate.analyse(frame, baseline="a", metric="acc", floor=0.0).trials
        statuses[value] = trials.loc[(trials["seed"] == 2) & (trials["acc"].isna()), "status"].item()
    assert list(statuses.values()) == ["failed", "diverged"]


@pytest.mark.slow
def test_options_are_those_of_the_command_line():
    frame = frame_of(split="test").rename(columns={"variant": "model", "seed": "s"})
    more = frame.assign(split="dev", acc=0.0)
    results = ablate.analyse(
        pd.concat([frame, more], ignore_index=True),
        baseline="a",
        metric="acc",
        column={"variant": ["model"], "seed": "s"},
        where="split=test",
        claim="b beats a on acc by 0.01",
    )
    assert results.comparisons["n"].tolist() == [5]
    assert results.claims["verdict"].tolist() == ["supported"]


@pytest.mark.slow
def test_a_wrong_call_is_refused_by_its_name():
    with pytest.raises(TypeError, match="Did you mean 'baseline'"):
        ablate.analyse(frame_of(), baselin="a")
    wrong = [
        {"margin": -1},
        {"margin": "0.1"},
        {"direction": "up"},
        {"compare": "all"},
        {"column": {"sed": "x"}},
    ]
    for options in wrong:
        with pytest.raises(ablate.Invalid, match=next(iter(options))):
            ablate.analyse(frame_of(), **{"baseline": "a", **options})
    nothing = {"also": None, "column": None, "read": None, "made_with": None, "seed": None}
    assert len(ablate.analyse(frame_of(), baseline="a", metric="acc", **nothing).trials) == 10
    twice = frame_of()
    twice.columns = ["variant", "acc", "acc"]
    for runs in (3, "", pd.DataFrame(), twice):
        with pytest.raises(ablate.Invalid):
            ablate.analyse(runs, baseline="a", metric="acc")


@pytest.mark.slow
def test_the_report_is_temporary_unless_it_has_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = ablate.analyse(frame_of(), baseline="a", metric="acc")
    folder = results.folder
    assert (folder.is_dir(), "b" in repr(results), "forest" in results.figures()) == (True, True, True)
    del results
    gc.collect()
    assert not folder.exists()
    assert not list(tmp_path.iterdir())
    kept = ablate.analyse(frame_of(), baseline="a", metric="acc", name="mine")
    assert kept.folder == Path("results/mine")
    assert (tmp_path / "results/mine/report.html").is_file()


LIGHT = """
import pandas as pd
import ablate
frame = pd.read_csv({path!r})
results = ablate.analyse(frame, baseline="baseline", metric="final_loss")
assert len(results.comparisons) == 3
assert "baseline" in repr(results)
"""


@pytest.mark.slow
def test_it_needs_nothing_of_training():
    absent = {"torch", "mlflow", "optuna", "cmaes", "sklearn", "safetensors", "matplotlib"}
    code = ABSENT.format(absent=absent) + LIGHT.format(path=str(CASES / "five_runs_each.csv"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_what_is_shown_in_python_carries_every_caution_of_the_command_and_the_guesses(tmp_path):
    frame = pd.DataFrame(
        {
            "variant": ["base"] * 4 + ["wide"] * 4,
            "seed": [0, 1, 2, 3] * 2,
            "acc": [0.70, 0.72, 0.71, 0.69, 0.75, 0.76, 0.74, 0.77],
            "width": [8] * 4 + [16] * 4,
        }
    )
    results = ablate.analyse(frame, baseline="base", margin=2.0)
    cautions = results.evidence.facts.cautions
    # The reading, the guesses, what differs beside the names, and the pairs.
    assert len(cautions) >= 4
    shown = html.unescape(results._repr_html_())
    for caution in cautions:
        rest = caution[1:].removesuffix(".")  # A sentence begins with a capital.
        assert rest in repr(results)
        assert rest in shown
