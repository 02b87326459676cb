"""Scripts in the styles of others: settings from files or variables, and numbers written to files."""

import json
import shutil
from pathlib import Path

import pytest
from harness import plan_here, run_here, with_database
from isolated import script

from ablate import load

CASES = Path(__file__).parent / "cases"
STUDIES = {
    "yaml_template": {
        "workload": {"command": "python train.py --config conf.yaml", "files": {"conf.yaml": "base.yaml"}},
        "config": {"model": {"act": "relu"}, "optim": {"lr": 1.0e-5}},
        "metrics": {"eval.f1": {"direction": "max", "margin": 0.01}},
        "factors": {"config.model.act": ["gelu"]},
    },
    "csv_log": {
        "workload": {"command": "python train.py --log_dir {dir}/logs --use_ema {use_ema} --seed {seed}"},
        "config": {"use_ema": False},
        "metrics": {"val_acc": {"direction": "max", "margin": 0.005}},
        "factors": {"config.use_ema": [True]},
    },
    "named_output": {
        "workload": {
            "command": "python run_glue_like.py --output_dir {dir} --label_smoothing_factor {ls} --seed {seed}"
        },
        "config": {"ls": 0.0},
        "metrics": {"eval_accuracy": {"direction": "max", "margin": 0.002}},
        "factors": {"config.ls": [0.1]},
    },
    "environment": {
        "workload": {
            "command": "bash train.sh",
            "env": {"ITERATIONS": "{iterations}", "QK_NORM": "{qk_norm:1|0}", "SEED": "{seed}"},
            "read": {"val_bpb": r"val_bpb: (\S+)"},
        },
        "config": {"iterations": 100, "qk_norm": True},
        "metrics": {"val_bpb": {"direction": "min", "margin": 0.0005}},
        "factors": {"config.qk_norm": [False]},
    },
}
RIGHT = {"yaml_template": 0.03, "csv_log": 0.01, "named_output": 0.004, "environment": 0.003}
CURVES = {"csv_log": [99, 199, 299, 399, 499], "named_output": [100, 200, 300]}


def written(folder: Path, case: str) -> Path:
    shutil.copytree(CASES / case, folder)
    return study(folder, STUDIES[case])


def study(folder: Path, content: dict[str, object]) -> Path:
    path = folder / "study.yaml"
    path.write_text(json.dumps({"name": "case", "seeds": 2} | content))
    with_database(folder / "results/store")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("case", RIGHT)
def test_the_differences_are_right(case, tmp_path):
    path = written(tmp_path / case, case)
    outcome, printed = run_here(path, jobs=0)
    assert not outcome.failed, printed
    results = load(path.parent / "results/case")
    (row,) = results.comparisons.itertuples()
    assert row.mean_variant - row.mean_baseline == pytest.approx(RIGHT[case], abs=2e-6)
    steps = sorted(results.curves["step"].unique().tolist()) if case in CURVES else []
    assert steps == CURVES.get(case, [])


def test_a_plan_shows_what_two_variants_are_given(tmp_path):
    shown = plan_here(written(tmp_path / "case", "yaml_template"))
    assert 'conf.yaml: model: {width: 64, act: "relu"} optim: {lr: 1.0e-05} seed: 0 out: {dir}' in shown
    assert 'conf.yaml: model: {width: 64, act: "gelu"} optim: {lr: 1.0e-05} seed: 0 out: {dir}' in shown


WRITES = {
    "nothing": ("", "it wrote no file: print it, and add `read: {val_acc: PATTERN}` under workload"),
    "an array": (
        "open(os.environ['ABLATE_DIR'] + '/out.npz', 'w')",
        "$ABLATE_DIR has out.npz, and val_acc is in none that is read: CSV, JSON, JSON lines and event files",
    ),
    "another name": (
        "json.dump({'eval': {'best_val_acc': '82.4%'}}, open(os.environ['ABLATE_DIR'] + '/a.json', 'w'))",
        "there is eval.best_val_acc in a.json: name the metric as it stands there",
    ),
    "one name in two files": (
        "for part in ('test', 'val'): os.mkdir(os.environ['ABLATE_DIR'] + f'/{part}'); "
        "json.dump({'val_acc_1': 1}, open(os.environ['ABLATE_DIR'] + f'/{part}/a.json', 'w'))",
        "there is val_acc_1 in test/a.json, val_acc_1 in val/a.json: name the metric as it stands there; several files "
        "have one name: have your code give that which counts another, such as test_acc",
    ),
    "its folder": (
        "os.mkdir('logs'); json.dump({'val_acc': 1}, open('logs/a.json', 'w'))",
        "there is val_acc in logs/a.json: have your code write that below {dir}, or $ABLATE_DIR",
    ),
    "another file in its folder": (
        "open('log.txt', 'w')",
        "it wrote log.txt: have your code write it below {dir}, or $ABLATE_DIR, as one of CSV, JSON",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRITES)
def test_a_metric_that_was_not_read_names_what_was_written_and_how_that_is_read(kind, tmp_path):
    code, hint = WRITES[kind]
    folder = script(tmp_path / "own", f"import json, os\n{code}\n")
    content = {
        "workload": {"command": "python train.py {lr} {seed}"},
        "config": {"lr": 0.1},
        "metrics": {"val_acc": "max"},
        "factors": {"config.lr": [1.0]},
    }
    outcome, printed = run_here(study(folder, content), jobs=0, keep_going=True)
    assert len(outcome.failed) == 4
    assert f"val_acc was not read: it was neither returned nor written; {hint}" in " ".join(printed.split())
