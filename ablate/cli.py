"""The command line. Commands hold no logic, and import what they need when they run."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

RESULTS = click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results"),
    help="Results folder.",
)
SETS = click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change a setting; may be repeated."
)
SEEDS = click.option("--seeds", type=click.IntRange(1), help="Number of seeds, instead of the study's.")
STUDY = click.argument("study", type=click.Path(path_type=Path))
PLUGINS = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A Python file that registers parts, too; may be repeated.",
)
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR)


def guarded(command: Callable[..., int]) -> Callable[..., None]:
    """Ends with the command's exit code; a user's mistake is a message, not a traceback."""

    @wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        from ablate.base.errors import AblateError

        try:
            code = command(*args, **kwargs)
        except AblateError as error:
            click.echo(str(error), err=True)
            code = error.exit_code
        except KeyboardInterrupt:
            click.echo("Interrupted; nothing was under way.", err=True)
            code = 130
        except BrokenPipeError:
            code = 141
        except OSError as error:
            # What the machine refuses is for the user to mend; anything else is a fault of this program.
            if error.errno not in REFUSED or error.filename is None:
                raise
            hint = "use a folder that you may read and write"
            click.echo(f"{error.filename}: cannot be used: {error.strerror}; {hint}", err=True)
            code = 1
        sys.exit(code)

    return wrapper


def warn(message: str) -> None:
    """Beside the output."""
    click.secho(f"warning: {message}", fg="yellow", err=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="ablate", message="%(prog)s %(version)s")
def main() -> None:
    """Ablation studies of sequence models: which part matters, and are you sure?"""


@main.command(short_help="Train what is missing of a study, compare, report.")
@STUDY
@click.option(
    "--jobs", type=click.IntRange(0), help="Worker processes (default: one a core or GPU); 0: none."
)
@SEEDS
@SETS
@click.option("--only", multiple=True, metavar="VARIANT", help="Train only this variant; may be repeated.")
@click.option("--seed", type=click.IntRange(0), help="Train only this seed.")
@RESULTS
@click.option("--tracking-uri", help="MLflow server or database (default: SQLite in the results folder).")
@click.option("--fresh", is_flag=True, help="Train again what is in the store; searches stand.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first failed trial.")
@click.option("--gate", is_flag=True, help="Exit with 1 when a claim is refuted.")
@guarded
def run(study: Path, gate: bool, **options: Any) -> int:
    """Train what is missing of STUDY, compare, and write the report.

    Ends with 0: done; 1: some trials failed, or with --gate a claim is refuted; 2: the study or the call is
    wrong; 130: interrupted.
    """
    from rich.console import Console

    from ablate.records.declared import read_claims
    from ablate.stages.run import Options, execute

    outcome = execute(study, Options(**options), Console(soft_wrap=False))
    refuted = [
        row["claim"] for row in read_claims(outcome.folder / "claims.csv") if row["verdict"] == "refuted"
    ]
    for claim in refuted if gate else []:
        click.echo(f"refuted: {claim}", err=True)
    return 1 if outcome.failed or (gate and refuted) else 0


@main.command(short_help="Search with Optuna; judge what is found.")
@STUDY
@click.option(
    "--jobs", type=click.IntRange(0), help="Worker processes (default: one a core or GPU); 0: none."
)
@click.option("--trials", type=click.IntRange(1), help="Settings to try, instead of the study's.")
@click.option(
    "--storage", metavar="URL", help="Where Optuna keeps the search; several machines can share one."
)
@SEEDS
@SETS
@RESULTS
@click.option("--tracking-uri", help="MLflow server or database (default: SQLite in the results folder).")
@click.option("--fail-fast", is_flag=True, help="Stop at the first failed trial.")
@guarded
def sweep(study: Path, trials: int | None, storage: str | None, **options: Any) -> int:
    """Search the space of STUDY, train the winner on fresh seeds beside the baseline, and report.

    STUDY says under `search:` what is looked for. A search that was cut short goes on where it was; with more
    --trials it goes on further. Ends with 0: done; 1: some trials failed; 2: the study or the call is wrong; 130:
    interrupted.
    """
    from rich.console import Console

    from ablate.stages.run import Options, execute

    given = {"search.trials": trials, "search.storage": storage}
    more = [f"{path}={value}" for path, value in given.items() if value is not None]
    options["sets"] = (*options["sets"], *more)
    return 1 if execute(study, Options(**options, sweep=True), Console(soft_wrap=False)).failed else 0


@main.command(short_help="Show variants, trials and what is cached.")
@STUDY
@SEEDS
@SETS
@RESULTS
@guarded
def plan(study: Path, **options: Any) -> int:
    """Show the variants and trials of STUDY, what is cached and how long the rest takes; train nothing."""
    from rich.console import Console

    from ablate.commands.plan import print_plan
    from ablate.stages.run import Options

    print_plan(study, Options(**options), Console())
    return 0


@main.command("eval", short_help="Evaluate kept weights; trains nothing.")
@STUDY
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="task.PATH=VALUE",
    help="Also on a task that differs; may be repeated.",
)
@click.option("--only", multiple=True, metavar="VARIANT", help="Evaluate only this variant; may be repeated.")
@RESULTS
@guarded
def evaluate_kept(study: Path, results: Path, **options: Any) -> int:
    """Evaluate the kept weights of STUDY, and write its report again; train nothing.

    STUDY is a study file, or the name of a study, which is then taken as it was run, with its --set and --seeds.
    On the test split of the study's task and, with --set task.PATH=VALUE, of a task that differs, such as a
    longer sequence: the task's metrics, attention entropy, how alike the heads are, and maps of attention. The
    study must have kept its weights (`checkpoint: final` or `best`).
    """
    from rich.console import Console

    from ablate.stages.evaluate import evaluate

    evaluate(study, results, Console(), **options)
    return 0


@main.command(short_help="Write tables, figures and page again.")
@STUDY
@RESULTS
@guarded
def report(study: Path, results: Path) -> int:
    """Write comparisons, figures and page of STUDY again, from its results folder alone.

    STUDY is a study file, the name of a study, or its results folder.
    """
    from rich.console import Console

    from ablate.stages.publish import rebuild

    rebuild(study, results, Console())
    return 0


@main.command(short_help="Open MLflow on the results folder.")
@RESULTS
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5000, show_default=True, help="Port on loopback."
)
@guarded
def ui(results: Path, port: int) -> int:
    """Bring MLflow up to date with the results folder, and open its UI on loopback."""
    from ablate.tracking.server import serve

    return serve(results, port)


@main.command(short_help="Show one trial, and how to repeat it.")
@click.argument("trial", metavar="ID")
@RESULTS
@guarded
def show(trial: str, results: Path) -> int:
    """Show one trial in full, and the command that repeats it.

    ID is the id of a trial, or as much of its beginning as no other trial shares.
    """
    from ablate.commands.show import show as text

    click.echo(text(trial, results, warn))
    return 0


@main.command("list", short_help="List what can be swapped in a study.")
@click.argument("slot", required=False)
@click.argument("name", required=False)
@PLUGINS
@guarded
def list_parts(slot: str | None, name: str | None, plugins: tuple[Path, ...]) -> int:
    """List what can be swapped in a study.

    All slots; or the parts of SLOT; or the part NAME of SLOT, with its parameters and where it is defined.
    """
    from ablate.base.plugins import load_plugins
    from ablate.base.registry import CATALOGUE
    from ablate.commands.list import describe

    CATALOGUE.load_builtin()
    load_plugins(plugins)
    click.echo(describe(slot, name))
    return 0


@main.command(short_help="Write a commented study to start from.")
@click.argument("name", type=click.Path(path_type=Path))
@click.option(
    "--task", default="recall", show_default=True, help="What is to be learned; see `ablate list task`."
)
@guarded
def new(name: Path, task: str) -> int:
    """Write NAME.yaml: a commented study to start from, which runs as it stands."""
    from ablate.base.registry import CATALOGUE
    from ablate.commands.new import create

    CATALOGUE.load_builtin()
    path = create(name, task)
    click.echo(f"Wrote {path}. Change it to your question; then: ablate plan {path}")
    return 0


@main.command(short_help="Print the JSON Schema of study files.")
@click.option("--workload", default="sequence", show_default=True, help="What the studies train.")
@PLUGINS
@guarded
def schema(workload: str, plugins: tuple[Path, ...]) -> int:
    """Print the JSON Schema of study files, for completion and checks in editors.

    Keep it beside your studies (ablate schema > ablate.schema.json), and begin each with the line
    `# yaml-language-server: $schema=ablate.schema.json`.
    """
    import json

    from ablate.base.plugins import load_plugins
    from ablate.execution.trial import WorkloadRef
    from ablate.study.json_schema import study_schema

    load_plugins(plugins)
    click.echo(json.dumps(study_schema(WorkloadRef(workload).load()), indent=1, ensure_ascii=False))
    return 0


@main.command(short_help="Drop trials that no study refers to.")
@RESULTS
@click.option("--yes", is_flag=True, help="Remove without asking.")
@guarded
def clean(results: Path, yes: bool) -> int:
    """Drop trials that no study refers to, and what killed runs have left.

    Says what would go, and asks; where nobody can answer, nothing is removed without --yes. A study refers to
    the trials of its last report, and to those that it would have now. Reports and the runs in MLflow are not
    touched.
    """
    from ablate.commands.clean import clean as clean_store

    def agree() -> bool:
        if yes or not sys.stdin.isatty():
            if not yes:
                click.echo("Nothing was removed; with --yes it is.")
            return yes
        return click.confirm("Remove this? Trials can be trained again, but not brought back")

    clean_store(results, agree, click.echo, warn)
    return 0
