"""Input that would hang, take all memory or end in a traceback is refused before anything is built."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from harness import problems

from ablate.cli import main

HEAD = "name: big\ntask: recall\n"


@pytest.fixture
def nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when a tensor of more than a million numbers is made where it takes memory."""
    made = torch.empty_like

    def watched(tensor: torch.Tensor, **options: object) -> torch.Tensor:
        assert tensor.numel() < 1_000_000 or options.get("device") == "meta"
        return made(tensor, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(torch, "empty_like", watched)


@pytest.mark.usefixtures("nothing_is_made")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model: {d_model: 100000}", "line 3: model.d_model: is too large; given 100000; allowed: at most"),
        ("model: {d_model: 60000}", "line 3: model: has too many parameters; given 86405400032; allowed: at"),
        ("factors: {model.d_model: [60000]}", "line 3: factors.model.d_model[0]: model has too many"),
        (
            "factors: {model.mixer.d_k: [60000]}\nmodel: {d_model: 8192}",
            "line 3: factors.model.mixer.d_k[0]: model has too many parameters",
        ),
        ("model: {num_layers: 1000000}", "line 3: model.num_layers: is too large; given 1000000"),
        ("factors: {model.num_layers: [1000000]}", "line 3: factors.model.num_layers[0]: is too large"),
        ("model: {feedforward: {expansion: 1e18}}", "line 3: model.feedforward.expansion: is too large"),
        ("model: {mixer: {num_heads: 1000000000}}", "line 3: model.mixer.num_heads: is too large"),
        ("training: {steps: 1000000000, eval_every: 1000000}", "line 3: training.steps: is too large"),
        (
            "training: {steps: 10000000, eval_every: 1}",
            "line 3: training.eval_every: evaluates 10,000,000 times in 10,000,000 steps; at most 100,000 times is "
            "allowed; given 1; allowed: at least 100",
        ),
        ("training: {batch_size: 1000000000}", "line 3: training.batch_size: is too large; given 1000000000"),
        ("seeds: 1000000000", "line 3: seeds: reach the seeds from 10000 on"),
        (
            "seeds: 9000\nmodel: {d_model: 4, mixer: {num_heads: 1}}\ndesign: factorial\nfactors:\n"
            "  training.lr: [1e-4, 2e-4, 3e-4, 4e-4, 5e-4, 6e-4, 7e-4, 8e-4, 9e-4, 2e-3]\n"
            "  training.weight_decay: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]",
            "line 3: seeds: make too many trials, one for each variant, task and seed; given 1089000",
        ),
        (
            "factors: {training.lr: [" + "1, " * 1000 + "2]}",
            "line 3: factors: are too many, all levels and variants",
        ),
        ("claims: [" + "a, " * 1000 + "b]", "line 3: claims: must have at most 1,000 entries; given 1001"),
        (
            "search: {over: {training.lr: {float: [1e-4, 1]}}, winners: 1000000000}",
            "line 3: search.winners: must be",
        ),
        (
            "search: {over: {training.lr: {float: [1e-4, 1]}}, trials: 1000000000}",
            "line 3: search.trials: must be",
        ),
        (
            "search: {sampler: grid, over: {training.lr: {float: [1e-4, 1], step: 1e-300}}}",
            "more than 100,000 points",
        ),
        (
            "search: {over: {training.lr: {choice: [" + "1, " * 1000 + "2]}}}",
            "must have at most 1,000 entries",
        ),
        ("match: {parameters: 1e300, by: model.d_model}", "line 3: match.parameters: must be a quantity"),
    ],
)
def test_a_size_beyond_all_bounds(write: Callable[..., Path], text: str, expected: str) -> None:
    found = problems(write(f"{HEAD}{text}\n"))
    assert any(expected in problem for problem in found), found


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("{name: recall, seq_len: 1000000000, num_pairs: 400000000}", "task.num_pairs: is too large; given"),
        (
            "{name: recall, seq_len: 16384, num_pairs: 8000, vocab_size: 20000}",
            "task.num_pairs: is too large; given 8000; allowed: at most 256",
        ),
        ("{name: recall, vocab_size: 1000000000}", "task.vocab_size: is too large; given 1000000000"),
        ("{name: recall, test_size: 10000000000000}", "task.test_size: is too large; given 10000000000000"),
        ("{name: reverse, max_len: 100000}", "task.max_len: is too large; given 100000; allowed: at most"),
        ("{name: segments, seq_len: 1000000000}", "task.seq_len: is too large; given 1000000000"),
    ],
)
def test_a_task_beyond_all_bounds(write: Callable[..., Path], task: str, expected: str) -> None:
    assert any(f"line 2: {expected}" in p for p in problems(write(f"name: big\ntask: {task}\n")))


@pytest.mark.slow
def test_a_step_that_no_machine_has_the_memory_for(write: Callable[..., Path]) -> None:
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
def test_attention_weights_that_no_machine_has_the_memory_for(write: Callable[..., Path]) -> None:
    study = (
        "name: big\ntask: {name: recall, seq_len: 8000}\nmodel: {num_layers: 1, mixer: {num_heads: 4%s}}\n"
    )
    training = "training: {batch_size: 1000, device: cpu}\n"
    for making in (", score: additive", ", weighting: hard"):
        assert "training.batch_size: needs 10" in problems(write(study % making + training))[0]


def test_twenty_thousand_keys_or_values(write: Callable[..., Path]) -> None:
    keys = "".join(f"k{i}: 1\n" for i in range(20_000))
    assert "at most 20,000 keys and values" in problems(write(HEAD + keys))[0]
    some = "".join(f"unknown_key_{i}: {i}\n" for i in range(5_000))
    found = problems(write(HEAD + some))
    assert len(found) == 101
    assert "has more problems; these are the first 100 that were found" in found[0]


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("model=&a {x: *a}", "has a value that is not YAML: x: must not contain itself"),
        ("claims=[&a [*a]]", "has a value that is not YAML: [0][0]: must not contain itself"),
        ("placebo=!!bool maybe", "has a value that is not YAML: is not a value that YAML knows; given"),
        ("notes=!python/object:os.system x", "has a value that is not YAML: has a tag that means nothing in"),
        ("notes=" + "{a: " * 50 + "1" + "}" * 50, "has a value that is not YAML: is nested too deeply"),
        ("a" + ".a" * 5000 + "=1", "has a path of more than 40 steps"),
        ("seeds=0x" + "f" * 50_000, "has a value that is not YAML: must be a number of at most 64 bits"),
        ("name=\udcff", "has a value that is not YAML: unacceptable character"),
        ("training.lr=2020-01-01", "training.lr: must be a number; given '2020-01-01'"),
        ("model.d_model=100000", "model.d_model: is too large; given 100000"),
        ("x=" + "a" * 100_000, "x: unknown key"),
    ],
)
def test_an_option_is_read_as_the_file_is(write: Callable[..., Path], option: str, expected: str) -> None:
    found = problems(write(HEAD), sets=[option])
    assert len(found) == 1
    assert found[0].startswith("--set ")
    assert expected in found[0]
    assert len(found[0]) < 1000


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ('"a\\0b.py"', "must not have a control character; given 'a\\x00b.py'"),
        ("x" * 5000, "cannot be read: File name too long"),
        ("/dev/zero", "is a pipe, a socket or a device, not a file; given '/dev/zero'"),
        ("exits.py", "fails when it is loaded: SystemExit (exits.py:1)"),
    ],
)
def test_a_plugin_that_cannot_be_used(write: Callable[..., Path], name: str, expected: str) -> None:
    write("raise SystemExit\n", "exits.py")
    found = problems(write(f"{HEAD}plugins: [{name}]\n"))
    assert len(found) == 1
    assert found[0].startswith(f"line 3: plugins[0]: {expected}")


LONG = "n" * 300


@pytest.mark.parametrize(
    "call",
    [
        ["new", LONG],
        ["new", "study", "--task", LONG],
        ["report", LONG],
        ["report", "study.yaml", "--results", LONG],
        ["show", LONG],
        ["show", "ab", "--results", LONG],
        ["list", LONG],
        ["list", "score", LONG],
        ["eval", LONG],
        ["plan", LONG],
        ["plan", "study.yaml", "--results", LONG],
        ["run", "study.yaml", "--results", LONG],
        ["run", "study.yaml", "--only", LONG],
        ["sweep", LONG],
        ["schema", "--workload", LONG],
        ["schema", "--plugin", LONG],
        ["clean", "--results", LONG],
        ["ui", "--results", LONG],
    ],
)
def test_a_name_of_300_characters(
    write: Callable[..., Path], call: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(HEAD)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, call)
    assert done.exit_code == 2, (done.output, done.exception)
    assert isinstance(done.exception, SystemExit)
    assert done.stderr.strip()
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]
