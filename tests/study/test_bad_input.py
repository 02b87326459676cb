"""Every mistake of a study is named at once, with its line, its path and the nearest valid name."""

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import TOY, ablate_here, problems

from ablate.base.errors import StudyError
from ablate.study.prepare import prepare

TOY_HEAD = f"workload: toy\nplugins: [{TOY}]\ntask: {{name: coin}}\n"


AGAINST_THE_SCHEMA = """\
name: ../escape
task: {name: recall, seq_len: x}
quesiton: what?
model:
  d_model: 30
  num_layers: "2"
  mixer: {num_heads: 4, scor: dot}
  norm: lyer
  dropout: {residual: 1.5, embedding: .nan}
training: {lr: 1e-3, steps: 10, steps: 20}
claims:
  - 5
  - model.positon=none beats baseline on acuracy
metric: {at: lst}
"""
OF_MEANING = """\
name: x
task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 3}
model:
  d_model: 30
  mixer: {num_heads: 4, value: {name: low_rank, rank: 64}}
factors:
  model.positon: [none]
  model.norm_placement: [pre]
  model.mixer.score: [dott]
  model.mixer.num_heads: [7]
variants:
  same: {model.d_model: 30}
metric: acuracy
claims:
  - same beats baseline on acuracy
  - same beets baseline on accuracy
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            AGAINST_THE_SCHEMA,
            [
                (1, "name", "must be a plain name", "../escape"),
                (2, "task.seq_len", "must be a whole number", "'x'"),
                (3, "quesiton", "unknown key", "Did you mean 'question'?"),
                (6, "model.num_layers", "must be a whole number", "'2'"),
                (7, "model.mixer.scor", "unknown key", "Did you mean 'score'?"),
                (8, "model.norm", "unknown norm", "Did you mean 'layer'?"),
                (9, "model.dropout.embedding", "must be a finite number", "nan"),
                (9, "model.dropout.residual", "must be less than 1", "1.5"),
                (10, "training.steps", "duplicate key", "line 10"),
                (12, "claims[0]", "must be text", "given 5"),
                (14, "metric.at", "is not a choice", "allowed: last, best_validation. Did you mean 'last'?"),
            ],
        ),
        (
            OF_MEANING,
            [
                (2, "task.seq_len", "must", "3 pairs"),
                (5, "model.mixer.num_heads", "must divide d_model = 30", "given 4"),
                (5, "model.mixer.value.rank", "must not exceed d_model = 30", "given 64"),
                (7, "factors.model.positon", "the path does not exist", "Did you mean 'position'?"),
                (8, "factors.model.norm_placement", "has no level but the baseline's", "Add a level"),
                (9, "factors.model.mixer.score[0]", "unknown score", "Did you mean 'dot'?"),
                (10, "factors.model.mixer.num_heads[0]", "must divide d_model = 30", "given 7"),
                (12, "variants.same", "changes nothing", "Give it another value"),
                (13, "metric.name", "no such metric", "Did you mean 'accuracy'?"),
                (15, "claims[0]", "unknown metric 'acuracy'", "Did you mean 'accuracy'?"),
                (16, "claims[1]", "is not a claim", "allowed: `A beats B on"),
            ],
        ),
    ],
)
def test_all_mistakes_of_a_stage_are_named_at_once(
    write: Callable[..., Path], text: str, expected: list[tuple[int, str, str, str]]
) -> None:
    found = problems(write(text))
    for line, path, rule, rest in expected:
        assert any(p.startswith(f"line {line}: {path}: {rule}") and rest in p for p in found), (path, found)
    assert len(found) == len(expected), found


def test_a_claim_about_a_factor_that_is_misspelled_is_no_second_mistake(write: Callable[..., Path]) -> None:
    claims = "claims: [model.norm=batch beats baseline on accuracy, model.position=none beets baseline on accuracy]\n"
    found = problems(
        write(f"name: x\ntask: recall\nfactors: {{norm: [batch], model.positon: [none]}}\n{claims}")
    )
    assert [line.split(": ")[1] for line in found] == ["factors.norm", "factors.model.positon", "claims[1]"]


def test_nothing_is_written_and_the_exit_code_is_two(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write(f"name: bad\n{TOY_HEAD}model: {{nois: 1}}\n")
    done = ablate_here("run", path, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "1 problem in the study; nothing was written or trained:\n"
        f"  {path}:5: model.nois: unknown key; allowed: effect, noise, width, inert. Did you mean 'noise'?\n"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["study.yaml"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", ":1: must be a mapping, but the file is empty"),
        (b"# only a comment\n", ":1: must be a mapping, but the file is empty"),
        (b"- a\n- b\n", ":1: must be a mapping, not a list"),
        (b"just words\n", ":1: must be a mapping, not a single value"),
        (b"name: x\nquestion: caf\xe9\n", ":2: must be UTF-8 text; given 'byte 0xe9'"),
        (b"name: x\nmodel: [1, 2\nseeds: 3\n", ":3: must be YAML"),
        (b"name: x\n\tseeds: 3\n", ":2: must be YAML"),
    ],
)
def test_a_file_that_is_no_study(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    with pytest.raises(StudyError) as caught:
        prepare(path)
    assert expected in str(caught.value)
    done = ablate_here("run", path, cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "quickstart.yaml").write_text("name: x\n")
    with pytest.raises(
        StudyError, match=r"does not exist; name a study file\. Did you mean 'quickstart.yaml'"
    ):
        prepare(tmp_path / "quickstar.yaml")


def test_a_folder_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="is a folder, not a file; name a study file"):
        prepare(tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "seeds: 0",
            "line 5: seeds: must be a number of seeds, a list of them, {from, count}, or {min, max}; given 0",
        ),
        ("seeds: true", "line 5: seeds: must be a number of seeds, a list of them"),
        ("seeds: {from: 9998, count: 3}", "line 5: seeds: reach the seeds from 10000 on, which tune and"),
        ("seeds: {min: 5000, max: 15000}", "which tune and never judge"),
        ("seeds: 10001", "line 5: seeds: reach the seeds from 10000 on"),
        ("seeds: {from: -1}", "line 5: seeds.from: must be greater than or equal to 0; given -1"),
        ("seeds: {form: 1}", "line 5: seeds.form: unknown key; allowed: from, count. Did you mean 'from'?"),
        ("seeds: {start: 1}", "line 5: seeds.start: unknown key; allowed: from, count"),
        ("placebo: maybe", "line 5: placebo: must be on or off"),
        ("design: full", "line 5: design: unknown design; given 'full'; allowed: factorial, fractional"),
        ("metric: {name: accuracy, margin: -1}", "line 5: metric.margin: must be greater than 0; given -1"),
        ("factors: {model.effect: []}", "line 5: factors.model.effect: must not be empty; given []"),
        ("factors: {model.effect: 3}", "line 5: factors.model.effect: must be a list; given 3"),
        ("factors: {model.effect: [1, 1.0]}", "line 5: factors.model.effect[1]: is listed twice; given 1.0"),
        ("factors: {model: [{}, {effect: 1}]}", "line 5: factors.model[0]: changes nothing: it is empty"),
        ("variants: {a: {}}", "line 5: variants.a: must not be empty; given {}"),
        ("variants: {a: {model: {}, training.steps: 2}}", "line 5: variants.a.model: changes nothing: it is"),
        ("factors: {model.effect.deeper: [1]}", "model.effect has no keys of its own"),
        ("variants: {a/b: {model.effect: 1}}", "line 5: variants.a/b: is not a name for a variant"),
        ("variants: {baseline: {model.effect: 1}}", "line 5: variants.baseline: is not a name for a variant"),
        ("variants: {x: {model.inert: 1}}", "line 5: variants.x: changes nothing: under one seed"),
        ("variants: {x: {model.width: 13}}", "line 5: variants.x.model.width: must not be unlucky; given 13"),
        ("factors: {model.inert: [2]}", "line 5: factors.model.inert[0]: changes nothing: under one seed"),
        ("variants: {a: {model.effect: 1}, b: {model.effect: 1}}", "line 5: variants.b: has the same config"),
        ("? {a: b}\n: 3\nmodell: 3", "line 7: modell: unknown key"),
        ("claims: [a beats b]", "line 5: claims[0]: is not a claim; given 'a beats b'; allowed: `A beats B"),
        ("claims: [baseline beats baseline on loss]", "line 5: claims[0]: compares baseline with itself"),
        ("plugins: [gone.py]", "line 5: plugins: duplicate key"),
        ("workload: toi", "line 5: workload: duplicate key"),
        ("tasks: [{name: coin}]", "give either `task`, or `tasks` with several"),
        ("time_limit: 0", "line 5: time_limit: must be greater than 0"),
        ("name: store", "line 5: name: duplicate key"),
    ],
)
def test_one_mistake(write: Callable[..., Path], text: str, expected: str) -> None:
    found = problems(write(f"name: bad\n{TOY_HEAD}{text}\n"))
    assert any(expected in problem for problem in found), found


SPAN = "a margin must be less than the range of accuracy, or everything is equivalent"
ALLOWED = "allowed: less than 0.9375, the distance from guessing to the best accuracy"


@pytest.mark.parametrize("margin", ["5", "0.94", "0.9375"])
def test_a_margin_is_less_than_the_range_of_the_metric(write: Callable[..., Path], margin: str) -> None:
    """One of 16 values, or of 4, is right by chance; the task with the smaller range decides."""
    variants = "variants: {bare: {model.position: none}}\n"
    text = f"name: wide\ntask: {{name: recall, vocab_size: 32}}\n{variants}"
    text += f"metric: {{name: accuracy, margin: {margin}}}\n"
    claims = [f"bare beats baseline on accuracy by {margin}"]
    claims += [f"bare matches baseline on accuracy within {margin}"]
    found = problems(write(text + f"claims: [{', '.join(claims)}, bare beats baseline on accuracy by 0.9]\n"))
    assert found == [
        f"line 4: metric.margin: {SPAN}; given {float(margin)}; {ALLOWED}",
        *(f"line 5: claims[{i}]: {SPAN}; given {claim!r}; {ALLOWED}" for i, claim in enumerate(claims)),
    ]
    several = text.replace(
        "task: {name: recall, vocab_size: 32}", "tasks: [recall, {name: recall, vocab_size: 8}]"
    )
    (problem,) = problems(write(several.replace(margin, "0.9")))
    assert "allowed: less than 0.75" in problem


@pytest.mark.parametrize(
    "text", ["factors={}", "variants={}", "training={}", "model.norm={}", "task={a: {}}"]
)
def test_an_option_that_changes_nothing_is_refused(toy_study: Path, text: str) -> None:
    (problem,) = problems(toy_study, sets=[text])
    assert problem.startswith(f"--set {text}: changes nothing: give the values to change")


@pytest.mark.parametrize("name", ["store", "a/b", "../a", "", ".hidden", "a b", "x" * 101])
def test_names_that_are_no_names(write: Callable[..., Path], name: str) -> None:
    assert any("line 1: name:" in problem for problem in problems(write(f"name: '{name}'\n{TOY_HEAD}")))


def test_a_name_and_a_task_are_required(write: Callable[..., Path]) -> None:
    found = problems(write(f"workload: toy\nplugins: [{TOY}]\n"))
    assert any("name: is required" in problem for problem in found)
    assert any("give either `task`, or `tasks`" in problem for problem in found)


def test_a_plugin_that_fails_is_named_with_its_line(write: Callable[..., Path]) -> None:
    write("x = 1\nraise RuntimeError('no')\n", "broken.py")
    found = problems(write("name: x\nplugins: [broken.py]\ntask: recall\n"))
    assert found == [
        "line 2: plugins[0]: fails when it is loaded: RuntimeError: no (broken.py:2). Correct the plugin"
    ]


def test_what_a_plugin_that_fails_may_register_is_no_second_mistake(write: Callable[..., Path]) -> None:
    write("def broken() -> None:\n    raise RuntimeError('no')\n", "helper.py")
    write("import helper\n\nhelper.broken()\n", "own.py")
    study = "name: x\nplugins: [own.py]\ntask: recall\nfactors:\n  model.norm: [own]\nseed: 3\n"
    assert problems(write(study)) == [
        "line 2: plugins[0]: fails when it is loaded: RuntimeError: no (helper.py:2). Correct the plugin",
    ]
    found = problems(write("name: x\nworkload: own\nplugins: [own.py]\nmodel: {own: 1}\n"))
    assert [problem.partition(":")[0] for problem in found] == ["line 3"]


BROKEN_PART = """
    from ablate import register
    from ablate.components.scores import Score

    @register("score", "broken_{when}")
    class Broken(Score):
        def __init__(self, config, sizes):
            super().__init__(config, sizes)
            if "{when}" == "building":
                raise RuntimeError("not today")

        def logits(self, q, k):
            raise RuntimeError("not today")
"""


@pytest.mark.parametrize("when", ["building", "calling"])
@pytest.mark.parametrize("where", ["baseline", "factor"])
def test_a_part_of_a_user_that_raises_is_a_problem_of_the_study(
    write: Callable[..., Path], when: str, where: str
) -> None:
    write(BROKEN_PART.format(when=when), f"{when}.py")
    line = 10 if when == "building" else 13
    score, level = (f"broken_{when}", "dot") if where == "baseline" else ("scaled_dot", f"broken_{when}")
    found = problems(
        write(
            f"name: x\nplugins: [{when}.py]\ntask: recall\nmodel: {{mixer: {{score: {score}}}}}\n"
            f"factors:\n  model.mixer.score: [{level}]\n"
        )
    )
    assert any(f"cannot be built: RuntimeError: not today ({when}.py:{line}). Correct" in p for p in found), (
        found
    )
    assert where == "baseline" or all(p.startswith("line 6: factors.model.mixer.score[0]") for p in found)


def test_options_are_named_as_the_place_of_their_mistakes(toy_study: Path) -> None:
    found = problems(toy_study, sets=["model.nois=1", "model.noise=x", "nonsense"])
    assert "--set nonsense: must be PATH=VALUE, for instance training.lr=1e-3" in found
    assert any(p.startswith("--set model.nois=1: model.nois: unknown key") for p in found)
    assert "--set model.noise=x: model.noise: must be a number; given 'x'" in found


def test_a_factor_can_be_set_by_its_path(toy_study: Path) -> None:
    names = [v.name for v in prepare(toy_study, ["factors.model.effect=[0.4]"]).variants]
    assert names == ["baseline", "model.effect=0.4", "model.noise=0.3"]
    found = problems(toy_study, sets=["factors.model.effect=3", "seeds.x=1"])
    assert "--set factors.model.effect=3: factors.model.effect: must be a list; given 3" in found
    assert "--set seeds.x=1: seeds.x: unknown key; allowed: from, count" in found


@pytest.mark.parametrize("text", ["a: " + "[" * 3000, "name: x\nb: \x07\n"])
def test_text_that_yaml_cannot_take(write: Callable[..., Path], text: str) -> None:
    assert any("must be YAML" in problem for problem in problems(write(text)))


def test_two_plugins_of_one_name_are_refused(write: Callable[..., Path], tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "parts.py").write_text("")
    found = problems(write("name: x\nplugins: [a/parts.py, b/parts.py]\ntask: recall\n"))
    assert found == [
        "line 2: plugins[1]: has the name of another plugin; given 'b/parts.py'. Rename one of the files"
    ]


def test_a_plugin_that_takes_the_name_of_a_part_or_exits(write: Callable[..., Path]) -> None:
    write(
        "from ablate import register\n\n@register('norm', 'layer')\nclass L:\n    pass\n",
        "dup.py",
    )
    write("import sys\nsys.exit()\n", "leaves.py")
    found = problems(write("name: x\nplugins: [dup.py, leaves.py]\ntask: recall\n"))
    assert "AblateError: norm 'layer' is already registered by ablate.components.norms" in found[0]
    assert "choose another name (dup.py:3)" in found[0]
    assert "plugins[1]: fails when it is loaded: SystemExit (leaves.py:2)" in found[1]


def test_a_plugin_whose_config_is_no_config(write: Callable[..., Path]) -> None:
    part = "@register('norm', 'bare')\nclass N:\n    class Config:\n        scale: float = 1.0\n"
    write(f"from ablate import register\n\n{part}", "bare.py")
    found = problems(write("name: x\nplugins: [bare.py]\ntask: recall\n"))
    assert "norm 'bare': its Config must be a class of its own, from PartConfig" in found[0]


@pytest.mark.parametrize("base", ["", "(Workload)"])
def test_a_workload_that_is_not_one(base: str, write: Callable[..., Path]) -> None:
    imports = "from ablate import register\nfrom ablate.core.workload import Workload\n"
    write(f"{imports}\n@register('workload', 'bare')\nclass W{base}:\n    pass\n", "bare.py")
    assert problems(write("name: x\nworkload: bare\nplugins: [bare.py]\n")) == [
        "line 2: workload: must be a subclass of ablate.core.workload.Workload that defines `schema` and `train`; "
        "given 'bare'. Correct the plugin"
    ]


def test_a_file_that_contains_itself(write: Callable[..., Path]) -> None:
    assert any(
        "must not contain itself" in p
        for p in problems(write(f"name: x\n{TOY_HEAD}model: &a {{width: *a}}\n"))
    )


def test_the_best_weights_are_those_of_the_first_metric(write: Callable[..., Path]) -> None:
    text = """
        name: kept
        task: digits
        model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
        checkpoint: best
        metric: METRIC
        factors: {model.norm: [rms]}
        """
    assert problems(write(text.replace("METRIC", "loss"))) == [
        "line 5: checkpoint: keeps the weights that validation finds best by accuracy, and the study judges loss; "
        "given 'best'; allowed: none, final. Choose final, or judge accuracy"
    ]
    prepare(write(text.replace("METRIC", "accuracy")))
