"""Arguments and options that several commands share, and how they print."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ablate.base.text import safe
from ablate.commands._options import options_of
from ablate.session.options import Options, RunOutcome

if TYPE_CHECKING:
    from rich.console import Console

STUDY = click.argument("study", type=click.Path(path_type=Path))
RESULTS = options_of(Options, "results")
GATE = click.option("--gate", is_flag=True, help="Exit with 1 if a claim is refuted.")
STRICT = click.option(
    "--strict", is_flag=True, help="As --gate; and exit with 3 if a claim is inconclusive, or not judged."
)
AS_JSON = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object to standard output, and all else to standard error; see `ablate guide json`.",
)
PLUGINS = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Python file that registers more parts; may be repeated.",
)

TRUST = click.option(
    "--trust",
    is_flag=True,
    help="Where STUDY is a name or a folder: run the plugins that the results folder names.",
)

SWEEP = click.option(
    "--sweep", is_flag=True, help="Of a study with `search:`, the trials of `ablate sweep` instead."
)


def warn(message: str) -> None:
    """Prints a warning to stderr."""
    click.secho(f"warning: {safe(message)}", fg="yellow", err=True)


@contextmanager
def output_console(as_json: bool) -> Iterator[Console]:
    """Yields the console of a command: standard output, or standard error where that is for JSON alone.

    Then whatever is printed inside, by plugins and by trainings in this process too, goes to standard error.
    """
    from rich.console import Console

    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        yield Console(stderr=as_json)


def exit_code_of(
    path: Path, outcome: RunOutcome | None, as_json: bool, gate: bool = False, strict: bool = False
) -> int:
    """Prints the object that `--json` asks for, and returns the exit code of a report, or of the run that made it.

    path: the folder of the report.
    outcome: that of the run, None where the command has trained nothing.
    gate, strict: as the options say; the claims that they do not let pass are named on standard error.
    """
    from ablate.records.folder import StudyFolder

    folder = StudyFolder.at(path)
    code = 0
    if gate or strict:
        from ablate.pipeline.gate import pass_gate

        code, lines = pass_gate(folder.claims(), strict=strict)
        for line in lines:
            click.echo(safe(line), err=True)
    if outcome and outcome.failed:
        code = 1
    if outcome and outcome.stopped:
        code = 2  # The study is at fault, as its trials show.
    if as_json:
        from ablate.commands._json import json_text, report_object

        click.echo(json_text(report_object(folder, outcome, code)))
    return code
