"""The JSON Schema of study files, judged by an independent validator: what `prepare` takes, it takes."""

import copy
import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from harness import TOY, TOY_STUDY, ablate_here, prepare
from jsonschema import Draft202012Validator

from ablate.base.registry import CATALOGUE
from ablate.commands.guide import text_of
from ablate.commands.templates.own_code import create_part
from ablate.commands.templates.study import study_text
from ablate.stages import CONFIGS
from ablate.study.document import read_document
from ablate.study.files import resolved_text
from ablate.study.json_schema import study_schema
from ablate.study.load import load

ROOT = Path(__file__).parents[2]


@functools.cache
def validator_of(workload: str) -> Draft202012Validator:
    CATALOGUE.load_builtin()
    schema = study_schema(CATALOGUE.get("workload", workload)(), CONFIGS)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(json.loads(json.dumps(schema)))


@pytest.fixture(scope="module")
def validator():
    return validator_of("sequence")


def problems(validator, data):
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(data)]


BASE = {"name": "x", "task": "recall"}


@pytest.mark.parametrize("path", sorted((ROOT / "studies").glob("*.yaml")), ids=lambda path: path.name)
def test_shipped_studies_are_valid(path):
    data = read_document(path).data
    workload = "function" if "workload" in data else "sequence"
    assert not problems(validator_of(workload), data)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "name", ["quickstart", "fair-low-rank", "atlas/02-cost", "stability", "sweep-digits"]
)
def test_resolved_studies_are_valid(validator, name, tmp_path):
    (tmp_path / "study.yaml").write_text(resolved_text(prepare(ROOT / f"studies/{name}.yaml"), tmp_path))
    assert not problems(validator, read_document(tmp_path / "study.yaml").data)
    # What an older version resolved is read as well.
    load(read_document(ROOT / f"results/{name}/study.yaml"), CONFIGS)


def test_the_guides_and_a_new_study_are_valid(validator, tmp_path):
    text = text_of("study")
    (study,) = [b for b in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "claims:" in b]
    for index, content in enumerate((study, study_text("new", "digits", schema_is_there=True))):
        path = tmp_path / f"{index}.yaml"
        path.write_text(content)
        assert not problems(validator, read_document(path).data)


@pytest.mark.parametrize(
    "change",
    [
        {"task": {"name": "recall", "seq_len": 9}},
        {"seeds": [0, 3, 7]},
        {"task": {"name": "digits", "patch_size": None}},
        {"model": {"mixer": {"num_heads": 2}}},
        {"model": {"feedforward": {"activation": {"name": "gelu"}}}},
        {"model": {"residual": "off"}},
        {"placebo": "on"},
        {"speed": "on"},
        {"speed": {"over": {"task.seq_len": [8, 16, 32]}, "calls": ["step"]}, "metric": {"target": 0.9}},
        {"metric": {"name": "accuracy", "margin": 1}},
        {"training": {"lr": 1, "clip_norm": None}},
        {"factors": {"model.norm": ["batch", {"name": "layer", "eps": 1e-3}, {"eps": 1e-3}]}},
        {"factors": {"model.mixer": [{"num_heads": 1}], "model.mixer.score.hidden": [4]}},
        {"factors": {"model.dropout": [{"residual": 0.1}], "model.residual": ["off"], "task.seq_len": [7]}},
        {
            "variants": {
                "bare": {"model.position": "none", "model.mixer.value": {"name": "low_rank", "rank": 2}}
            }
        },
    ],
)
def test_short_forms_are_valid(validator, change):
    assert not problems(validator, BASE | change)


def test_several_tasks_stand_for_one(validator):
    assert not problems(validator, {"name": "x", "tasks": ["recall", {"name": "digits"}]})
    assert problems(validator, BASE | {"tasks": ["digits"]})
    assert problems(validator, {"name": "x"})


def test_conditions_stand_beside_one_task_or_for_several(validator):
    wide = {"narrow": {}, "wide": {"model.d_model": 128}}
    assert not problems(validator, BASE | {"conditions": wide})
    assert not problems(validator, {"name": "x", "conditions": {"digits": {"task": "digits"}}})
    assert problems(validator, {"name": "x", "tasks": ["recall", "digits"], "conditions": wide})
    assert problems(validator, BASE | {"conditions": ["narrow"]})


def test_the_forms_of_verdicts_over_conditions(validator):
    several = BASE | {"conditions": {"narrow": {}, "wide": {"model.d_model": 128}}}
    forms = {"over": "every", "along": "model.d_model", "scale": {"wide": 2}, "family": "ordered"}
    assert not problems(validator, several | forms)
    for wrong in ({"over": "sample"}, {"along": 5}, {"scale": {"wide": 0}}, {"family": "some"}):
        assert problems(validator, several | wrong), wrong


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"metrics": "accuracy"}, "$"),
        ({"name": "a b"}, "$.name"),
        ({"task": {"name": "recall", "patch_size": 2}}, "$.task"),
        ({"model": {"positon": "none"}}, "$.model"),
        ({"model": {"norm": {"name": "none", "eps": 1e-3}}}, "$.model.norm"),
        ({"model": {"mixer": {"score": {"name": "dot", "hidden": 2}}}}, "$.model.mixer"),
        ({"model": {"d_model": 0}}, "$.model.d_model"),
        ({"model": {"residual": "yes"}}, "$.model.residual"),
        ({"model": {"dropout": {"residual": 1.0}}}, "$.model.dropout.residual"),
        ({"seeds": 0}, "$.seeds"),
        ({"seeds": [3, 3]}, "$.seeds"),
        ({"workload": "toy"}, "$.workload"),
        ({"factors": {"model.mixer.score": "dot"}}, "$.factors['model.mixer.score']"),
        ({"claims": "a beats b"}, "$.claims"),
    ],
)
def test_mistakes_are_found_where_they_stand(validator, change, where):
    found = problems(validator, BASE | change)
    assert len(found) == 1, found
    assert found[0].startswith(f"{where}: ")


def test_every_part_and_parameter_is_there_with_its_meaning(validator):
    definitions = validator.schema["$defs"]
    slots = {key.split(".")[1] for key in definitions if key.startswith("slot.")}
    assert slots == set(CATALOGUE.slots()) - {"workload"}
    for slot in slots:
        for name in CATALOGUE.names(slot):
            part = definitions[f"{slot}.{name}"]
            assert part["additionalProperties"] is False
            fields = CATALOGUE.get(slot, name).Config.model_fields
            assert set(part["properties"]) == set(fields)
            for key, field in fields.items():
                if key != "name":
                    assert part["properties"][key]["description"] == field.description
                    if not field.is_required():
                        assert part["properties"][key]["default"] == field.default
    top = validator.schema["properties"]
    assert all(
        "description" in top[name] for name in top if name not in ("task", "tasks", "model", "training")
    )


OVER = {"training.lr": {"float": [1e-4, 1e-1]}}


@pytest.mark.parametrize(
    ("given", "valid"),
    [
        ({"sampler": "grid"}, True),
        ({"sampler": {"name": "tpe", "group": "on"}}, True),
        ({"sampler": "GPSampler"}, True),
        ({"sampler": {"name": "GPSampler", "n_startup_trials": 5}}, True),
        ({"pruner": {"name": "PatientPruner", "wrapped_pruner": None, "patience": 3}}, True),
        ({"sampler": "tpee"}, False),
        ({"sampler": {"name": "tpe", "n_startup": 5}}, False),
        ({"sampler": {"n_startup_trials": 5}}, False),
        ({"sampler": {"name": "CmaEsSampler", "x0": {"a": 1}}}, False),
        ({"pruner": "percentile"}, False),
    ],
)
def test_samplers_and_pruners_are_parts_or_look_like_a_class(validator, given, valid):
    for section in ("search", "tune"):
        found = problems(validator, BASE | {section: {"over": OVER} | given})
        assert (not found) == valid, found


@pytest.mark.slow
def test_a_schema_is_made_without_optuna():
    code = "import sys\nfrom ablate.cli import main\nmain(['schema'], standalone_mode=False)\n"
    code += "assert 'optuna' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


PARTS = '''
from typing import Annotated, Any

from ablate import PartConfig, register
from ablate.base.registry import Slot
from ablate.models.attention import Attention


@register("mixer", "both")
class Both(Attention):
    """One, then the other."""

    causal = True
    padding = True
    any_length = True
    attends = True

    class Config(PartConfig):
        first: Annotated[Any, Slot("mixer", default="attention")] = "attention"
        "The first."
        rank: int
        "Has no default."
        rates: dict[str, float] = {}
        "By name."
'''


@pytest.mark.slow
def test_parts_of_plugins_that_hold_their_like(tmp_path):
    (tmp_path / "own.py").write_text(PARTS)
    done = ablate_here("schema", "--plugin", "own.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    schema = json.loads(done.stdout)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    inner = {"name": "both", "rank": 2, "first": {"num_heads": 2}}
    good = BASE | {"model": {"mixer": {"name": "both", "rank": 1, "first": inner}}}
    assert not problems(validator, good)
    bad = copy.deepcopy(good)
    bad["model"]["mixer"]["first"]["first"]["heads"] = 2
    assert problems(validator, bad)
    # It cannot stand by its name alone.
    assert problems(validator, BASE | {"model": {"mixer": "both"}})


@pytest.mark.slow
def test_what_plugins_register_is_known(validator, tmp_path):
    create_part("norm", tmp_path / "my_norm")
    (tmp_path / "my_task.py").write_text(
        "from ablate import register\nfrom ablate.tasks.recall import Recall\n\n\n"
        "@register('task', 'my_task')\nclass MyTask(Recall):\n    pass\n"
    )
    done = ablate_here("schema", "--plugin", "my_norm.py", "--plugin", "my_task.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    known = Draft202012Validator(json.loads(done.stdout))
    assert known.is_valid(read_document(tmp_path / "my_norm.yaml").data)
    data = BASE | {"task": {"name": "my_task", "num_pairs": 2}}
    assert known.is_valid(data | {"model": {"norm": "my_norm"}})
    assert not validator.is_valid(data)
    data["task"]["num_pairs"] = "long"
    assert not known.is_valid(data)


def test_of_another_workload(tmp_path):
    done = ablate_here("schema", "--workload", "toy", "--plugin", TOY, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    validator = Draft202012Validator(json.loads(done.stdout))
    (tmp_path / "study.yaml").write_text(TOY_STUDY)
    study = read_document(tmp_path / "study.yaml").data
    assert not problems(validator, study)
    assert problems(validator, study | {"model": {"efect": 1}})
    del study["workload"]
    assert problems(validator, study)
