"""What several tests share: the toy study, and the command line."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ablate.session.stage import Stage
    from ablate.study.study import Study

TOY = Path(__file__).parent / "toy.py"

TOY_STUDY = f"""
name: toy
workload: toy
plugins: [{TOY}]
task: {{name: coin}}
factors:
  model.effect: [0.2]
  model.noise: [0.1, 0.3]
seeds: 3
"""
TOY_CLAIMED = (
    TOY_STUDY
    + """\
metric: {name: accuracy, margin: 0.05}
placebo: on
claims:
  - model.effect=0.2 beats baseline on accuracy
  - model.noise=0.3 beats baseline on accuracy
"""
)
"""The first claim is supported, the second stays open."""


def toy_changed(folder: Path, name: str, *changes: tuple[str, str]) -> str:
    """The toy study on a copy of the toy workload in a folder, with pieces of its source replaced."""
    source = TOY.read_text().replace('"toy"', f'"{name}"')
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    (folder / f"{name}.py").write_text(source)
    return TOY_STUDY.replace("workload: toy", f"workload: {name}").replace(str(TOY), f"{name}.py")


def ablate(*arguments: object, cwd: Path, **kwargs: object) -> subprocess.CompletedProcess[str]:
    """The command line, as a user runs it."""
    command = [sys.executable, "-m", "ablate", *map(str, arguments)]
    kwargs.setdefault("timeout", 120)
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **kwargs)  # type: ignore[call-overload,no-any-return]


def ablate_without(absent: set[str], *words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, which ends well and has loaded none of these modules.

    The last line of its standard error lists the files that it opened.
    """
    code = "import sys\nopened = []\nsys.addaudithook(lambda name, of: name == 'open' and opened.append(str(of[0])))\n"
    code += "from ablate.cli import main\ntry: main(sys.argv[1:])\n"
    code += f"except SystemExit as end: assert not end.code\nfound = {absent} & set(sys.modules)\n"
    code += "assert not found, found\n"
    code += "print(opened, file=sys.stderr)\n"
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


ABSENT = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {absent} else super().find_spec(name, path, target)

sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
"""
"""What a process does so that it seems to lack packages."""
CALLS = """
from ablate.cli import main
for words in {calls}:
    try:
        main(words)
    except SystemExit as end:
        print("exit code", end.code or 0, file=sys.stderr)
"""


def lacking(absent: Iterable[str], *calls: Sequence[object], cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command line, several times in one process of its own that lacks packages; each prints its exit code."""
    words = [[str(word) for word in call] for call in calls]
    code = ABSENT.format(absent={*absent}) + CALLS.format(calls=words)
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def ablate_here(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same inside this process, without the seconds of a new one; not for what a kill or a thread may end."""
    from click.testing import CliRunner

    from ablate.cli import main

    words = [*map(str, arguments)]
    with contextlib.chdir(cwd):
        done = CliRunner(catch_exceptions=False).invoke(main, words, prog_name="ablate")
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


FREE = ("_seconds", "_per_second", "_memory")
"""Ends of the names of metrics that may differ between repeats."""


def content(record: Any) -> tuple[object, ...]:
    """All of a record that must repeat, to the bit; NaN is itself."""
    metrics = {
        n: v if v is None else float(v).hex() for n, v in record.metrics.items() if not n.endswith(FREE)
    }
    curves = {name: (curve.steps.tolist(), curve.values.tobytes()) for name, curve in record.curves.items()}
    arrays = {name: array.tobytes() for name, array in record.arrays.items()}
    return record.status, record.reason, metrics, curves, arrays, record.data, record.kept


def problems(path: Path, **options: Any) -> list[str]:
    """What is wrong with a study, `line N: …` each; it must be refused."""
    from ablate.base.errors import StudyError

    try:
        prepare(path, **options)
    except StudyError as error:
        return [str(problem).replace(f"{path}:", "line ") for problem in error.problems]
    raise AssertionError(f"{path} is not refused")


@functools.cache
def _empty_database() -> Path:
    from ablate.tracking.database import Database

    folder = tempfile.mkdtemp(prefix="ablate-mlflow-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with Database(Path(folder), None, print).opened(0) as client:
        client._tracking_client.store.engine.dispose()
    return Path(folder) / "mlflow.db"


def with_database(store: Path) -> Path:
    """`store` with an empty database of MLflow's in it unless it has one, copied: making one takes a second."""
    store.mkdir(parents=True, exist_ok=True)
    if not (store / "mlflow.db").exists():
        shutil.copy(_empty_database(), store / "mlflow.db")
    return store


def run_here(study: Path, *, width: int = 300, **options: object) -> tuple[Any, str]:
    """Runs a study in this process, into `results` beside it; returns the outcome and what was printed.

    Its report is made in this process too, whatever the jobs, because seaborn is here.
    """
    import seaborn  # noqa: F401

    from ablate.pipeline.run import run_study
    from ablate.session.options import Options

    given = Options(**{"results": study.parent / "results", "jobs": 0} | options)  # type: ignore[arg-type]
    with_database(given.results / "store")
    console = _console(width)
    outcome = run_study(study, given, console)
    return outcome, console.file.getvalue()


def plan_here(study: Path, *, width: int = 300, detect: float | None = None, **options: object) -> str:
    """What `ablate plan` prints of a study whose results are in `results` beside it."""
    from ablate.base.text import saying
    from ablate.commands.plan import show_plan
    from ablate.pipeline.plan.plan import plan_study, study_of
    from ablate.session.options import Options

    given = Options(**{"results": study.parent / "results"} | options)  # type: ignore[arg-type]
    console = _console(width)
    prepared, stages = study_of(study, given)
    show_plan(plan_study(prepared, stages, given, saying(console), detect), console)
    return str(console.file.getvalue())


def report_here(folder: Path, results: Path | None = None) -> str:
    """Makes the report of a results folder again; what was printed."""
    from ablate.base.text import saying
    from ablate.pipeline.next_steps import print_results
    from ablate.pipeline.reporter import write_report
    from ablate.records.named_folder import report_folder

    console = _console()
    found = report_folder(folder, results or folder.parent)
    write_report(found, saying(console, "warning"))
    print_results(found, found.facts(), console)
    return str(console.file.getvalue())


def made_again_alone(folder: Path, elsewhere: Path) -> None:
    """The report of a results folder is the same when it is made from a copy of the folder, without a store."""
    alone = elsewhere / folder.name
    shutil.copytree(folder, alone, ignore=shutil.ignore_patterns("report.html", "comparisons.csv", "figures"))
    report_here(alone)
    for name in ("report.html", "comparisons.csv", "claims.csv"):
        assert (alone / name).read_bytes() == (folder / name).read_bytes()


def clean_here(results: Path, agree: bool | Callable[[], bool] = True) -> tuple[str, str]:
    """Cleans the store of a results folder; what was said, and what was warned of."""
    from ablate.commands.clean import clean

    said: list[str] = []
    warned: list[str] = []
    clean(results, agree if callable(agree) else lambda: bool(agree), said.append, warned.append)
    return "\n".join(said), "\n".join(warned)


def stored(results: Path) -> set[str]:
    """The ids of the trials in the store of a results folder."""
    return {path.stem for path in (results / "store/trials").glob("[!.]*.json")}


def _console(width: int = 300) -> Any:
    from rich.console import Console

    return Console(file=io.StringIO(), width=width)


def checked(
    path: Path, sets: Sequence[str] = (), seeds: Any = None, *, confirm: bool = False, **options: Any
) -> tuple[Study, tuple[Stage, ...]]:
    """A study as its file and these options say, with its stages; problems are raised."""
    from ablate.pipeline.prepare import check
    from ablate.session.options import Options
    from ablate.stages import CONFIGS, STAGES
    from ablate.study.document import read_document

    given = Options(sets=sets, seeds=seeds, confirm=confirm, **options)
    return check(read_document(path).override(given, CONFIGS), STAGES, given)


def prepare(path: Path, sets: Sequence[str] = (), seeds: Any = None, *, confirm: bool = False) -> Study:
    """A study with its variants as they are trained; one that confirms another, as its file says."""
    from ablate.pipeline import prepare as preparing
    from ablate.session.options import Options
    from ablate.stages import CONFIGS, STAGES
    from ablate.study.document import read_document

    if confirm:
        return checked(path, sets, seeds, confirm=True)[0]
    given = Options(sets=sets, seeds=seeds)
    return preparing.prepare(read_document(path).override(given, CONFIGS), STAGES, given)[0]


def features(path: Path) -> dict[str, Any]:
    """What the stages of a study keep with its facts before anything was trained."""
    from ablate.pipeline.evidence.from_records import gather
    from ablate.pipeline.prepare import prepare as prepare_study
    from ablate.pipeline.trial_plan import with_stages
    from ablate.session.options import Options
    from ablate.stages import STAGES
    from ablate.study.document import read_document
    from ablate.study.facts import facts_of

    study, stages = prepare_study(read_document(path), STAGES, Options())
    evidence = with_stages(gather(facts_of(study), [], {}), study, stages, [], {})
    return dict(evidence.facts.features)


CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24


def give_up_the_rights_of_root() -> None:
    """Between fork and exec: root, too, then has the rights that a file gives to its owner, and no more."""
    if os.geteuid() == 0:
        library = ctypes.CDLL(None, use_errno=True)
        for right in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if library.prctl(PR_CAPBSET_DROP, right, 0, 0, 0) != 0:
                os._exit(99)
