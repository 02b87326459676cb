"""Null, switches and lists in a command, as each library takes them; and which library the program shows."""

import pytest

from ablate.external.command import filled
from ablate.external.dialect import DIALECTS, Unwritten, described
from ablate.external.told_dialect import ToldDialect, always_true, options_with, told_dialect

VALUES = {"on": True, "off": False, "null": None, "b": [0.9, 0.95], "t": ["a", "b c", "null"], "none": []}


@pytest.mark.parametrize(
    ("dialect", "command", "words"),
    [
        (
            "argparse",
            "{on} --x={off} {b} --b={b} {none}",
            ["True", "--x=False", "0.9", "0.95", "--b=0.9 0.95"],
        ),
        ("hydra", "x={on} y={off} z={null}", ["x=true", "y=false", "z=null"]),
        ("hydra", "b={b} {t} {none} {b:.1f}", ["b=[0.9,0.95]", '[a,"b c","null"]', "[]", "[0.9,0.9]"]),
        ("fire", "--x={on} --y {off} --z={null}", ["--x=True", "--y", "False", "--z=None"]),
        ("fire", "--b {b} {t}", ["--b", "[0.9,0.95]", '["a","b c","null"]']),
        ("tyro", "--x {off} --z {null} --b {b}", ["--x", "False", "--z", "None", "--b", "0.9", "0.95"]),
        ("click", "--x {off} --b {b}", ["--x", "false", "--b", "0.9", "0.95"]),
        ("absl", "--x={off} --b {b} {none}", ["--x=false", "--b", "0.9,0.95", ""]),
        *[(dialect, "{on:--x|--no-x} {off:--y|--noy}", ["--x", "--noy"]) for dialect in DIALECTS],
    ],
)
def test_a_value_is_written_as_the_library_takes_it(dialect, command, words):
    assert filled(command, VALUES, dialect) == words


@pytest.mark.parametrize(
    ("dialect", "command", "setting", "rule", "hint"),
    [
        (None, "t --z {null}", "null", "is null, which programs write in different ways", "`dialect: NAME`"),
        (None, "t z={on}", "on", "is on, which programs write", "{on:--on|--no-on} or {on:--on}"),
        (None, "t {b}", "b", "is the list [0.9, 0.95], which", "a text in place of it"),
        ("argparse", "t --z {null}", "null", "for which argparse has no notation", "`null: off`"),
        ("click", "t --z {null}", "null", "for which click has no notation", "{null:--null=VALUE}"),
        ("absl", "t --x {off}", "off", "absl takes the word behind a flag", "{off:--off|--nooff}"),
    ],
)
def test_what_has_no_notation_is_refused_with_the_ways_out(dialect, command, setting, rule, hint):
    with pytest.raises(Unwritten) as raised:
        filled(command, VALUES, dialect)
    assert raised.value.name == setting
    assert rule in raised.value.rule
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("dialect", "value", "said"),
    [
        ("argparse", [None], "is null"),
        ("argparse", [[1]], "a list or a section"),
        ("hydra", [{"a": 1}], "a list or a section"),
        ("hydra", ["a\\b"], "backslash"),
        ("absl", ["a,b"], "comma"),
    ],
)
def test_a_list_that_cannot_be_written_is_refused(dialect, value, said):
    with pytest.raises(Exception, match=said):
        filled("t {x}", {"x": value}, dialect)


def test_a_list_of_lists_stands_in_brackets():
    assert filled("t {x}", {"x": [[1, 2], [None, True]]}, "hydra") == ["t", "[[1,2],[null,true]]"]


def test_every_dialect_is_described():
    assert described("hydra") == (
        "null is null; a switch true or false; a list [a,b]; a nested key a.b=VALUE"
    )
    assert all(described(dialect) for dialect in DIALECTS)


IMPORTS = {
    "argparse": "import argparse",
    "hydra": "import hydra",
    "fire": "def main():\n    import fire",
    "tyro": "from tyro import cli",
    "click": "import click as c",
    "absl": "from absl import app, logging",
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_program_tells_its_dialect(tmp_path, dialect):
    (tmp_path / "train.py").write_text(f"import os\n{IMPORTS[dialect]}\n")
    told = told_dialect(["python", "train.py", "{x}"], tmp_path)
    line = IMPORTS[dialect].count("\n") + 2
    assert told == ToldDialect(dialect, f"train.py:{line} imports {dialect}")


@pytest.mark.parametrize(
    ("files", "words", "told"),
    [
        ({"t.py": "import omegaconf"}, ["t.py"], ToldDialect("hydra", "t.py:1 imports omegaconf")),
        (
            {"t.py": "import cli", "cli.py": "import tyro", "other.py": "import fire"},
            ["t.py"],
            ToldDialect("tyro", "cli.py:1 imports tyro"),
        ),
        (
            {"t.py": "import cli, click", "cli.py": "import tyro"},
            ["t.py"],
            ToldDialect("click", "t.py:1 imports click"),
        ),
        (
            {"t.py": "import argparse\nfrom omegaconf import OmegaConf"},
            ["t.py"],
            ToldDialect(None, "argparse at t.py:1 and omegaconf at t.py:2"),
        ),
        ({"p/t.py": "import fire"}, ["-m", "p.t"], ToldDialect("fire", "t.py:1 imports fire")),
        (
            {"c.py": "import click", "train.py": "import argparse"},
            ["c.py", "train"],
            ToldDialect("click", "c.py:1 imports click"),
        ),
        ({"t.py": "from absl import logging"}, ["t.py"], ToldDialect(None, "")),
        ({"t.py": "from .click import x\nimport firewall"}, ["t.py"], ToldDialect(None, "")),
        ({}, ["gone.py"], ToldDialect(None, "")),
    ],
)
def test_the_dialect_is_that_of_the_program_or_of_what_it_imports(tmp_path, files, words, told):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert told_dialect(["python", *words], tmp_path) == told


def test_options_to_which_false_is_true(tmp_path):
    file = tmp_path / "train.py"
    file.write_text("p.add_argument('-a', '--amp', type=bool)\np.add_argument('--lr', type=float)\n")
    assert dict(always_true([file])) == {"-a": "train.py:1", "--amp": "train.py:1"}
    assert [*options_with("amp", ["t", "--amp", "{amp}", "--x={amp}", "{amp:--y}"])] == ["--amp", "--x"]
