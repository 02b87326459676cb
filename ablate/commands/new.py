"""`ablate new`: a commented study to start from, or a part or a task of one's own."""

from __future__ import annotations

from pathlib import Path

import click

from ablate.base.text import typed
from ablate.base.wording import joined
from ablate.commands.templates import PARTS


@click.command("new")
@click.argument("name", required=False, type=click.Path(path_type=Path))
@click.option(
    "--task",
    metavar="TASK",
    help="Task of the study (default: digits; `ablate list task` lists all tasks). Without NAME: the name of a task of "
    "your own to write.",
)
@click.option(
    "--part",
    "slot",
    metavar="SLOT",
    help=f"Write a part of your own for this slot: {', '.join(PARTS)}.",
)
@click.option(
    "--workload",
    type=click.Path(path_type=Path),
    metavar="NAME",
    help="Write training code of your own to fill in.",
)
@click.option(
    "--from",
    "data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Data of the new task: a CSV file with a header, or a text file (default: a sample, which is written too).",
)
def command(
    name: Path | None, task: str | None, slot: str | None, workload: Path | None, data: Path | None
) -> None:
    """Write a commented file to start from.

    `ablate new NAME` writes a study, `ablate new --part SLOT NAME` a part of your own, `ablate new --task NAME` a task
    of your own, and `ablate new --workload NAME` training code of your own, the last three with a study that uses it.
    You can run every file without changes.
    """
    from ablate.base.registry import CATALOGUE
    from ablate.commands.templates.fill import create, create_part, create_task, create_workload

    CATALOGUE.load_builtin()
    match name, slot, task, workload, data:
        case Path(), None, _, None, None:
            path = create(name, task or "digits")
            click.echo(f"Wrote {path}. Edit it to ask your question, then run: ablate plan {path}")
            return
        case Path(), str(), None, None, None:
            written = create_part(slot, name)
        case None, None, str(), None, _:
            written = create_task(Path(task), data)
        case None, None, None, Path(), None:
            written = create_workload(workload)
        case _:
            raise click.UsageError(
                "Give NAME, --part SLOT NAME, --task NAME [--from FILE], or --workload NAME."
            )
    says, then = ("which read your data", "plan") if data else ("which work as they are", "run")
    click.echo(f"Wrote {joined([*map(str, written)])}, {says}.\nNext: {typed(then, written[-1])}")
