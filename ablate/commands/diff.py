"""`ablate diff`: two studies, or two runs of one."""

from pathlib import Path

import click

from ablate.base.text import safe, saying
from ablate.commands._console import RESULTS


@click.command("diff")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@RESULTS
def command(a: Path, b: Path, results: Path) -> None:
    """Compare two studies, or two runs of one.

    A and B are each a study file, the name of a study such as x or x@seeds=3, or its results folder. The
    command reads only the results folders, and trains nothing.
    """
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from ablate.pipeline.diff.diff import difference_of
    from ablate.records.named_folder import report_folder
    from ablate.report.terminal import print_table

    console = Console()
    say = saying(console)
    difference = difference_of(report_folder(a, results), report_folder(b, results))
    say(difference.conclusion)
    say("")
    for name, side in zip("AB", difference.sides, strict=True):
        say(f"{name}: {side}")
    for table in difference.tables:
        print_table(table, console)
    for note in difference.notes:
        console.print(Padding(Text(safe(note)), (1, 0, 0, 0), expand=False))
    for heading, lines in difference.lists.items():
        if lines:
            console.print(Text(f"\n{heading} (A → B)", style="bold"))
        for line in lines:
            console.print(Padding(Text(safe(line)), (0, 0, 0, 2), expand=False))
