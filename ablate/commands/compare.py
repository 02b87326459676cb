"""`ablate compare`."""

from pathlib import Path

import click

from ablate.base.errors import shown
from ablate.base.numerals import POSITIVE, Domain
from ablate.base.text import safe
from ablate.commands._commit_options import COMMAND, DIRECTION, LINKS, MEASURES, READ
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
@COMMAND
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
@LINKS
@MEASURES
@RESULTS
@AS_JSON
def command(
    base: str,
    head: str,
    command: list[str],
    read: tuple[str, str],
    direction: Direction,
    looks: range,
    margin: float,
    links: list[str],
    measures: tuple[str, ...],
    results: Path,
    as_json: bool,
) -> int:
    """Judge two commits of your own training code.

    BASE and HEAD are commits of the repository that you stand in. COMMAND, after --, is what trains, with {seed} where
    it takes its seed: -- python train.py --seed {seed}. Both commits are checked out and run in turn on the same seeds,
    each run in a fresh copy of the commit's files. Finished runs are kept, and a command that was interrupted goes on.
    Exits with 0 where HEAD is not worse, 1 worse, 2 a mistake in the call, 3 inconclusive, 4 not measured; see
    `ablate guide compare`.
    """
    from ablate.commands._json import json_text
    from ablate.commits.compare import compare
    from ablate.commits.lines import Call

    metric, pattern = read
    call = Call([*command], metric, pattern, direction, [*links])
    ledger = results / "store" / "compare.jsonl"
    verdict, sentences = compare(call, ledger, [base, head], looks, margin, measures)
    click.echo(json_text(verdict) if as_json else safe(sentences))
    return int(verdict["exit_code"])
