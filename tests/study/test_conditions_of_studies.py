"""Conditions: patches of one trial's configuration, in each of which every variant is trained."""

import pytest
from harness import TOY, prepare, problems

from ablate.study.document import read_document
from ablate.study.facts import facts_of
from ablate.study.files import resolved_text

HEAD = f"""\
name: x
workload: toy
plugins: [{TOY}]
task: {{name: coin}}
factors: {{model.effect: [1.0]}}
seeds: 2
"""
OWN = """\
name: x
workload: {command: "python t.py --w {w} --lr {lr} --opt {opt} --seed {seed}", read: {loss: 'loss=(\\S+)'}}
config: {w: 256, lr: 1e-3, opt: adamw}
metrics: {loss: {direction: min, margin: 0.005}}
factors: {config.opt: [muon]}
seeds: 2
"""
WIDTHS = "conditions: {w256: {}, w512: {config.w: 512, config.lr: 5e-4}}\n"


def test_every_variant_is_trained_in_every_condition_under_its_patch(write):
    study = prepare(write(HEAD + "conditions: {narrow: {}, wide: {model.width: 9, training.steps: 5}}\n"))
    assert study.tasks == ["narrow", "wide"]
    models = {(cell.variant, cell.task): cell.trial.config for cell in study.cells()}
    assert [config["model"]["width"] for config in models.values()] == [4, 9, 4, 9]
    assert [config["training"]["steps"] for config in models.values()] == [3, 5, 3, 5]
    assert [config["model"]["effect"] for config in models.values()] == [0.0, 0.0, 1.0, 1.0]
    assert len({cell.id for cell in study.cells()}) == 8
    assert study.cells()[3].name == "model.effect=1.0 on wide seed 0"
    assert [task.name for task in facts_of(study).tasks] == ["narrow", "wide"]


def test_an_empty_condition_has_the_trials_of_the_study_without_conditions(write):
    alone = prepare(write(HEAD))
    several = prepare(write(HEAD + "conditions: {narrow: {}, wide: {model.width: 9}}\n"))
    assert {cell.id for cell in alone.cells()} == {
        cell.id for cell in several.cells() if cell.task == "narrow"
    }


def test_tasks_are_the_conditions_that_patch_the_task(write):
    text = HEAD.replace("task: {name: coin}\n", "")
    tasks = prepare(write(text + "tasks: [{name: coin}, {name: die}]\n"))
    conditions = prepare(write(text + "conditions: {coin: {task: {name: coin}}, die: {task: {name: die}}}\n"))
    assert tasks.tasks == conditions.tasks
    assert [cell.id for cell in tasks.cells()] == [cell.id for cell in conditions.cells()]


def test_a_condition_may_patch_a_part_of_the_task_or_another_task(write):
    head = "name: x\ntask: recall\nmodel: {d_model: 16, num_layers: 1}\nfactors: {model.norm: [batch]}\n"
    study = prepare(write(f"{head}conditions: {{long: {{task.seq_len: 9}}, digits: {{task: digits}}}}\n"))
    assert [config["task"]["name"] for config in study.variants[1].configs.values()] == ["recall", "digits"]
    assert study.variants[0].first_config["task"]["seq_len"] == 9


def test_own_code_is_run_under_the_patch_of_a_condition(write):
    write("print('loss=1')", "t.py")
    study = prepare(write(OWN + WIDTHS))
    commands = [study.workload.command_line(config, 0) for config in study.variants[1].configs.values()]
    assert [words[3] for words in commands] == ["256", "512"]
    assert [words[5] for words in commands] == ["0.001", "0.0005"]
    assert all("muon" in words for words in commands)


def test_the_resolved_study_has_its_conditions(write, tmp_path):
    study = prepare(write(HEAD + "conditions: {narrow: {}, wide: {model.width: 9}}\n"))
    again = tmp_path / "again.yaml"
    again.write_text(resolved_text(study, tmp_path))
    assert read_document(again).data["conditions"] == {"narrow": {}, "wide": {"model.width": 9}}
    assert [cell.id for cell in prepare(again).cells()] == [cell.id for cell in study.cells()]
    assert "conditions" not in resolved_text(prepare(write(HEAD)), tmp_path)


def test_a_study_that_is_judged_on_one_condition_has_no_other(write):
    whole = prepare(write(HEAD + "conditions: {narrow: {}, wide: {model.width: 9}}\n"))
    study = whole.judged_on(["wide"])
    assert (study.tasks, study.left_out_tasks) == (["wide"], ["narrow"])
    assert study.baseline_config["model"]["width"] == 9
    assert [cell.id for cell in study.cells()] == [cell.id for cell in whole.cells() if cell.task == "wide"]
    facts = facts_of(study)
    assert [task.name for task in facts.tasks] == ["wide"]
    assert facts.over.form == "each"
    assert all({*variant.parameters_by_part} == {"wide"} for variant in facts.variants)
    everywhere = whole.judged_on(["narrow", "wide"])
    assert (everywhere.tasks, everywhere.left_out_tasks) == (whole.tasks, [])


def test_an_option_sets_a_path_of_a_condition(write):
    text = HEAD + "conditions: {narrow: {}, wide: {model.width: 9}}\n"
    study = prepare(write(text), sets=["conditions.wide.model.width=8"])
    assert study.variants[0].configs["wide"]["model"]["width"] == 8


@pytest.mark.parametrize(
    ("conditions", "refused"),
    [
        (
            "{a: {}, b: {model.wdth: 9}}",
            "conditions.b.model.wdth: the path does not exist: model has no 'wdth'",
        ),
        ("{a: {}, b: {model.width: 0}}", "conditions.b.model.width: must be"),
        ("{b: {model.width: 13}}", "conditions.b.model.width: "),
        ("{b: {model.width: 4}}", "conditions.b: changes nothing"),
        ("{a: {}, b: {}}", "conditions.b: is the same condition as a"),
        ("{a: {model.width: 9}, b: {model.width: 9}}", "conditions.b: is the same condition as a"),
        ("{a b: {}}", "conditions.a b: is not a valid name for a condition"),
        ("{=a: {}}", "conditions.=a: is not a valid name for a condition"),
        ("{a: {}, b: {model.effect: 2.0}}", "conditions.b.model.effect: is also set under `factors`"),
        ("{a: {}, b: {model: {width: 9}}}", "conditions.b.model: is also set under `factors`"),
        ("[a, b]", "conditions: must be a mapping"),
    ],
)
def test_a_mistake_is_named_with_its_line(write, conditions, refused):
    (problem,) = problems(write(f"{HEAD}conditions: {conditions}\n"))
    assert refused in problem
    assert "line 7: " in problem


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("variants: {big: {model.width: 5}}\n", "is also set under `variants.big`"),
        ("design: {name: leave_one_out, stack: {model.width: 5}}\n", "is also set under `design.stack`"),
    ],
)
def test_a_condition_leaves_what_is_compared(write, text, refused):
    found = problems(write(f"{HEAD}{text}conditions: {{a: {{}}, b: {{model.width: 9}}}}\n"))
    assert [problem for problem in found if f"conditions.b.model.width: {refused}" in problem]


def test_conditions_are_refused_beside_tasks(write):
    text = HEAD.replace("task: {name: coin}", "tasks: [{name: coin}, {name: die}]")
    (problem,) = problems(write(text + "conditions: {a: {}, b: {model.width: 9}}\n"))
    assert "line 7: conditions: cannot be given beside `tasks`" in problem


def test_without_a_task_each_condition_gives_one(write):
    text = HEAD.replace("task: {name: coin}\n", "")
    (problem,) = problems(write(text + "conditions: {a: {}, b: {task: {name: die}}}\n"))
    assert "task: is required where a condition does not give its own" in problem


def test_an_ablation_path_keeps_one_condition(write):
    text = HEAD.replace("factors: {model.effect: [1.0]}", "design: {name: path, to: both}")
    both = "variants: {both: {model.effect: 1.0, model.noise: 0.2}}\n"
    (problem,) = problems(write(text + both + "conditions: {a: {}, b: {model.width: 9}}\n"))
    assert "conditions: must be one condition for `design: path`" in problem


def test_what_is_wrong_in_every_condition_is_said_once(write):
    text = HEAD + "model: {width: 13}\nconditions: {a: {}, b: {training.steps: 5}}\n"
    (problem,) = problems(write(text))
    assert "line 7: model.width: " in problem


def test_conditions_are_judged_by_one_metric(write):
    write("print('loss=1')", "t.py")
    found = problems(write(OWN + "conditions: {a: {}, b: {config.w: 512, metrics.loss.margin: 0.1}}\n"))
    assert found == [
        "line 7: conditions.b.metrics.loss.margin: cannot differ between conditions, which are judged alike"
    ]


def test_conditions_that_own_code_cannot_tell_apart_are_refused(write):
    write("print('loss=1')", "t.py")
    text = OWN.replace("--lr {lr}", "--lr {lr:.0e}")
    found = problems(write(text + "conditions: {a: {}, b: {config.lr: 1.1e-3}}\n"))
    assert found == [
        "line 7: conditions.b: has the same command as a: {lr} writes both values alike. "
        "Give the placeholder a format that keeps them apart"
    ]
