"""Options that commands about commits share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def of_calls(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is run and read, as the fields of `external.bench.Call`."""
    for option in (
        click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED),
        click.option(
            "--limit",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="End a run that takes longer; it has failed.",
        ),
        click.option(
            "--link",
            "links",
            multiple=True,
            type=click.Path(exists=True),
            help="File or folder that git ignores and the command needs, such as data; may be repeated.",
        ),
        click.option(
            "--direction",
            required=True,
            type=click.Choice(["max", "min"]),
            help="Whether more of the metric is better, or less.",
        ),
        click.option(
            "--read",
            required=True,
            metavar="NAME=PATTERN",
            callback=lambda _context, _option, given: given.partition("=")[::2],
            help="The metric, and the regular expression whose group is its value in a line of output; the last "
            "match counts. NAME alone: what the command writes as JSON into the folder $ABLATE_DIR.",
        ),
    ):
        command = option(command)
    return command
