"""A script is run with other values of the named constants, and of nothing else; what is not certain is refused."""

import json
import os
import subprocess
import sys

import pytest
from harness import problems
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own import own_study

from ablate.external import script as script_module
from ablate.external.cautions import assigning
from ablate.external.script import (
    UNREADABLE,
    Constants,
    NotReplaceable,
    copied,
    edited,
    literal,
    parsed_source,
)

# Statements that bind A, each after `A = 1`.
BINDING = (
    *(
        "A = 2",
        "A, B = 7, 8",
        "[A, *B] = 1, 2",
        "*A, B = 1, 2",
        "A += 1",
        "A: int = 2",
        "del A",
        "x = (A := 2)",
    ),
    *(
        "for A in (2,): pass",
        "for B, (A, C) in (): pass",
        "with open('x') as A: pass",
        "with o as (A, B): pass",
    ),
    *(
        "try: pass\nexcept OSError as A: pass",
        "try: pass\nfinally: A = 2",
        "if x:\n\tA = 2",
        "while A: A = 0",
    ),
    *("import os as A", "import A", "import A.b", "from os import path as A", "from A import *"),
    *(
        "def A(): pass",
        "async def A(): pass",
        "class A: pass",
        "[(A := i) for i in ()]",
        "x = lambda: 0; A = 2",
    ),
    *("match x:\n case [A]: pass", "match x:\n case {**A}: pass", "match x:\n case [*A]: pass", "A = A = 3"),
    *("match x:\n case int() as A: pass", "def f():\n global A\n A = 2", "class C:\n global A\n A = 2"),
    *("def f():\n def g():\n  global A\n  for A in (): pass", "def f():\n global A\n import A"),
    *(
        "def f(x=(A := 2)): pass",
        "@(A := f)\ndef f(): pass",
        "async def f():\n global A\n A = 2",
    ),
    *("print(f'{(A := 2)}')", "A = 1; A = 1", "def f():\n global A\n del A"),
)
# Statements that leave A alone.
HARMLESS = (
    *("def f(A=2): A = 3", "class C: A = 2", "[A for A in (2,)]", "f = lambda A: A", "A: int", "x.A = 2"),
    *("x = {'A': 2}", "f(A=2)", "from os import *  # before\nA = 1"),
)
# Scripts in which A is not a plain constant.
NOT_PLAIN = (
    "A = B = 1",
    "B = A = 1",
    "A, B = 1, 2",
    "(A,) = 1,",
    "if x: A = 1",
    "for A in (): pass",
    "A = (B := 1)",
)


@pytest.mark.parametrize("statement", BINDING)
def test_a_name_that_anything_else_binds_is_refused(statement):
    for source in (f"A = 1\n{statement}\n", f"A = 1\nif x:\n pass\n{statement}"):
        with pytest.raises(NotReplaceable, match=r"^A: .*line"):
            edited(source.encode(), {"A": 5})


@pytest.mark.parametrize("source", NOT_PLAIN)
def test_a_name_that_is_not_assigned_alone_at_the_top_level_is_refused(source):
    with pytest.raises(NotReplaceable, match=r"^A: .*line 1 "):
        edited(source.encode(), {"A": 5})


def test_names_of_other_scopes_do_not_count():
    for statement in HARMLESS[:-1]:
        assert edited(f"A = 1\n{statement}\n".encode(), {"A": 5}) == f"A = 5\n{statement}\n".encode()
    assert edited(HARMLESS[-1].encode(), {"A": 5}).endswith(b"\nA = 5")


@pytest.mark.parametrize(
    ("source", "copy"),
    [
        (b"\xef\xbb\xbfA = 1\nB = 2", b"\xef\xbb\xbfA = 5\nB = 2"),
        (b"\xef\xbb\xbf# coding: utf-8\r\nA = 1\r\n", b"\xef\xbb\xbf# coding: utf-8\r\nA = 5\r\n"),
        (
            "# coding: latin-1\nB = 'é'; A = 'é'\n".encode("latin-1"),
            "# coding: latin-1\nB = 'é'; A = 5\n".encode("latin-1"),
        ),
        (
            "# coding: cp1251\nB = 'Ж'; A = 1".encode("cp1251"),
            "# coding: cp1251\nB = 'Ж'; A = 5".encode("cp1251"),
        ),
        ("B = 'é𝔸'; A = 1 # é".encode(), "B = 'é𝔸'; A = 5 # é".encode()),
        (b"B = '''\r\n'''\rA = 1\rC = 3\r\n", b"B = '''\r\n'''\rA = 5\rC = 3\r\n"),
        ("# \u2028 \x85 \x1c\n\f\n\fA = 1\n".encode(), "# \u2028 \x85 \x1c\n\f\n\fA = 5\n".encode()),
        (b"A = (  # one\n  1 +\n\t2\n)\nB = 3\n", b"A = (  # one\n  5\n)\nB = 3\n"),
        (b"A = \\\n  1; B = 2", b"A = \\\n  5; B = 2"),
        (b"A = 'x' f'{1}' \\\n 'y'\nB = 1", b"A = 5\nB = 1"),
        (b"A=-1\n", b"A=5\n"),
        (b"A:float=1if B else-1#c", b"A:float=5#c"),
        (b"A = 1, 2\n", b"A = 5\n"),
        (b"A = [\n1,\n2]; B = {'a': 1}", b"A = 5; B = {'a': 1}"),
    ],
)
def test_every_other_byte_stays(source, copy):
    assert edited(source, {"A": 5}) == copy


@pytest.mark.parametrize(
    "source",
    [
        "A = 1\n".encode("utf-16"),
        b"A = 1  # \xff",
        b"A = 1\n\0",
        b"# coding: none\nA = 1",
        b"\xef\xbb\xbf# coding: latin-1\nA = 1",
        b"A = 1\nreturn",
        b"A = 1\n  B = 2",
        b"A = " + b"-" * 100_000 + b"1",
        b"A = 1\nB = " + b"1 + " * 20_000 + b"1",
        b"A = " + b"(" * 300 + b"1" + b")" * 300,
    ],
)
def test_what_python_cannot_read_is_refused(source):
    with pytest.raises(UNREADABLE):
        edited(source, {"A": 5})


def test_several_values_of_one_line_and_of_every_kind():
    values = {"A": "'\"\n\\\0é\ud800{x}", "B": [1, [True, None], {"a": -0.5, "": 2**70}], "C": float("-inf")}
    names = run(edited(b"float = None\nA = 1; B = 2; C = 3; D = 4", values))
    assert {name: names[name] for name in "ABCD"} == {**values, "D": 4}
    assert str(run(edited(b"A = 1", {"A": [float("nan")]}))["A"]) == "[nan]"


def run(source: bytes) -> dict[str, object]:
    """The names of a script after its run."""
    names: dict[str, object] = {}
    exec(compile(source, "script", "exec"), names)
    return names


NAMES = st.sampled_from(["A", "B", "C", "é", "_x"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)
ENDS = st.sampled_from(["\n", "\r\n", "\r", " # é\n", "; ", "\n\f\n", "\n\n"])
FORMS = st.sampled_from(
    ["{n}={v}", "{n} = ({v})", "{n}: int = {v}", "{n} = (\n {v}\n )", "{n} =\\\n {v}", "é2 = 'é'; {n} = {v}"]
)
OTHER = st.sampled_from(
    [
        *(
            "{n} = B = 1",
            "{n}, C = 1, 2",
            "{n} += 'x' if type({n}) is str else []",
            "for {n} in (1, 2): pass",
            "if 1: {n} = 3",
        ),
        *(
            "def f():\n global {n}\n {n} = 1\nf()",
            "class {n}: pass",
            "import os as {n}",
            "x = [{n} for {n} in (1,)]",
        ),
        *(
            "def f({n}): return {n}",
            "x = ({n} := 4)",
            "class D: {n} = 5",
            "'''é\n'''",
            "# é {n} = 1",
            "del {n}",
        ),
    ]
)


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """A small script: assignments in many forms, and statements that may bind the same names."""
    text = ""
    for _ in range(draw(st.integers(1, 6))):
        is_other = draw(st.integers(0, 3)) == 0
        form = draw(OTHER if is_other else FORMS)
        end = "\n" if is_other else draw(ENDS)
        text += form.format(n=draw(NAMES), v=literal(draw(VALUES))) + end
    return text


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[*HealthCheck])
@given(scripts(), st.data(), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_a_run_of_the_copy_has_the_new_value_of_a_name_and_the_old_of_all_others(text, data, encoding):
    source = text.encode(encoding)
    try:
        constants = Constants.of(parsed_source(source)).names()
        before = run(source)
    except Exception:
        return  # no script that runs
    if not constants:
        return
    values = data.draw(st.fixed_dictionaries(dict.fromkeys(constants[:2], VALUES)))
    after = run(edited(source, values))
    for name in {*before, *after} - {"__builtins__", "__annotations__", "f", "D", "x"}:
        assert literal(after[name]) == literal(values[name] if name in values else before[name]), name


def test_the_copy_runs_beside_its_neighbours_but_not_with_their_bytecode(tmp_path):
    """Bytecode of a copy that was written in the same second, as long as this one, would count as its own."""
    own, copies = tmp_path / "own", tmp_path / "copies"
    (own / "__pycache__").mkdir(parents=True)
    copies.mkdir()
    (own / "train.py").write_bytes(b"\xef\xbb\xbfA = 0.1\nif __name__ == '__main__':\n    import beside\n")
    (own / "beside.py").write_text("import train\nprint(train.A)")
    copy = copied(own / "train.py", {"A": 0.2}, copies)
    done = subprocess.run([sys.executable, str(copy)], capture_output=True, text=True, check=True)
    assert float(done.stdout) == 0.2
    assert not [*(own / "__pycache__").iterdir()]


@pytest.mark.parametrize("place", [".", "jobs", "jobs/new"])
def test_paths_from_the_copy_lead_where_they_lead_from_the_script(place, tmp_path, monkeypatch):
    own = tmp_path / "own"
    copies = tmp_path / "copies"
    (own / "jobs/new").mkdir(parents=True)
    copies.mkdir()
    (own / "helper.py").write_text("B = 7")
    (own / "jobs/train.py").write_text(
        "import sys\nfrom pathlib import Path\nA = 1\nabove = Path(__file__).resolve().parents[1]\n"
        "sys.path.append(f'{Path(__file__).parent}/..')\nimport helper\n"
        "print(A, helper.B, *sorted(path.name for path in above.glob('[!_]*')))"
    )
    monkeypatch.chdir(own / place)
    monkeypatch.setenv("ABLATE_COPY", str(own))
    script = os.path.relpath(own / "jobs/train.py")
    monkeypatch.setenv("ABLATE_DIR", str(copies))
    done = subprocess.run(
        [sys.executable, script_module.__file__, script, '{"A": 2}'], capture_output=True, text=True
    )
    assert done.stdout.split() == ["2", "7", "helper.py", "jobs"], done.stderr


def test_a_study_of_a_script_is_refused_by_name_with_the_line(tmp_path):
    (tmp_path / "train.py").write_text(
        "A = B = 0.1\nC = 1\nC, D = 7, 8\nE = 1\ndef f():\n    global E\n    E = 2\nSEED = 1\n"
    )
    (tmp_path / "broken.py").write_text("A = 1\nB = (\n")
    study = own_study(
        "script",
        workload={"script": "train.py", "seed": "SEED"},
        config=dict.fromkeys("ABCDEF", 1) | {"SEED": 3},
    )
    found = " ".join(problems(written(tmp_path, study | {"factors": {"config.A": [2]}})))
    assert found.count("is not assigned once, alone, at the top level of train.py") == 6
    for place, lines in {
        "A": "line 1",
        "C": "2 times, in lines 2, 3",
        "D": "line 3",
        "E": "2 times, in lines 4, 7",
    }.items():
        assert f"config.{place}" in found
        assert lines in found
    assert "config.SEED: is given by the study" in found
    found = problems(written(tmp_path, study | {"workload": {"script": "broken.py"}, "config": {"A": 1}}))
    assert any("workload.script: cannot be read as Python: line 2" in problem for problem in found), found

    (tmp_path / "keys.py").write_text("A = {1: 2}\n")
    study |= {
        "workload": {"script": "keys.py"},
        "config": {"A": {"1": 3}},
        "factors": {"config.A": [{"1": 4}]},
    }
    assert any("config.A: has keys in" in problem for problem in problems(written(tmp_path, study)))


def test_settings_of_one_path_are_refused(tmp_path):
    config = {"a": {"b": 1}, "a.b": 2, "c": 1}
    study = own_study("command", workload={"command": "t {a.b}"}, config=config, factors={"config.c": [2]})
    found = problems(written(tmp_path, study))
    assert any("config: has two settings of this path; given 'a.b'" in problem for problem in found), found


def written(folder, study):
    path = folder / "study.yaml"
    path.write_text(json.dumps(study))
    return path


def test_what_may_assign_constants_unseen_is_named(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "A = 1\nexec(open('x').read())\nglobals()['A'] = 2\nglobals().update(A=3)\nprint(globals()['A'])\n"
    )
    assert [place.split(": ")[0] for place in assigning(script)] == ["train.py:2", "train.py:3", "train.py:4"]
