"""The id of a trial changes if and only if something changes that its result depends on."""

import importlib

import pytest
from harness import TOY_STUDY, prepare

from ablate.base.registry import CATALOGUE
from ablate.core.workload import Workload
from ablate.study.sources import definitions

PLUGIN = '''
"""Parts of a user."""
import torch
from torch import nn

from ablate import PartConfig, register

SCALE = 2.0


def helper(x):
    """Doc."""
    return x * SCALE


@register("activation", "mine")
class Mine(nn.Module):
    """Doc."""

    class Config(PartConfig):
        power: int = 1
        "Doc."

    def __init__(self, config, sizes=None):
        super().__init__()

    def forward(self, x):
        return helper(x)


@register("activation", "other")
class Other(nn.Module):
    def __init__(self, config, sizes=None):
        super().__init__()

    def forward(self, x):
        return x * 3
'''


def ids(path, **options):
    return {cell.name: cell.trial.id for cell in prepare(path, **options).cells()}


def test_what_does_not_matter_leaves_the_ids(write, toy_study):
    known = ids(toy_study)
    assert ids(toy_study) == known
    text = TOY_STUDY.replace("name: toy\n", "name: another\nquestion: why\nnotes: x\nmetric: loss\n", 1)
    assert ids(write(text)) == known
    assert ids(toy_study, sets=["training.note=irrelevant"]) == known
    # What is spelled out is no change, nor is a level that is added.
    more = ids(toy_study, sets=["model.width=4", "factors={model.effect: [0.2, 0.7], model.noise: [0.3]}"])
    assert {name: more[name] for name in known} == known


@pytest.mark.parametrize("change", ["model.width=5", "training.steps=4", "task.name=die", "model.noise=0.11"])
def test_what_matters_changes_the_ids(toy_study, change):
    before, after = ids(toy_study), ids(toy_study, sets=[change])
    assert before["baseline seed 0"] != after["baseline seed 0"]
    # A variant that sets the path itself does not see the change.
    same = {name for name in before if before[name] == after.get(name)}
    assert all(change.partition("=")[0] in name for name in same)


@pytest.fixture
def reread(tmp_path):
    """Ids of a study whose plugin has the given source."""

    def reread(source):
        (tmp_path / "mine.py").write_text(source)
        (tmp_path / "s.yaml").write_text(
            "name: x\nplugins: [mine.py]\ntask: recall\nseeds: 1\n"
            "model: {d_model: 8, num_layers: 1}\n"
            "factors: {model.feedforward.activation: [mine, other]}\n"
        )
        return ids(tmp_path / "s.yaml")

    return reread


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("SCALE = 2.0", "SCALE = 2.5", {"mine"}),
        ("return x * SCALE", "return x + SCALE", {"mine"}),
        ("x * 3", "x * 4", {"other"}),
        ('"""Doc."""', '"""Another text."""', set()),
        ('"Doc."', '"Another text."', set()),
        ("x * 3", "x*3  # a comment", set()),
        ("\n\n\ndef helper", "\n\n\ndef unused():\n    return 1\n\n\ndef helper", set()),
    ],
)
def test_editing_a_part_changes_the_trials_that_use_it_and_no_others(reread, old, new, changed):
    before = reread(PLUGIN)
    assert old in PLUGIN
    after = reread(PLUGIN.replace(old, new))
    names = {
        name.partition("activation=")[2].partition(" ")[0] for name in before if before[name] != after[name]
    }
    assert names == changed


def test_the_sources_of_a_trial_leave_out_the_parts_that_it_does_not_use():
    CATALOGUE.load_builtin()
    loop = importlib.import_module("ablate.training.loop")
    workload = CATALOGUE.get("workload", "sequence")
    roots = [*workload().sources(None), CATALOGUE.get("topology", "encoder")]
    seen = definitions(roots)
    names = {name for _, name in seen}
    assert {"train", "build_model", "Block"} <= names, names
    assert loop.train.__name__ in names
    for slot in CATALOGUE.slots():
        for name in CATALOGUE.names(slot):
            part = CATALOGUE.get(slot, name)
            if slot not in ("workload", "topology") and part.__module__.startswith("ablate."):
                assert (part.__module__, part.__qualname__) not in seen, (
                    f"{slot} {name} is reached by every trial"
                )


def test_no_trial_stands_for_the_contract_of_workloads(toy_study):
    study = prepare(toy_study)
    assert type(study.workload).__mro__[1] is Workload
    seen = definitions([*study.workload.sources(study.config), Workload])
    assert "Record" in {name for _, name in seen}
    assert Workload.__module__ not in {module for module, _ in seen}


GAPS = {
    "decorated": (
        "TABLE = {}\n\ndef put(f):\n    TABLE[f.__name__] = f\n    return f\n\n@put\ndef g(x):\n    return x * 5\n",
        'return TABLE["g"](x)',
        ("x * 5", "x * 6"),
    ),
    "not type checking": (
        "from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    K = 5\n",
        "return x * K",
        ("K = 5", "K = 6"),
    ),
    "else": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    K = 1\nelse:\n    K = 5\n",
        "return x * K",
        ("K = 5", "K = 6"),
    ),
    "method": (
        "",
        "return self.twice(x)\n\n    def twice(self, x):\n        return x * 5",
        ("x * 5", "x * 6"),
    ),
    "alias": ("from math import cos as f\n", "return x * f(1)", ("cos as f", "sin as f")),
    "alias inside": ("", "import math as m\n        return x * m.e", ("math as m", "cmath as m")),
    "main": ("if __name__ == '__main__':\n    print(5)\n", "return x", ("print(5)", "print(6)")),
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("case", GAPS)
def test_an_edit_that_no_plain_name_leads_to(reread, case):
    extra, body, edit = GAPS[case]
    source = PLUGIN.replace("SCALE = 2.0", f"SCALE = 2.0\n{extra}").replace("return helper(x)", body)
    assert edit[0] in source
    before, after = reread(source), reread(source.replace(*edit))
    changed = {name for name in before if before[name] != after[name]}
    assert any("mine" in name for name in changed) == (case != "main")


@pytest.mark.slow
def test_a_module_beside_a_plugin_belongs_to_all_of_its_parts(tmp_path, reread):
    (tmp_path / "beside_mine.py").write_text("K = 5\n")
    source = PLUGIN.replace("import torch\n", "import torch\nfrom beside_mine import K\n")
    before = reread(source.replace("return helper(x)", "return x * K"))
    (tmp_path / "beside_mine.py").write_text("K = 6\n")
    after = reread(source.replace("return helper(x)", "return x * K"))
    assert [at for at in before if before[at] == after[at]] == ["baseline seed 0"]


@pytest.mark.slow
def test_moving_a_module_changes_no_id(tmp_path, reread):
    text = "import math\n\ndef root(x):\n    return x * math.sqrt(2)\n"
    sourced = PLUGIN.replace("import torch\n", "import torch\nfrom {0} import root\n")
    sourced = sourced.replace("return helper(x)", "return root(x)")
    known = []
    for name in ("beside_mine", "beside_moved"):
        (tmp_path / f"{name}.py").write_text(text)
        known.append(reread(sourced.replace("{0}", name)))
    assert known[0] == known[1]
    (tmp_path / "beside_moved.py").write_text(text.replace("sqrt", "exp"))
    assert reread(sourced.replace("{0}", "beside_moved")) != known[0]


@pytest.mark.slow
def test_a_name_that_ablate_resolves_lazily_is_the_definition_itself(reread):
    line = "from ablate import PartConfig, register\n"
    assert line in PLUGIN
    assert reread(PLUGIN) == reread(PLUGIN.replace(line, line.replace("ablate ", "ablate.base.registry ")))


def test_a_source_that_a_workload_names_counts_wherever_it_lies(tmp_path, monkeypatch):
    (tmp_path / "elsewhere_named.py").write_text("def trains():\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("elsewhere_named")
    assert definitions([module.trains]) == {("elsewhere_named", "trains")}
