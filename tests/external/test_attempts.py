"""A trial that goes on after a failure counts all that it has reported, through the command line."""

import pytest
from harness import with_database
from isolated import committed, run

from ablate import load

TRAIN = """
import json, os, sys

start = int(open("checkpoint").read()) if os.path.exists("checkpoint") else 0
for epoch in range(start + 1, 11):
    numbers = {"step": epoch, "valid": -abs(epoch - 3), "test": 10.0 - epoch}
    if sys.argv[1] == "printed":
        print(f"epoch {epoch} valid {numbers['valid']} test {numbers['test']}")
    else:
        with open(os.environ["ABLATE_DIR"] + "/epochs.jsonl", "a") as file:
            file.write(json.dumps(numbers) + "\\n")
    with open("checkpoint", "w") as file:
        file.write(str(epoch))
    if epoch == 6 and start == 0:
        sys.exit(1)
"""
STUDY = """
name: own
workload:
  command: python train.py {} {{width}} {{seed}}
  resume: on
  read: {}
config: {{width: 1}}
metrics: {{test: {{direction: max, margin: 0.1, at: best, by: valid}}, valid: max}}
factors: {{config.width: [2]}}
seeds: 1
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "read"),
    [
        ("printed", r"{step: 'epoch (\d+)', valid: 'valid (\S+)', test: 'test (\S+)'}"),
        ("printed", r"{valid: 'valid (\S+)', test: 'test (\S+)'}"),
        ("written", "{}"),
    ],
)
def test_the_best_epoch_may_lie_before_a_failure(way, read, tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "study.yaml").write_text(STUDY.format(way, read))
    with_database(tmp_path / "results/store")
    committed(tmp_path, "train.py", ignored="results/\n")
    assert run(tmp_path, "--keep-going").returncode == 1
    assert run(tmp_path).returncode == 0
    evidence = load(tmp_path / "results/own")
    assert evidence.trials.test.tolist() == [7.0, 7.0]
    curves = evidence.curves[evidence.curves.metric == "test"]
    assert curves.groupby("id").size().tolist() == [10, 10]
    assert not [*(tmp_path / "results/store/runs").glob("*.trace")]
