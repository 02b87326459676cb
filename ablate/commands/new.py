"""`ablate new`: a commented study to start from, or a part or training code of one's own."""

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
    help="Task of the study (default: the one that reads FILE, or digits; `ablate list task` lists all tasks).",
)
@click.option(
    "--part",
    "slot",
    metavar="SLOT",
    help=f"Write a part of your own for this slot, or a task: {', '.join(PARTS)}.",
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
    help="Data of the study: a table with a header (.csv, .tsv, .parquet), lines of two texts with a tab between them "
    "(.tsv), or a text in UTF-8.",
)
def command(
    name: Path | None, task: str | None, slot: str | None, workload: Path | None, data: Path | None
) -> None:
    """Write a commented file to start from.

    `ablate new NAME` writes a study, `ablate new --from FILE` one of your own data, `ablate new --part SLOT NAME` a
    part or a task of your own, and `ablate new --workload NAME` training code of your own, the last two with a study
    that uses it. You can run every file without changes.
    """
    from ablate.base.registry import CATALOGUE
    from ablate.commands.templates.own_code import create_part, create_workload
    from ablate.commands.templates.study import create

    CATALOGUE.load_builtin()
    if data is not None and name is None and slot is None and workload is None:
        name = Path(data.stem)
    match name, slot, workload, task, data:
        case Path(), None, None, _, _:
            path = create(name, task, data)
            click.echo(f"Wrote {path}. Edit it to ask your question, then run: ablate plan {path}")
            return
        case Path(), str(), None, None, None:
            files = create_part(slot, name)
        case None, None, Path(), None, None:
            files = create_workload(workload)
        case _:
            raise click.UsageError("Give NAME, --from FILE, --part SLOT NAME, or --workload NAME")
    names = joined([str(file) for file in files])
    click.echo(f"Wrote {names}, which work as they are.\nNext: {typed('run', files[-1])}")
