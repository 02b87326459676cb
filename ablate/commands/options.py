"""Arguments and options that several commands share, and how they print."""

from __future__ import annotations

import math
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ablate.base.passwords import masked
from ablate.base.printable import printable
from ablate.base.reading import MISNAMED
from ablate.base.typed import DEFAULT_RESULTS

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.records.folder import StudyFolder

STUDY = click.argument("study", type=click.Path(path_type=Path))
REPORTED = click.argument("study", type=click.Path(path_type=Path))


def folder_of(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """The path, unless it is or names what can be no folder."""
    if path is None:
        return None
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except OSError as error:
        if error.errno in MISNAMED:
            raise click.BadParameter(f"cannot be used: {error.strerror}", context, parameter) from None
        return path
    if not is_folder:
        raise click.BadParameter("is not a folder", context, parameter)
    return path


RESULTS = click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    callback=folder_of,
    default=DEFAULT_RESULTS,
    show_default=True,
    help="Results folder.",
)
SETS = click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="PATH=VALUE",
    help="Override a value of the study, for instance training.lr=0.01; may be repeated.",
)


class _Seeds(click.ParamType):
    """A number of seeds, or each of them: 5, or 0,3,7."""

    name = "seeds"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> int | tuple[int, ...]:
        if isinstance(value, (int, tuple)):
            return value
        first, *others = [text.strip() for text in str(value).split(",")]
        if others and not others[-1]:
            others.pop()  # `7,` is the one seed 7
        if not all(text.isdecimal() for text in (first, *others)) or value == "0":
            self.fail(
                f"{value!r} is neither a number of seeds, such as 5, nor a list of seeds, such as 0,3,7"
            )
        return tuple(map(int, (first, *others))) if "," in value else int(first)


SEEDS = click.option(
    "--seeds",
    type=_Seeds(),
    metavar="N",
    help="Number of seeds, or each of them, as in 0,3,7 (default: the study's).",
)
JOBS = click.option(
    "--jobs",
    type=click.IntRange(0),
    metavar="N",
    help="Number of worker processes; with 0, train in this process (default: one per core, or per GPU).",
)
TRACKING_URI = click.option(
    "--tracking-uri",
    metavar="URI",
    help="MLflow server or database (default: SQLite in the results folder).",
)
CONFIRM = click.option(
    "--confirm",
    is_flag=True,
    help="Repeat what the study found, on seeds that it has not used, beside its report.",
)
FAIL_FAST = click.option("--fail-fast", is_flag=True, help="Stop at the first failed trial.")
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


class Difference(click.ParamType):
    """A difference in a metric: a finite number above 0."""

    name = "difference"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:
        """The number; refuses what is no difference."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            self.fail(f"{value!r} is not a difference: it must be a number above 0, such as 0.01")
        return number


PLUGINS = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Python file that registers more parts; may be repeated.",
)


def warn(message: str) -> None:
    """Prints a warning to stderr."""
    click.secho(f"warning: {safe(message)}", fg="yellow", err=True)


def safe(message: str) -> str:
    """A message without passwords, and without characters that control a terminal."""
    return printable(masked(message))


@contextmanager
def printing(as_json: bool) -> Iterator[Console]:
    """The console of a command: standard output, or standard error where that is for JSON alone.

    Then whatever is printed inside, by plugins and by trainings in this process too, goes to standard error.
    """
    from rich.console import Console

    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        yield Console(stderr=as_json)


def gated(folder: StudyFolder, gate: bool, strict: bool) -> int:
    """The exit code that the claims of a report ask for; names those that do on standard error."""
    from ablate.stages.gate import pass_gate

    code, lines = pass_gate(folder.claims(), strict=strict) if gate or strict else (0, [])
    for line in lines:
        click.echo(safe(line), err=True)
    return code


def saying(console: Console, kind: str = "") -> Callable[[str], None]:
    """A function that prints lines as they are or, with a `kind`, as warnings."""

    def say(message: str) -> None:
        text, style = (f"{kind}: {message}", "yellow") if kind else (message, None)
        console.print(safe(text), style=style, markup=False, highlight=False, soft_wrap=True)

    return say
