"""The command line. Commands hold no logic, and import what they need when they run."""

from __future__ import annotations

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


def guarded(command: Callable[..., int]) -> Callable[..., None]:
    """Ends with the command's exit code; a user's mistake is a message, not a traceback."""

    @wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        from ablate.errors import AblateError

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
        sys.exit(code)

    return wrapper


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Ablation studies of sequence models: which part matters, and are you sure?"""


@main.command()
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
@click.option("--fresh", is_flag=True, help="Train again what is already in the store.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first failed trial.")
@click.option("--gate", is_flag=True, help="Exit with 1 when a claim is refuted.")
@guarded
def run(study: Path, gate: bool, **options: Any) -> int:
    """Train what is missing of STUDY, compare, and write the report.

    Ends with 0: done; 1: some trials failed, or with --gate a claim is refuted; 2: the study or the call is
    wrong; 130: interrupted.
    """
    from rich.console import Console

    from ablate.run import Options, execute
    from ablate.study.declared import read_claims

    outcome = execute(study, Options(**options), Console(soft_wrap=False))
    refuted = [
        row["claim"] for row in read_claims(outcome.folder / "claims.csv") if row["verdict"] == "refuted"
    ]
    for claim in refuted if gate else []:
        click.echo(f"refuted: {claim}", err=True)
    return 1 if outcome.failed or (gate and refuted) else 0


@main.command()
@STUDY
@SEEDS
@SETS
@RESULTS
@guarded
def plan(study: Path, **options: Any) -> int:
    """Show the variants and trials of STUDY, what is cached and how long the rest takes; train nothing."""
    from rich.console import Console

    from ablate.overview import print_plan
    from ablate.run import Options

    print_plan(study, Options(**options), Console())
    return 0


@main.command()
@STUDY
@RESULTS
@guarded
def report(study: Path, results: Path) -> int:
    """Write comparisons, figures and page of STUDY again, from its results folder alone.

    STUDY is a study file, the name of a study, or its results folder.
    """
    from rich.console import Console

    from ablate.run import Options, rebuild

    rebuild(study, Options(results=results), Console())
    return 0


@main.command()
@RESULTS
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5000, show_default=True, help="Port on loopback."
)
@guarded
def ui(results: Path, port: int) -> int:
    """Bring MLflow up to date with the results folder, and open its UI on loopback."""
    from ablate.records.mlflow_ui import serve

    return serve(results, port)
