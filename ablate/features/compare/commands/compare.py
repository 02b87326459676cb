"""`ablate compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ablate.external.call_options import of_calls
from ablate.route.console import AS_JSON, RESULTS, printing


def _looks(_context: click.Context, _parameter: click.Parameter, given: str) -> list[int]:
    """`5:20` as 5, 10, 15, 20."""
    least, _, most = given.partition(":")
    found = (
        [*range(int(least), int(most or least) + 1, int(least))]
        if f"{least}{most}".isdecimal() and int(least) > 1
        else []
    )
    if not found or found[-1] != int(most or least):
        raise click.BadParameter(
            f"{given!r} must be a number of seeds from 2 on, such as 8, or MIN:MAX, MAX a multiple of MIN, such as 5:20"
        )
    return found


@click.command("compare")
@click.argument("base")
@click.argument("head")
@of_calls
@click.option(
    "--margin",
    type=click.FloatRange(min=0, min_open=True),
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
    help="Runs of each commit; MIN:MAX looks at every multiple of MIN, until it is settled.",
)
@RESULTS
@AS_JSON
def command(
    base: str, head: str, looks: list[int], margin: float, results: Path, as_json: bool, **call: Any
) -> int:
    """Run one's own training code at two commits, and judge whether HEAD is worse.

    BASE and HEAD are commits of the repository that one stands in. COMMAND, after --, is what trains, with {seed} where
    it takes its seed: -- python train.py --seed {seed}. Both commits are checked out and run in turn on the same seeds.
    Finished runs are kept, and a command that was interrupted goes on. Exits with 0 where HEAD is not worse, 1 worse,
    2 a mistake in the call, 3 inconclusive, 4 not measured; see `ablate guide compare`.
    """
    from ablate.base.text import saying
    from ablate.external.bench import Call, opened
    from ablate.features.compare.stage import compare, told
    from ablate.route.as_json import written

    path = results / "store" / "compare.jsonl"
    with printing(as_json) as console:
        with opened(Call(**call), path, [base, head], say := saying(console)) as bench:
            found = compare(bench, looks, margin)
        say(told(found, bench, margin))
    if as_json:
        click.echo(written(found))
    return int(found["exit_code"])
