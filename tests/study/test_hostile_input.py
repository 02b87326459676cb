"""Input that would hang, take all memory or end in a traceback is refused before anything is built."""

import pytest
import torch
from harness import problems

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
