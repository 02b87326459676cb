"""Arguments and options that commands about commits share."""

import click

from ablate.base.numerals import Domain
from ablate.session.option_types import NumberType

COMMAND = click.argument(
    "command",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    callback=lambda _context, _argument, words: [*words],
)
READ = click.option(
    "--read",
    required=True,
    metavar="NAME=PATTERN",
    callback=lambda _context, _option, given: [*given.partition("=")[::2]],
    help="The metric, and the regular expression whose group is its value in a line of output; the last match counts. "
    "NAME alone: what the command writes as JSON into the folder $ABLATE_DIR.",
)
DIRECTION = click.option(
    "--direction",
    required=True,
    type=click.Choice(["max", "min"]),
    help="max: more of the metric is better; min: less is better.",
)
LINKS = click.option(
    "--link",
    "links",
    multiple=True,
    type=click.Path(exists=True),
    callback=lambda _context, _option, paths: [*paths],
    help="File or folder that git ignores and the command needs, such as data; may be repeated.",
)
MEASURES = click.option(
    "--measures",
    multiple=True,
    metavar="GLOB",
    help="Files that measure a commit: where they change, the answer says so; may be repeated.",
)
JOBS = click.option(
    "--jobs",
    type=NumberType(Domain(least=1, most=1_000, whole=True)),
    default=1,
    show_default=True,
    metavar="N",
    help="Runs at the same time; 1 where time or speed is measured.",
)
