"""`ablate compare`."""

from collections.abc import Sequence
from pathlib import Path

import click

from ablate.base.errors import shown
from ablate.base.numerals import POSITIVE, Domain
from ablate.base.text import safe
from ablate.commands._commit_options import DIRECTION, JOBS, LINKS, MEASURES, READ
from ablate.commands._console import AS_JSON, RESULTS
from ablate.core.metric import Direction
from ablate.session.option_types import NumberType

_SEEDS = Domain(least=2, most=1_000, whole=True)


def _looks(_context: click.Context, _option: click.Parameter, given: str) -> range:
    """Returns the numbers of runs at which the commits are compared, of `N` or `MIN:MAX`."""
    first, _, last = given.partition(":") if ":" in given else (given, ":", given)
    least = _SEEDS.read(first)
    most = _SEEDS.read(last)
    if least is not None and most is not None and most >= least and most % least == 0:
        return range(int(least), int(most) + 1, int(least))
    rule = "must be a number of seeds from 2 on, such as 8, or MIN:MAX, MAX a multiple of MIN, such as 5:20"
    raise click.BadParameter(f"{shown(given)} {rule}, and at most {_SEEDS.most}")


@click.command("compare")
@click.argument("base")
@click.argument("head")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="COMMAND...")
@click.option(
    "--base-command",
    metavar="COMMAND",
    help="Command that runs as the base, at the same commit as the other: name that commit alone.",
)
@READ
@DIRECTION
@click.option(
    "--margin",
    type=NumberType(POSITIVE),
    required=True,
    help="The largest loss that does not matter, in units of the metric.",
)
@click.option(
    "--seeds",
    "looks",
    default="5:20",
    show_default=True,
    callback=_looks,
    metavar="N | MIN:MAX",
    help="Runs of each commit; MIN:MAX looks at every multiple of MIN until the answer is clear.",
)
@JOBS
@LINKS
@MEASURES
@RESULTS
@AS_JSON
def command(
    base: str,
    head: str,
    command: tuple[str, ...],
    base_command: str | None,
    read: tuple[str, str],
    direction: Direction,
    looks: range,
    margin: float,
    jobs: int,
    links: list[str],
    measures: tuple[str, ...],
    results: Path,
    as_json: bool,
) -> int:
    """Judge two commits of your own training code.

    BASE and HEAD are commits of the repository that you stand in. COMMAND, after --, is what trains, with {seed} where
    it takes its seed: -- python train.py --seed {seed}. Both commits are checked out and run in turn on the same seeds,
    each run in a fresh copy of the commit's files. Finished runs are kept, and a command that was interrupted goes on.
    With --base-command, two commands are compared at the one commit BASE, and HEAD is left out. Exits with 0 where HEAD
    is not worse, 1 worse, 2 a mistake in the call, 3 inconclusive, 4 not measured; see `ablate guide compare`.
    """
    from ablate.commands._json import json_text
    from ablate.commits.compare import compare
    from ablate.commits.lines import Call

    names, words, of_base = _sides(base, head, command, base_command)
    metric, pattern = read
    call = Call(words, metric, pattern, direction, [*links])
    ledger = results / "store" / "compare.jsonl"
    verdict, sentences = compare(
        call, ledger, names, looks, margin, measures, jobs=jobs, base_command=of_base
    )
    click.echo(json_text(verdict) if as_json else safe(sentences))
    return int(verdict["exit_code"])


def _sides(
    base: str, head: str, command: Sequence[str], base_command: str | None
) -> tuple[list[str], list[str], list[str]]:
    """Returns the names of both commits, the command, and that of the base where it has its own.

    With a command of the base, what stands at the place of the second commit is the first word of the other command.
    """
    from ablate.commits.trees import is_commit
    from ablate.external.command import split

    if base_command is None:
        if not command:
            raise click.UsageError("Missing argument 'COMMAND...'.")
        return [base, head], [*command], []
    if is_commit(head):
        raise click.UsageError(
            f"--base-command compares two commands at one commit: leave {shown(head)} out, or the option."
        )
    try:
        words = [*split(base_command)]
    except ValueError as error:
        raise click.BadParameter(f"{shown(base_command)} cannot be split into words: {error}") from None
    if not words:
        raise click.BadParameter("--base-command names no program")
    return [base, base], [head, *command], words
