"""How many random faults the fast tests find: `python -m tests.freeze.mutations` writes `mutations.json`.

A seed draws statements that work (no import, definition or docstring) of the rooms that change, and a fault for each.
Each is put into a clone of what is committed, never into the tree itself, and met with the fast tests of its room,
first those that name its module: until one fails, hangs, or their time is over. A test that hangs finds its fault; time
that is over does not. The file keeps the figures `before` the rooms changed; a run writes `now`.
"""

import argparse
import ast
import contextlib
import importlib
import json
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
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("mutations.json")
ROOMS = ("core", "records", "study", "search", "features", "route", "analysis", "tracking", "report")
ALSO = {"route": ["commands"], "core": ["analysis", "study"], "features": ["report"]}
"""Room → other rooms whose tests are its own too."""
OPPOSITE = (
    *((ast.Lt, ast.GtE), (ast.Gt, ast.LtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
    *((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.And, ast.Or)),
)
FLIPPED = {one: other for pair in OPPOSITE for one, other in (pair, pair[::-1])}
SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Continue, ast.Break)
IDLE = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass, ast.Assert)
NAME = re.compile(r"[\w.@=-]+")
HEAVY = ("matplotlib.pyplot", "mlflow", "optuna", "pandas", "pytest", "scipy.stats")
HEAVY += ("statsmodels.api", "torch")
"""Imported once, before each fault gets a fork of this process; nothing of `ablate`."""
SEED, COUNT = 22, 100
PROCESSOR, WALL, HANGS = 12, 40, 30
"""Seconds that the tests of a fault may take of the processor and of the clock, and that one test may take."""


class Fault(NamedTuple):
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
        old, new = (" ".join(text.split())[:70] for text in (self.old, self.new))
        return f"{self.path}:{self.start[0]}: {old} → {new}"

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


def replacement(node: ast.AST) -> str:
    """What a node may be replaced by; empty where by nothing."""
    match node:
        case ast.Compare(left, [op, *ops], values) if type(op) in FLIPPED:
            return f"({ast.unparse(ast.Compare(left, [FLIPPED[type(op)](), *ops], values))})"
        case ast.BoolOp(op, values):
            return f"({ast.unparse(ast.BoolOp(FLIPPED[type(op)](), values))})"
        case ast.BinOp(left, op, right) if type(op) in FLIPPED:
            return f"({ast.unparse(ast.BinOp(left, FLIPPED[type(op)](), right))})"
        case ast.UnaryOp(ast.Not(), operand):
            return f"({ast.unparse(operand)})"
        case ast.IfExp(test, body, orelse):
            return f"({ast.unparse(ast.IfExp(test, orelse, body))})"
        case ast.Constant(bool(value)):
            return str(not value)
        case ast.Constant(int(value) | float(value)):
            return str(value + 1)
        case ast.Constant(str(value)) if NAME.fullmatch(value):
            return repr(value + "x")  # a name or a code; sentences are not drawn
    return ""


def faults_of(statement: ast.stmt, path: str, source: str) -> list[Fault]:
    """All that may be done to one statement."""
    changes: list[tuple[Any, str]] = [(node, replacement(node)) for node in expressions(statement)]
    if isinstance(statement, (ast.If, ast.While)):
        changes.append((statement.test, f"(not ({ast.unparse(statement.test)}))"))
    elif isinstance(statement, SIMPLE):
        changes.append((statement, "pass"))
    elif isinstance(statement, ast.Return) and statement.value is not None:
        changes.append((statement, "return None"))
    found = []
    for node, new in filter(itemgetter(1), changes):
        start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        found.append(Fault(path, start, end, ast.get_source_segment(source, node) or "", new))
    return found


def drawn(paths: list[Path], count: int, seed: int) -> list[Fault]:
    """`count` faults of some modules, each of another statement."""
    chances = []
    for path in paths:
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            described = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.stmt) and not isinstance(node, IDLE) and not described:
                chances.append(faults_of(node, str(path.relative_to(ROOT)), source))
    chances = [found for found in chances if found]
    rng = random.Random(seed)
    return [rng.choice(found) for found in rng.sample(chances, min(count, len(chances)))]


def tests_of(fault: Fault, tree: Path) -> list[str]:
    """Test files: of its room those named after the module, all that import it, then the others of its room."""
    module, stem = fault.path.removesuffix(".py").replace("/", "."), Path(fault.path).stem
    parts = [*Path(fault.path).parts[1:-1], *ALSO.get(fault.room, [])]
    files = [path for part in parts for path in sorted((tree / "tests" / part).rglob("test_*.py"))]
    near = [path for path in files if stem in path.stem]
    known = [path for path in sorted((tree / "tests").rglob("test_*.py")) if path.parent.name != "freeze"]
    near += [path for path in known if re.search(rf"\b{module}\b", path.read_text(encoding="utf-8"))]
    return [str(path.relative_to(tree)) for path in dict.fromkeys([*near, *files])]


def killer(fault: Fault, base: Path, tests: list[str]) -> str:
    """The first test that fails with the fault in a copy of the tree; empty where none does."""
    with tempfile.TemporaryDirectory(dir=base.parent, ignore_cleanup_errors=True) as scratch:
        tree = Path(scratch) / "tree"
        shutil.copytree(base, tree, copy_function=os.link, symlinks=True)
        source = (tree / fault.path).read_bytes()
        (tree / fault.path).unlink()
        (tree / fault.path).write_bytes(fault.within(source))
        pid = os.fork()
        if not pid:
            try:
                _test(tree, tests or tests_of(fault, tree))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(70)
        began, (ended, status) = time.monotonic(), (0, 0)
        while not ended:
            time.sleep(0.1)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended and time.monotonic() - began > WALL + 2 * HANGS:
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what a test has left
        output = (Path(scratch) / "output").read_text(encoding="utf-8", errors="replace")
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return "hangs"
    if code in (0, 3):  # all pass, or their time is over
        return ""
    if code == 70:
        raise RuntimeError(f"{fault}: {output}")
    named = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    return named[1] if named else output.strip().splitlines()[-1]


class _Time:
    """Ends a session of pytest whose time is over, between two tests."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    def pytest_runtest_logstart(self) -> None:
        import pytest

        if time.process_time() > PROCESSOR or time.monotonic() - self.began > WALL:
            pytest.exit("their time is over", returncode=3)


def _test(tree: Path, tests: list[str]) -> None:
    """In a process of its own, which ends with pytest."""
    import pytest

    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR + HANGS, PROCESSOR + HANGS + 2))
    output = os.open(tree.parent / "output", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    os.environ["PYTHONPATH"] = str(tree)
    words = ["-q", "-x", "--assert=plain", "-p", "no:cacheprovider", "--timeout", str(HANGS)]
    words += ["-m", "not slow and not browser", "--basetemp", str(tree.parent / "temp")]
    code = pytest.main([*words, *tests], plugins=[_Time()])
    sys.stdout.flush()
    os._exit(int(code))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    only = "modules or folders to draw from, without a record"
    parser.add_argument("--only", nargs="+", default=[], metavar="PATH", help=only)
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATH", help="in place of the room's")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    places = [ROOT / path for path in given.only or [f"ablate/{room}" for room in ROOMS]]
    paths = [path for place in places for path in (sorted(place.rglob("*.py")) or [place])]
    os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in HEAVY:
        importlib.import_module(name)
    killed, alive = Counter[str](), []
    faults = drawn(paths, given.count, given.seed)
    with tempfile.TemporaryDirectory(prefix="ablate-mutations-", ignore_cleanup_errors=True) as scratch:
        base = Path(scratch) / "base"
        subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(base)], check=True)
        for fault in faults:
            began = time.monotonic()
            found = killer(fault, base, given.tests)
            killed[fault.room] += bool(found)
            alive += [] if found else [str(fault)]
            spent = f"{time.monotonic() - began:.0f} s"
            print(f"{'killed' if found else 'ALIVE '} {spent} {fault}  {found}", flush=True)
    rooms = Counter(fault.room for fault in faults)
    now: dict[str, Any] = {"seed": given.seed, "killed": f"{killed.total()} of {len(faults)}"}
    now["rooms"] = {room: f"{killed[room]} of {drawn_in}" for room, drawn_in in sorted(rooms.items())}
    print(json.dumps(now, indent=1))
    if not given.only and not given.tests:
        kept = json.loads(RECORD.read_text(encoding="utf-8")) | {"now": {**now, "alive": sorted(alive)}}
        RECORD.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
