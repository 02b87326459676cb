"""How many random faults the fast tests find: `python -m tests.freeze.mutations` writes `mutations.json`.

A fixed seed draws statements that work (no import, definition or docstring) of the rooms that change, and a fault for
each. Each is put into a copy of the tree, never into the tree itself, and met with the fast tests of its room: first
those that name its module, until one fails or they have used their time on the processor.
"""

import argparse
import ast
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[2]
ROOMS = (
    *("core", "records", "study", "search", "speed", "stages", "route", "analysis", "tracking", "report"),
    *("features", "commands"),
)
"""Those that change; one that is not there, or no longer, has no statements."""
BESIDE = {"stages": ["commands"], "route": ["commands", "stages"], "core": ["analysis", "study"]}
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
SEED, COUNT, SECONDS = 22, 100, 30
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
    """Test files: those that name the module, or are named after it, then the others of its room."""
    module, stem = fault.path.removesuffix(".py").replace("/", "."), Path(fault.path).stem
    parts = [*Path(fault.path).parts[1:-1], *BESIDE.get(fault.room, [])]
    files = [path for part in parts for path in sorted((tree / "tests" / part).rglob("test_*.py"))]
    near = [path for path in files if stem in path.stem]
    near += [path for path in files if module in path.read_text(encoding="utf-8")]
    return [str(path.relative_to(tree)) for path in dict.fromkeys([*near, *files])]


def met(fault: Fault, tree: Path) -> str:
    """The first test that fails with the fault in a copy of the tree; empty where none does."""
    path = tree / fault.path
    before = path.read_bytes()
    path.write_bytes(fault.within(before))
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout", "60"]
    environment = os.environ | {
        "PYTHONPATH": str(tree),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(
            [*words, "-m", "not slow and not browser", *tests_of(fault, tree)],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=10 * SECONDS,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5)),
        )
    except subprocess.TimeoutExpired:
        return ""
    finally:
        path.write_bytes(before)
    if done.returncode <= 0:  # all pass, or their time was over
        return ""
    named = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return named[1] if named else f"exit code {done.returncode}"


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
    trees: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="ablate-mutations-") as scratch:
        for job in range(given.jobs):
            trees.put(copied(Path(scratch) / str(job)))

        def meet(fault: Fault) -> str:
            tree = trees.get()
            try:
                killer = met(fault, tree)
            finally:
                trees.put(tree)
            print(f"{'killed' if killer else 'ALIVE '} {fault}  {killer}", flush=True)
            return killer

        with ThreadPoolExecutor(given.jobs) as pool:
            killers = list(pool.map(meet, faults))
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
