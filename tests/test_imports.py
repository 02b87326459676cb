"""The map of the house: imports point down this list and never up, there are no circles, nothing lies loose."""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "ablate"
ORDER = (
    *("base", "core", "components", "tasks", "models", "training", "external", "study", "search", "records"),
    *("execution", "analysis", "tracking", "report", "session", "stages", "pipeline", "commits", "runs"),
    *("commands", "cli", "__init__", "__main__"),
)
"""From the cellar to the door: a module imports what stands before its own room, and its own room."""
FACES = {"__init__.py", "__main__.py", "cli.py"}
Graph = dict[str, set[str]]


@functools.cache
def nodes() -> dict[Path, list[ast.AST]]:
    """File of the package → all nodes of its syntax."""
    return {path: [*ast.walk(ast.parse(path.read_text()))] for path in sorted(ROOT.rglob("*.py"))}


def graph() -> Graph:
    """Module → the modules of the package that it imports, also inside functions and for types alone."""
    known = {name(path) for path in nodes()}
    return {name(path): imported(of_module, known) for path, of_module in nodes().items()}


def name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(of_module: Iterable[ast.AST], known: set[str]) -> set[str]:
    found: set[str] = set()
    for node in of_module:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & known


def imported_by(text: str, known: set[str]) -> set[str]:
    return imported(ast.walk(ast.parse(text)), known)


def room(module: str) -> int:
    return ORDER.index([*module.split("."), "__init__"][1])


def upward(modules: Graph) -> list[str]:
    return [
        f"{module} imports {other}"
        for module, others in modules.items()
        for other in others
        if room(other) > room(module) and other != "ablate"
    ]


def circles(modules: Graph) -> list[str]:
    """Modules that reach themselves."""
    found = []
    for start in modules:
        seen, todo = set(), [start]
        while todo:
            todo += [other for other in modules[todo.pop()] - seen if not seen.add(other)]  # type: ignore[func-returns-value]
        if start in seen:
            found.append(start)
    return found


def test_every_module_is_in_a_room_of_the_list():
    assert {path.name for path in ROOT.glob("*.py")} == FACES
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == set(ORDER) - {
        face.removesuffix(".py") for face in FACES
    }


@pytest.mark.slow
def test_imports_point_down_the_list():
    assert not upward(graph())


def test_there_are_no_circles():
    assert not circles(graph())


@pytest.mark.slow
def test_imports_that_point_up_in_a_function_and_in_a_circle_are_found():
    modules = graph()
    modules["ablate.study.claims"] |= imported_by("def f():\n    import ablate.stages.stress", {*modules})
    assert upward(modules) == ["ablate.study.claims imports ablate.stages.stress"]
    modules = graph()
    modules["ablate.base.text"] |= imported_by("from ablate.base import files", {*modules})
    modules["ablate.base.files"] |= imported_by("import ablate.base.text", {*modules})
    assert {"ablate.base.text", "ablate.base.files"} <= set(circles(modules))


@pytest.mark.slow
def test_what_is_heavy_is_loaded_only_where_it_is_used():
    """In one process, in which each line may load what those before it may, and more."""
    numbers = "pandas scipy matplotlib seaborn"
    absent = {
        "ablate.cli": f"torch mlflow optuna {numbers} numpy pydantic rich",
        "ablate, ablate.study.drafting, ablate.execution.worker": f"torch mlflow optuna {numbers}",
        "ablate.search.samplers, ablate.search.pruners": f"torch mlflow optuna {numbers}",
        "ablate.report.terminal, ablate.pipeline.reports.cache, ablate.tracking.tracker": f"torch mlflow {numbers}",
        "ablate.pipeline.reporter": f"torch mlflow {numbers}",
        "ablate.analysis.compare, ablate.report.sections.headline": "torch mlflow matplotlib seaborn",
        "ablate.report.sections.curves, ablate.report.sections.differences": "torch mlflow matplotlib seaborn",
        "ablate.report.sections.cost, ablate.report.sections.interaction": "torch mlflow matplotlib seaborn",
        "ablate.report.page": "torch mlflow matplotlib seaborn",
    }
    code = "import sys\n"
    for modules, names in absent.items():
        code += f"import {modules}\nfound = set(sys.modules) & {set(names.split())}\n"
        code += f"assert not found, ({modules!r}, found)\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


LOOK_UPS = {
    "base/registry.py": "parts of a slot",
    "cli.py": "a command by the name of its file",
    "commits/hook/sitecustomize.py": "the one that this file hides",
    "external/hook/sitecustomize.py": "the one that this file hides",
    "external/runner.py": "the training function of a user",
    "tasks/characters.py": "a text that comes with Python",
}
"""The files that import a module by its name; Optuna's classes are attributes of its packages."""
NAMES = {
    "ablate.tracking.process": "started as a process before the driver has what it imports",
    "ablate.study": "a tag of MLflow",
    "ablate.report": "a tag of MLflow",
    "xlink:href": "an attribute of SVG",
}


@pytest.mark.slow
def test_a_module_is_imported_by_name_in_the_known_places_alone():
    found = {
        path.relative_to(ROOT).as_posix()
        for path, of_module in nodes().items()
        for node in of_module
        if (isinstance(node, ast.Call | ast.Attribute) and "import_module" in ast.dump(node))
        or (isinstance(node, ast.Name) and node.id == "__import__")
    }
    assert found == LOOK_UPS.keys()


def test_no_name_of_code_stands_in_a_string():
    """As the dotted name of a module of the package, or as `module:function`."""
    modules = {*graph()} - {"ablate"}
    found = {
        node.value
        for of_module in nodes().values()
        for node in of_module
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value in modules or METHOD.fullmatch(node.value)
    }
    assert found == NAMES.keys()


@pytest.mark.slow
def test_no_room_asks_which_workload_it_has():
    """What the pipeline wants of a workload is a method of its contract, so that a plugin can give it too."""
    imports = {(module, other) for module, others in graph().items() for other in others & WORKLOADS}
    assert all(room(module) == room(other) for module, other in imports)
    asked = [
        f"{path.relative_to(ROOT)}: {ast.unparse(node)}"
        for path, of_module in nodes().items()
        for node in of_module
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass")
        if re.search(r"workload$", ast.unparse(node.args[0])) and ast.unparse(node.args[-1]) != "dict"
    ]
    assert not asked


def test_paths_of_the_built_in_config_are_known_in_its_rooms_alone():
    found = {
        path.relative_to(ROOT).as_posix()
        for path, of_module in nodes().items()
        if path.relative_to(ROOT).parts[0] not in ("training", "models", "tasks", "components")
        for node in of_module
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and BUILT_IN.fullmatch(node.value)
    }
    assert found == PATHS.keys()


WORKLOADS = {"ablate.training.workload", "ablate.external.workload", "ablate.external.script_workload"}
"""The modules that hold classes of workloads."""
BUILT_IN = re.compile(r"(task|model|training)(\.[a-z_]+)+")
PATHS = {
    "commands/templates/study.py": "a new study of the built-in workload",
    "runs/ends/run_ends.py": "the name of a file, `model.safetensors`",
    "stages/match/section.py": "an example in the schema of studies",
    "stages/stress.py": "an example in the schema of studies",
}
METHOD = re.compile(r"[a-z_.]+:[a-z_]+|[a-z_.]+:[A-Z_]{2,}")
