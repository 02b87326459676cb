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
@click.option(
    "--by-construction",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    default=None,
    metavar="FILE",
    help="CSV table of what tests decide without training.",
)
def command(results: Path, intro: IO[str] | None, by_construction: Path | None) -> None:
    """Put the claims of many studies on one page.

    RESULTS is a folder of reports, as `ablate run --results RESULTS` fills it. The page, README.md, says how many
    verdicts repeat on fresh seeds, shows the claims in one figure, and has a card for each study: what it asks, its
    notes, its verdicts, and the command that repeats it. A verdict is printed where a run with --confirm gave the same.
    The registry, claims.csv, has a row for each claim. The command trains nothing.
    """
    from ablate.report.atlas.page import write_atlas

    text = intro.read().strip() if intro else "# Atlas"
    page = write_atlas(results, text, by_construction)
    click.echo(f"Atlas: {page}")
