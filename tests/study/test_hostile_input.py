"""Input that would hang, take all memory or end in a traceback is refused before anything is built."""

import pytest
import torch
from click.testing import CliRunner
from harness import problems

from ablate.cli import main

HEAD = "name: big\ntask: recall\n"


@pytest.fixture
def nothing_is_made(monkeypatch):
    """Fails when a tensor of more than a million numbers is made where it takes memory."""
    made = torch.empty_like

    def watched(tensor, **options):
        assert tensor.numel() < 1_000_000 or options.get("device") == "meta"
        return made(tensor, **options)

    monkeypatch.setattr(torch, "empty_like", watched)


@pytest.mark.usefixtures("nothing_is_made")
@pytest.mark.parametrize(
    "text",
    [
        "model: {d_model: 100000}", "model: {d_model: 60000}", "factors: {model.d_model: [60000]}",
        "factors: {model.mixer.d_k: [60000]}\nmodel: {d_model: 8192}", "model: {num_layers: 1000000}",
        "model: {feedforward: {expansion: 1e18}}", "training: {batch_size: 1000000000}",
    ],
)  # fmt: skip
def test_what_would_take_all_memory_is_refused_before_it_is_made(write, text):
    assert all(" too " in problem for problem in problems(write(f"{HEAD}{text}\n")))


@pytest.mark.slow
def test_a_step_that_no_machine_has_the_memory_for(write):
    found = problems(
        write(
            """\
            name: big
            task: {name: recall, seq_len: 16384}
            model: {d_model: 128, num_layers: 64}
            training: {batch_size: 100000, device: cpu}
            """
        )
    )
    rule = "line 4: training.batch_size: needs 53687.1 GB of memory and more for a step; given 100000; allowed: the "
    assert len(found) == 1
    assert found[0].startswith(rule)


@pytest.mark.slow
def test_attention_weights_that_no_machine_has_the_memory_for(write):
    study = (
        "name: big\ntask: {name: recall, seq_len: 8000}\nmodel: {num_layers: 1, mixer: {num_heads: 4%s}}\n"
    )
    training = "training: {batch_size: 1000, device: cpu}\n"
    for making in (", score: additive", ", weighting: hard"):
        assert "training.batch_size: needs 10" in problems(write(study % making + training))[0]


CALLS = (
    *("new LONG", "new study --task LONG", "report LONG", "report study.yaml --results LONG", "show LONG"),
    *("show ab --results LONG", "list LONG", "list score LONG", "eval LONG", "plan LONG", "sweep LONG"),
    *("plan study.yaml --results LONG", "run study.yaml --results LONG", "run study.yaml --only LONG"),
    *("schema --workload LONG", "schema --plugin LONG", "clean --results LONG", "ui --results LONG"),
)


@pytest.mark.parametrize("call", CALLS)
def test_a_name_of_300_characters(write, call, monkeypatch, tmp_path):
    write(HEAD)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, call.replace("LONG", "n" * 300).split())
    assert done.exit_code in (1, 2), (done.output, done.exception)
    assert isinstance(done.exception, SystemExit)
    assert done.stderr.strip()
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]
