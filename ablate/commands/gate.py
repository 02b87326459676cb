"""`ablate gate`."""

from pathlib import Path

import click

from ablate.base.files import destination
from ablate.base.text import safe
from ablate.commands._commit_options import COMMAND, DIRECTION, JOBS, LINKS, MEASURES, READ
from ablate.core.metric import Direction


@click.command("gate")
@click.argument(
    "ledger",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=lambda _context, _argument, path: destination(path),
)
@COMMAND
@READ
@DIRECTION
@LINKS
@click.option(
    "--base", required=True, metavar="COMMIT", help="Commit that a change must beat: the last that was kept."
)
@click.option(
    "--base-values",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Earlier runs of the base (JSON, CSV or another ledger), which screen in place of ten new runs.",
)
@click.option(
    "--head",
    "heads",
    multiple=True,
    default=["HEAD"],
    show_default=True,
    metavar="COMMIT",
    help="Commit that is tried; may be repeated: of several that pass, the best is kept.",
)
@JOBS
@MEASURES
def command(
    ledger: Path,
    base: str,
    base_values: Path | None,
    heads: tuple[str, ...],
    jobs: int,
    command: list[str],
    read: tuple[str, str],
    direction: Direction,
    links: list[str],
    measures: tuple[str, ...],
) -> int:
    """Keep or discard a change to your own training code.

    LEDGER is the file that remembers all tries, which share one error rate. COMMAND, after --, is what trains, with
    {seed} where it takes its seed: -- python train.py --seed {seed}. The first call runs the base ten times. One run
    screens a try; a promising one is confirmed on five fresh seeds, in turn with the base. Each run has a fresh copy of
    the commit's files. Several heads are screened and confirmed against one base, and at most one is kept. Prints one
    JSON object for each head to standard output, whose verdict is keep, discard or retest. Finished runs are kept, and
    a command that was interrupted goes on. Exits with 0 keep, else 3 retest, else 1 discard; 2 a mistake in the call,
    4 not measured; see `ablate guide compare`.
    """
    from ablate.commands._json import json_text
    from ablate.commits.gate import exit_code_of, gate
    from ablate.commits.lines import Call

    metric, pattern = read
    call = Call([*command], metric, pattern, direction, [*links])
    answers = gate(call, ledger, [base, *heads], measures, jobs=jobs, base_values=base_values)
    for answer in answers:
        for note in answer["notes"]:
            click.echo(safe(f"{answer['commit']}: {note}"), err=True)
        click.echo(json_text(answer))
    return exit_code_of(answers)
