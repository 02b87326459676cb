"""The command line: finds its commands, and turns their errors into messages and exit codes."""

from __future__ import annotations

import errno
import functools
import importlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from ablate.base.errors import AblateError
from ablate.base.files import MISNAMED
from ablate.base.process import forgive, hush_at_exit
from ablate.commands.options import safe

FULL = (errno.ENOSPC, errno.EDQUOT)
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, *FULL)


class Found(Mapping[str, click.Command]):
    """The `command` of each module of commands, those of features included, imported when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        if name in _modules():
            module = importlib.import_module(_modules()[name])
            if isinstance(found := getattr(module, "command", None), click.Command):
                return found
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in _modules() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@functools.cache
def _modules() -> dict[str, str]:
    """Name → module, found by file name alone: help is answered without importing any."""
    root = Path(__file__).parent
    files = [*root.glob("commands/[!_]*.py"), *root.glob("features/*/commands/[!_]*.py")]
    return {
        path.stem: ".".join(path.relative_to(root.parent).with_suffix("").parts) for path in sorted(files)
    }


def _told(error: Exception) -> int:
    """Says what a plugin, or the machine, does not let be done, and returns the exit code; raises any other error."""
    loaded = sys.modules.get("ablate.base.plugins")
    if fault := loaded and loaded.raised_by_plugin(error):
        click.echo(safe(f"{fault}. Correct the plugin"), err=True)
        return 2
    # The user can repair what the machine refuses; anything else is a fault of this program.
    if not isinstance(error, OSError) or error.errno not in (*MISNAMED, *REFUSED):
        raise error
    if error.filename is None and error.errno not in FULL:
        raise error
    wrong = error.errno in MISNAMED
    hint = "choose another name" if wrong else "use a folder that you can read and write"
    if error.filename is None:
        # Of what is left in the buffer of standard output, nothing can be written at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        hint = "free space, or send it elsewhere"
    where = error.filename or "standard output"
    click.echo(safe(f"{where}: cannot be used: {error.strerror}; {hint}"), err=True)
    return 2 if wrong else 1


def _print_error(message: str, problems: Sequence[str], code: int) -> None:
    """The object of a command that was to print one, and could not do what it was asked."""
    with suppress(OSError):
        click.echo(
            json.dumps({"error": message, "problems": problems, "exit_code": code}, ensure_ascii=False)
        )


class Group(click.Group):
    """Ends with the exit code of its command; a user's mistake is a message, not a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Parses the command line and runs the command, whatever the terminal can show."""
        hush_at_exit()
        forgive()
        return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> None:
        """Runs the command and exits."""
        as_json, fault, problems = "--json" in ctx.args, "", list[str]()
        try:
            code = super().invoke(ctx) or 0
            print(end="", flush=True)  # nothing where standard output is closed
        except AblateError as error:
            fault, problems = safe(str(error)), [safe(str(p)) for p in getattr(error, "problems", [])]
            click.echo(fault, err=True)
            code = error.exit_code
        except KeyboardInterrupt:
            fault = "Interrupted; no trial was running."
            click.echo(fault, err=True)
            code = 130
        except BrokenPipeError:
            code = 141
        except click.ClickException as error:
            if as_json:
                _print_error(error.format_message(), [], error.exit_code)
            raise
        except Exception as error:
            code = _told(error)
            fault = safe(str(error))
        if as_json and fault:
            _print_error(fault, problems, code)
        ctx.exit(code)


@click.group(
    cls=Group,
    commands=Found(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="ablate", message="%(prog)s %(version)s")
def main() -> None:
    """Ablation studies of sequence models: which part matters, and are you sure?"""
