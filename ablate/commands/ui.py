"""`ablate ui`."""

from pathlib import Path

import click

from ablate.base.numerals import Domain
from ablate.commands._console import RESULTS
from ablate.session.option_types import NumberType


@click.command("ui")
@RESULTS
@click.option(
    "--port",
    type=NumberType(Domain(least=1, most=65535, whole=True)),
    default=5000,
    show_default=True,
    metavar="N",
    help="Port of the server on this machine (127.0.0.1).",
)
def command(results: Path, port: int) -> int:
    """Show the results folder in MLflow.

    Updates MLflow's database from the results folder, then starts the MLflow server until you press Ctrl-C. Only
    this machine can connect to it.
    """
    from ablate.tracking.ui import serve

    return serve(results, port)
