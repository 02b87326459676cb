"""An option is declared once: the field gives the click option, the keyword in Python, its text and its domain."""

import inspect
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import ablate
from ablate.base.errors import AblateError, Invalid, shown
from ablate.base.numerals import POSITIVE
from ablate.cli import main
from ablate.commands._options import in_python, options_of
from ablate.runs.options import AnalysisOptions
from ablate.session.option import check_options, option, pairs_by_name, read_options
from ablate.session.options import Options


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Options of all kinds."""

    metric: str = option("", "Column of the metric.", read=str)
    margin: float | None = option(None, "Margin.", domain=POSITIVE)
    way: str | None = option(None, "Direction.", choices=("max", "min"))
    claims: str | Sequence[str] = option((), "A claim.", flag="--claim", texts=True, in_python="Claims.")
    also: Mapping[str, str] = option(
        {}, "A metric.", multiple=True, type=(str, str), read=pairs_by_name("--also", "must name each once")
    )
    replicates: bool = option(False, "Are replicates.")
    in_python_alone: bool = option(False, "In Python.", flag=None)

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class Call(Asked):
    """Options with one of the command line alone."""

    file: str = option("", "File.", after="margin")


@in_python(Asked)
def judge(runs: str, options: Asked) -> Asked:
    """Judges runs."""
    return options


@click.command()
@options_of(Call)
def command(**given):
    click.echo(repr(read_options(Call, given)))


def called(*words):
    return CliRunner().invoke(command, words)


def test_both_ways_make_the_same_of_what_is_given():
    words = ["--metric", "3", "--margin", "0.1", "--way", "max", "--claim", "a", "--also", "b", "max"]
    done = called(*words, "--replicates")
    mine = judge("r", metric=3, margin=0.1, way="max", claims="a", also={"b": "max"}, replicates=True)
    told = {each.name: getattr(mine, each.name) for each in fields(Asked)}
    assert done.output == f"{Call(**told)!r}\n"
    assert judge(runs="r") == Asked()
    assert called().output == f"{Call()!r}\n"


def test_both_ways_refuse_the_same():
    wrong = {"margin": -1.0, "way": "up"}
    for name, value in wrong.items():
        with pytest.raises(AblateError, match=f"^{name}: must be"):
            judge("r", **{name: value})
        assert called(f"--{name}", value).exit_code == 2
    for name, value in {"replicates": "no", "claims": 3}.items():
        with pytest.raises(AblateError, match=f"^{name}: must be"):
            judge("r", **{name: value})
    again = called("--also", "b", "max", "--also", "b", "min")
    assert str(again.exception) == "--also: must name each once; given 'b'"


def test_a_keyword_that_no_field_has_is_refused_with_the_nearest():
    for name in ("margn", "file"):
        with pytest.raises(TypeError, match=rf"^judge\(\) has no keyword '{name}'"):
            judge("r", **{name: 1})
    with pytest.raises(TypeError):
        judge()
    with pytest.raises(TypeError):
        judge("r", "loss")


def test_signature_text_and_help_come_from_the_fields():
    signature = inspect.signature(judge)
    assert [*signature.parameters] == ["runs", *(each.name for each in fields(Asked))]
    assert signature.parameters["also"].default == {}
    assert "    claims: Claims.\n" in judge.__doc__
    assert [each.opts[0] for each in command.params] == [
        *("--metric", "--margin", "--file", "--way", "--claim", "--also", "--replicates")
    ]


@pytest.mark.parametrize(
    ("function", "kind"), [(ablate.run, Options), (ablate.analyse, AnalysisOptions)], ids=["run", "analyse"]
)
def test_every_option_is_a_keyword_and_has_its_line_in_python(function, kind):
    parameters = [*inspect.signature(function).parameters]
    assert parameters[1:] == [each.name for each in fields(kind)]
    for name in parameters:
        assert f"\n    {name}: " in function.__doc__


def test_the_help_of_a_command_loads_nothing_heavy():
    code = "import sys\nimport ablate.commands.analyse, ablate.commands.run\n"
    code += "assert not {'numpy', 'pandas', 'torch', 'pydantic', 'rich'} & {*sys.modules}, sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["also", "column", "made_with", "read"])
@pytest.mark.parametrize("given", ["a", 3, [3]])
def test_what_is_no_mapping_is_refused_by_its_name(name, given):
    with pytest.raises(Invalid) as caught:
        ablate.analyse("runs.csv", **{name: given})
    assert caught.value.problems[0].path[0].strip("-") == name


@pytest.mark.parametrize(
    ("name", "given", "allowed"),
    [
        ("at", None, "a text"),
        ("at", 3, "a text"),
        ("baseline", ["x"], "a text"),
        ("metric", None, "a text"),
        ("seed", ["x"], "a text"),
        ("results", 3, "a text or a path or None"),
        ("name", ["x"], "a text or None"),
        ("name", 3, "a text or None"),
        ("resolution", None, "a finite number"),
        ("margin", "x", "a finite number"),
        ("experiment", 3, "a text"),
        ("known_noise", 3, "a text or a path or None"),
        ("replicates", None, "true or false"),
        ("compare", 3, "one of these"),
        ("where", None, "a list of texts"),
        ("claim", (3,), "a list of texts"),
        ("read", {"loss": 3}, "a mapping of texts"),
        ("made_with", {"data": 3}, "a mapping of texts"),
    ],
)
def test_an_option_of_another_type_is_refused_before_runs_are_read(name, given, allowed):
    with pytest.raises(AblateError, match=f"^{name}: must be {allowed}") as refused:
        ablate.analyse("no runs", **{name: given})
    assert f"given {shown(given)}" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("engine", 3),
        ("engine", None),
        ("jobs", "2"),
        ("tracking_uri", Path("runs.db")),
        ("results", 3),
        ("results", None),
        ("only", None),
        ("sets", 3),
        ("seeds", "three"),
        ("seeds", 1.5),
        ("seed", [1]),
        ("fresh", None),
        ("confirm", "yes"),
    ],
)
def test_an_option_of_a_run_of_another_type_is_refused_before_the_study_is_read(name, given):
    with pytest.raises(AblateError, match=f"^{name}: must be") as refused:
        ablate.run("no study", **{name: given})
    assert f"given {shown(given)}" in str(refused.value)


def test_values_of_numpy_and_paths_are_taken():
    AnalysisOptions(margin=np.float64(0.1), results=Path("results"), known_noise="noise.json")
    Options(jobs=np.int64(2), results="results", seeds=(np.int64(1),))


def test_a_command_takes_no_option_that_no_field_is():
    with pytest.raises(AssertionError, match="Asked has no option margn"):
        options_of(Asked, "margn")


@pytest.mark.parametrize(
    "words",
    [
        ("run", "study.yaml", "--seeds", "3", "--seeds", "2"),
        ("plan", "--results", "a", "study.yaml", "--results=a"),
        ("analyse", "runs.csv", "--variant", "a", "--variant", "b"),
        ("compare", "--seeds", "3", "--seeds", "2", "a", "b", "--", "python", "train.py"),
        ("list", "--results", "a", "--results", "b"),
    ],
)
def test_an_option_of_one_value_is_refused_where_it_has_two(words):
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "takes one value, and is given 2 times" in done.output


def test_options_of_several_values_and_flags_may_be_repeated():
    words = ["--set", "a=1", "--set", "b=2", "--only", "a", "--only", "b", "--fresh", "--fresh"]
    done = CliRunner().invoke(main, ["run", "no study", *words])
    assert "takes one value" not in done.output
    assert "no study: does not exist" in done.output


def test_options_of_a_command_that_is_compared_are_its_own():
    words = ["a", "b", "--", "python", "train.py", "--seeds", "3", "--seeds", "2"]
    assert "takes one value" not in CliRunner().invoke(main, ["compare", *words]).output
