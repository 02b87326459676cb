"""The pipeline on one screen, and the page of the guide that lists it."""

import ast
import inspect
import re

from ablate.commands.guide import text_of
from ablate.pipeline import run

METHODS_OF = {"session": "session/session.py", "reporter": "pipeline/reporter.py"}
"""The objects of a run whose methods are its steps, each with its file."""


def calls() -> list[tuple[str, str]]:
    """The functions, classes and methods that `run_study` calls as its steps, in order, each with its file."""
    module = ast.parse(inspect.getsource(run))
    imports: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("ablate."):
            for alias in node.names:
                imports[alias.name] = f"{str(node.module).removeprefix('ablate.').replace('.', '/')}.py"
    [function] = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    called = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    called.sort(key=lambda call: (call.lineno, call.col_offset))
    steps: list[tuple[str, str]] = []
    for name in (ast.unparse(call.func) for call in called):
        owner = name.partition(".")[0]
        if owner in METHODS_OF:
            steps.append((name, METHODS_OF[owner]))
        elif name in imports and name != "RunOutcome":
            steps.append((name, imports[name]))
    return steps


def test_the_guide_lists_the_pipeline_as_it_is():
    listed = re.findall(r"^\d+\. `([\w.]+)` \(`([\w/]+\.py)`\)", text_of("architecture"), re.MULTILINE)
    assert listed == [(name, file) for name, file in calls()]


def test_the_pipeline_fits_on_one_screen_and_calls_each_function_once():
    names = [name for name, _ in calls()]
    assert len(names) == len(set(names))
    assert len(inspect.getsource(run.run_study).splitlines()) <= 60
