"""The pipeline on one screen, and the page of the guide that lists it."""

import ast
import inspect
import re

from ablate.commands.guide import text_of
from ablate.pipeline import run


def calls() -> list[tuple[str, str]]:
    """The functions and classes that `run_study` calls by their own names, in order, each with its file."""
    module = ast.parse(inspect.getsource(run))
    imports: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("ablate."):
            for alias in node.names:
                imports[alias.name] = f"{str(node.module).removeprefix('ablate.').replace('.', '/')}.py"
    [function] = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    named = [
        node for node in ast.walk(function) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    named.sort(key=lambda call: (call.lineno, call.col_offset))
    names = [call.func.id for call in named if call.func.id in imports and call.func.id != "RunOutcome"]
    return [(name, imports[name]) for name in names]


def test_the_guide_lists_the_pipeline_as_it_is():
    listed = re.findall(r"^\d+\. `(\w+)` \(`([\w/]+\.py)`\)", text_of("architecture"), re.MULTILINE)
    assert listed == [(name, file) for name, file in calls()]


def test_the_pipeline_fits_on_one_screen_and_calls_each_function_once():
    names = [name for name, _ in calls()]
    assert len(names) == len(set(names))
    assert len(inspect.getsource(run.run_study).splitlines()) <= 60
