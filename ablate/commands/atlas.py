"""`ablate atlas`."""

from pathlib import Path
from typing import IO

import click


@click.command("atlas")
@click.argument("results", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option(
    "--intro",
    type=click.File(encoding="utf-8"),
    default=None,
    metavar="FILE",
    help="Markdown file with which the page begins.",
)
def command(results: Path, intro: IO[str] | None) -> None:
    """Put the claims of many studies on one page.

    RESULTS is a folder of reports, as `ablate run --results RESULTS` fills it. The page, README.md, has a card for
    each study that makes claims: what it asks, its notes, its verdicts, and the command that repeats it. A verdict
    is printed where a run with --confirm gave the same. The command trains nothing.
    """
    from ablate.report.atlas import write

    text = intro.read().strip() if intro else "# Atlas"
    page = write(results, text)
    click.echo(f"Atlas: {page}")
