"""How many random faults the fast tests find: `python -m tests.freeze.mutations` writes `mutations.json`.

A fixed seed draws statements that work (no import, definition or docstring) of the rooms that change, and a fault for
each. Each is put into a copy of the tree, never into the tree itself, and met with the fast tests of its room: first
those that name its module, until one fails or they have used their time on the processor.
"""

import argparse
import ast
import importlib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = (
    *("core", "records", "study", "search", "speed", "route", "analysis", "tracking", "report"),
    *("features", "commands"),
)
"""Those that change; one that is not there, or no longer, has no statements."""
BESIDE = {"route": ["commands"], "core": ["analysis", "study"]}
"""Room → other rooms whose tests are its own too."""
FLIPPED = {
    **{
        ast.Lt: ast.GtE,
        ast.GtE: ast.Lt,
        ast.Gt: ast.LtE,
        ast.LtE: ast.Gt,
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
    },
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{
        ast.Add: ast.Sub,
        ast.Sub: ast.Add,
        ast.Mult: ast.Div,
        ast.Div: ast.Mult,
        ast.And: ast.Or,
        ast.Or: ast.And,
    },
}
PLAIN = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Pass,
    ast.Assert,
)
NAME = re.compile(r"[\w.@=-]+")
HEAVY = (
    "matplotlib.pyplot",
    "mlflow",
    "optuna",
    "pandas",
    "pytest",
    "scipy.stats",
    "seaborn",
    "statsmodels.api",
    "torch",
)
"""Imported once, before each fault gets a fork of this process; nothing of `ablate`."""
SEED, COUNT, SECONDS = 22, 100, 12
"""SECONDS on the processor for the tests of one fault."""


@dataclass(frozen=True)
class Fault:
    """`new` in place of what stands from `start` to `end`, both (line from 1 on, byte)."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    old: str
    new: str

    @property
    def room(self) -> str:
        return self.path.split("/")[1]

    def __str__(self) -> str:
        cut = [" ".join(text.split())[:70] for text in (self.old, self.new)]
        return f"{self.path}:{self.start[0]}: {cut[0]} → {cut[1]}"

    def within(self, source: bytes) -> bytes:
        """The source with the fault."""
        lines = source.splitlines(keepends=True)
        (first, left), (last, right) = self.start, self.end
        middle = lines[first - 1][:left] + self.new.encode() + lines[last - 1][right:]
        return b"".join([*lines[: first - 1], middle, *lines[last:]])


def expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement itself, without statements inside of it, annotations and the parts of f-strings."""
    todo = [*ast.iter_child_nodes(statement)]
    while todo:
        node = todo.pop()
        apart = isinstance(node, (ast.stmt, ast.JoinedStr, ast.ExceptHandler, ast.match_case))
        if not apart and node is not getattr(statement, "annotation", None):
            yield node
            todo += ast.iter_child_nodes(node)


def changed(node: ast.AST) -> Iterator[str]:
    """What a node may be replaced by."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED:
        ops = [FLIPPED[type(node.ops[0])](), *node.ops[1:]]
        yield f"({ast.unparse(ast.Compare(node.left, ops, node.comparators))})"
    elif isinstance(node, ast.BoolOp):
        yield f"({ast.unparse(ast.BoolOp(FLIPPED[type(node.op)](), node.values))})"
    elif isinstance(node, ast.BinOp) and type(node.op) in FLIPPED:
        yield f"({ast.unparse(ast.BinOp(node.left, FLIPPED[type(node.op)](), node.right))})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.IfExp):
        yield f"({ast.unparse(ast.IfExp(node.test, node.orelse, node.body))})"
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, (bool, int, float)):
            yield str(not node.value if isinstance(node.value, bool) else node.value + 1)
        elif isinstance(node.value, str) and NAME.fullmatch(node.value):
            yield repr(node.value + "x")  # a name or a code; sentences are not drawn


def faults_of(statement: ast.stmt, path: str, source: str) -> list[Fault]:
    """All that may be done to one statement."""

    def fault(node: ast.AST, new: str) -> Fault:
        old = ast.get_source_segment(source, node) or ""
        start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return Fault(path, start, end, old, new)

    found = [fault(node, new) for node in expressions(statement) for new in changed(node)]
    if isinstance(statement, (ast.If, ast.While)):
        found.append(fault(statement.test, f"(not ({ast.unparse(statement.test)}))"))
    elif isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Continue, ast.Break)):
        found.append(fault(statement, "pass"))
    elif isinstance(statement, ast.Return) and statement.value is not None:
        found.append(fault(statement, "return None"))
    return found


def drawn(only: str, count: int, seed: int) -> list[Fault]:
    """`count` faults, each of another statement."""
    chances = []
    for room in [only] if only else ROOMS:
        for path in sorted((ROOT / "ablate" / room).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(source)):
                said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
                if isinstance(node, ast.stmt) and not isinstance(node, PLAIN) and not said:
                    chances.append(faults_of(node, str(path.relative_to(ROOT)), source))
    chances = [found for found in chances if found]
    rng = random.Random(seed)
    return [rng.choice(found) for found in rng.sample(chances, min(count, len(chances)))]


def tests_of(fault: Fault, tree: Path) -> list[str]:
    """Test files: of its room those named after the module, all that import it, then the others of its room."""
    module, stem = fault.path.removesuffix(".py").replace("/", "."), Path(fault.path).stem
    parts = [*Path(fault.path).parts[1:-1], *BESIDE.get(fault.room, [])]
    files = [path for part in parts for path in sorted((tree / "tests" / part).rglob("test_*.py"))]
    near = [path for path in files if stem in path.stem]
    known = [path for path in sorted((tree / "tests").rglob("test_*.py")) if path.parent.name != "freeze"]
    near += [path for path in known if re.search(rf"\b{module}\b", path.read_text(encoding="utf-8"))]
    return [str(path.relative_to(tree)) for path in dict.fromkeys([*near, *files])]


def met(fault: Fault, base: Path, scratch: Path) -> str:
    """The first test that fails with the fault in a copy of the tree; empty where none does."""
    tree = Path(tempfile.mkdtemp(dir=scratch)) / "tree"
    shutil.copytree(base, tree, copy_function=os.link, symlinks=True)
    source = (tree / fault.path).read_bytes()
    (tree / fault.path).unlink()
    (tree / fault.path).write_bytes(fault.within(source))
    pid = os.fork()
    if not pid:
        try:
            _test(fault, tree)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(70)
    began, status = time.monotonic(), 0
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        time.sleep(0.1)
        if time.monotonic() - began > 30 * SECONDS:
            os.killpg(pid, signal.SIGKILL)
    status = ended[1]
    said = (tree.parent / "output").read_text(encoding="utf-8", errors="replace")
    shutil.rmtree(tree.parent, ignore_errors=True)
    if os.WIFSIGNALED(status) or not os.WEXITSTATUS(status):  # their time was over, or all pass
        return ""
    named = re.search(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
    if os.WEXITSTATUS(status) not in (
        1,
        2,
        4,
    ):  # a test has failed, could not be collected, or no conftest be loaded
        raise RuntimeError(f"{fault}: {said}")
    return named[1] if named else said.strip().splitlines()[-1]


def _test(fault: Fault, tree: Path) -> None:
    """In a process of its own, which ends with pytest."""
    import pytest

    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 2))
    output = os.open(tree.parent / "output", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    os.environ["PYTHONPATH"] = str(tree)
    words = [
        "-q",
        "-x",
        "--assert=plain",
        "-p",
        "no:cacheprovider",
        "--timeout",
        "60",
        "-m",
        "not slow and not browser",
    ]
    code = pytest.main([*words, "--basetemp", str(tree.parent / "temp"), *tests_of(fault, tree)])
    sys.stdout.flush()
    os._exit(int(code))


def copied(folder: Path) -> Path:
    """A clone with what is not committed yet."""
    subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(folder)], check=True)
    listed = ["git", "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard"]
    for name in filter(
        None, subprocess.run(listed, cwd=ROOT, capture_output=True, text=True).stdout.split("\0")
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", default="", metavar="ROOM", help="faults of this room alone; nothing is written"
    )
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    faults = drawn(given.only, given.count, given.seed)
    os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in HEAVY:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="ablate-mutations-") as scratch:
        base, killers = copied(Path(scratch) / "base"), []
        with multiprocessing.get_context("fork").Pool(given.jobs) as pool:
            for fault, killer in zip(
                faults, pool.imap(partial(met, base=base, scratch=Path(scratch)), faults), strict=True
            ):
                killers.append(killer)
                print(f"{'killed' if killer else 'ALIVE '} {fault}  {killer}", flush=True)
    drawn_in = Counter(fault.room for fault in faults)
    killed = Counter(fault.room for fault, killer in zip(faults, killers, strict=True) if killer)
    rooms = {room: f"{killed[room]} of {drawn_in[room]}" for room in sorted(drawn_in)}
    found = {"seed": given.seed, "killed": f"{killed.total()} of {len(faults)}", "rooms": rooms}
    alive = sorted(str(fault) for fault, killer in zip(faults, killers, strict=True) if not killer)
    print(json.dumps(found, indent=1))
    if not given.only:
        text = json.dumps({**found, "alive": alive}, indent=1, ensure_ascii=False)
        Path(__file__).with_name("mutations.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
