"""`design: leave_one_out` lays a stack over the baseline and takes each of it out in turn."""

import pytest
from harness import TOY_STUDY, prepare, problems, run_here

from ablate import load
from ablate.study.patch import value_at

STACKED = (
    TOY_STUDY.partition("factors:")[0]
    + "design: {name: leave_one_out, stack: {model.effect: 0.2, model.noise: 0.3, model.width: 8}}\nseeds: 2\n"
)


def test_each_part_of_the_stack_is_taken_out(tmp_path):
    (tmp_path / "s.yaml").write_text(STACKED)
    experiment = prepare(tmp_path / "s.yaml")
    paths = ("model.effect", "model.noise", "model.width")
    found = {v.name: tuple(value_at(v.first_config, path) for path in paths) for v in experiment.variants}
    assert found == {
        "baseline": (0.2, 0.3, 8),
        "model.effect=0.0": (0.0, 0.3, 8),
        "model.noise=0.1": (0.2, 0.1, 8),
        "model.width=4": (0.2, 0.3, 4),
    }


@pytest.mark.slow
def test_its_report_is_made_and_read_again(tmp_path):
    (tmp_path / "s.yaml").write_text(STACKED)
    run_here(tmp_path / "s.yaml")
    assert len(load(tmp_path / "results/toy").comparisons.query("metric == 'accuracy'")) == 3
    again = prepare(tmp_path / "results/toy/study.yaml")
    assert [v.name for v in again.variants][1:] == ["model.effect=0.0", "model.noise=0.1", "model.width=4"]


def test_built_in_parts_are_taken_out(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "name: s\ntask: recall\nmodel: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}\n"
        "design: {name: leave_one_out, stack: {model.norm: rms, training.warmup_steps: 5}}\n"
    )
    names = [variant.name for variant in prepare(tmp_path / "s.yaml").variants]
    assert names == ["baseline", "model.norm=layer", "training.warmup_steps=0"]


@pytest.mark.parametrize(
    ("stack", "said"),
    [
        ("{}", "design.stack: must not be empty"),
        ("{model.effekt: 1}", "'effect'"),
        ("{model.effect: x}", "must be a number"),
        ("{model.effect: 0.0}", "only the baseline"),
    ],
)
def test_a_stack_that_does_not_fit_is_refused(tmp_path, stack, said):
    (tmp_path / "s.yaml").write_text(
        TOY_STUDY.partition("factors:")[0] + f"design: {{name: leave_one_out, stack: {stack}}}\n"
    )
    assert any(said in problem for problem in problems(tmp_path / "s.yaml"))
