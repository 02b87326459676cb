"""The command line: finds its commands, and turns their errors into messages and exit codes."""

import errno
import functools
import importlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ablate.base.errors import AblateError
from ablate.base.extras import missing
from ablate.base.files import MISNAMED
from ablate.base.process import Ending, forgive, rarely_collect
from ablate.base.text import safe

FULL = (errno.ENOSPC, errno.EDQUOT)
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, *FULL)


@functools.cache
def _modules() -> dict[str, str]:
    """Returns the name of each command and of its module, found by file name alone."""
    root = Path(__file__).parent
    return {path.stem: f"ablate.commands.{path.stem}" for path in sorted(root.glob("commands/[!_]*.py"))}


class Commands(Mapping[str, click.Command]):
    """A mapping from the name of a command to the command, whose module is imported on access."""

    def __getitem__(self, name: str) -> click.Command:
        return importlib.import_module(_modules()[name]).command

    def __iter__(self) -> Iterator[str]:
        return iter(_modules())

    def __len__(self) -> int:
        return len(_modules())


@dataclass(frozen=True)
class Failure:
    """Holds the message, exit code and single problems of a command that could not do what it was asked."""

    message: str
    exit_code: int
    problems: Sequence[str] = ()  # The mistakes in the study, each by itself.


class Group(click.Group):
    """The group of all commands, which shows a user's mistake as a message and sets the exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the command line; characters that the terminal cannot encode are replaced."""
        rarely_collect()
        self._ending = Ending()
        forgive()
        output = sys.stdout
        try:
            return super().main(*args, **kwargs)
        except OSError as error:  # of what is printed without a command
            sys.exit(safe(_outside_failure(error).message))
        except SystemExit as end:
            # The reader of the output is gone (`ablate … | head`): click has replaced sys.stdout, and both click and
            # rich end with 1, where a shell expects 128 + SIGPIPE.
            if sys.stdout is not output or isinstance(end.__context__, BrokenPipeError):
                end.code = 141
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command that the arguments name. Raises `UsageError` where an option of it has two values."""
        name, command, of_command = super().resolve_command(ctx, args)
        if command is not None:
            below = click.Context(command, info_name=name, parent=ctx, **command.context_settings)
            _refuse_repeated(below, of_command)
        return name, command, of_command

    def invoke(self, ctx: click.Context) -> None:
        """Runs a command, prints a foreseen failure as one message (with `--json` also as an object), and exits with
        its exit code.
        """
        as_json = "--json" in ctx.args
        failure = None
        try:
            code = super().invoke(ctx) or 0
            print(end="", flush=True)  # nothing where standard output is closed
        except click.ClickException as error:
            if as_json:
                _print_object(Failure(error.format_message(), error.exit_code))
            raise
        except click.exceptions.Exit:  # of --help
            raise
        except (Exception, KeyboardInterrupt) as error:
            failure = _failure(error, ctx.invoked_subcommand or "")
            code = failure.exit_code
            if isinstance(error, KeyboardInterrupt):
                self._ending.interrupted(code)
        if failure and failure.message:
            click.echo(safe(failure.message), err=True)
            if as_json:
                _print_object(failure)
        ctx.exit(code)


def _refuse_repeated(ctx: click.Context, args: Sequence[str]) -> None:
    """Raises `UsageError` for an option that takes one value and is given several, of which click takes the last."""
    try:
        _, _, given = ctx.command.make_parser(ctx).parse_args([*args])
    except click.UsageError:
        return  # It is raised again where the command reads its arguments.
    for parameter in dict.fromkeys(given):
        takes_one = isinstance(parameter, click.Option) and not (parameter.multiple or parameter.is_flag)
        if takes_one and given.count(parameter) > 1:
            rule = f"takes one value, and is given {given.count(parameter)} times"
            raise click.UsageError(f"Option {parameter.opts[0]!r} {rule}.", ctx)


def _failure(error: Exception | KeyboardInterrupt, command: str) -> Failure:
    """Returns the message and exit code of a foreseen error of a command; raises any other again."""
    if isinstance(error, AblateError):
        problems = [str(problem) for problem in getattr(error, "problems", [])]
        return Failure(str(error), error.exit_code, problems)
    if isinstance(error, KeyboardInterrupt):
        kept = "what was finished is kept"
        if str(error):  # It names what was kept.
            kept = f"{error} are kept; run the same command to continue"
        return Failure(f"Interrupted; {kept}.", 130)
    package = missing(error)
    if package:
        return Failure(f"`ablate {command}` needs {package}", 2)
    return _outside_failure(error)


def _outside_failure(error: Exception) -> Failure:
    """Returns what a plugin, or the machine, does not let be done; raises any other error."""
    from ablate.base.plugins import raised_by_plugin

    fault = raised_by_plugin(error)
    if fault:
        return Failure(f"{fault}. Correct the plugin", 2)
    # The user can repair what the machine refuses; anything else is a fault of this program.
    if not isinstance(error, OSError) or error.errno not in (*MISNAMED, *REFUSED):
        raise error
    if error.filename is None:
        if error.errno not in FULL:
            raise error
        # Of what is left in the buffer of standard output, nothing can be written at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    where = error.filename or "standard output"
    code = 2 if error.errno in MISNAMED else 1
    message = f"{where}: cannot be used: {error.strerror}; use another name, folder or disk"
    return Failure(message, code)


def _print_object(failure: Failure) -> None:
    """Prints the message, problems and exit code of a failed command as one JSON object."""
    data = {
        "error": safe(failure.message),
        "problems": [safe(problem) for problem in failure.problems],
        "exit_code": failure.exit_code,
    }
    with suppress(OSError):
        click.echo(json.dumps(data, ensure_ascii=False))


@click.group(
    cls=Group,
    commands=Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="ablate", message="%(prog)s %(version)s")
def main() -> None:
    """Ablation studies of sequence models: which part matters, and are you sure?"""
