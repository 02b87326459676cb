"""`ablate eval`."""

from pathlib import Path
from typing import Any

import click

from ablate.base.text import saying
from ablate.commands._console import RESULTS, STUDY, TRUST
from ablate.commands._options import options_of
from ablate.session.option import read_options
from ablate.session.options import Options


@click.command("eval")
@STUDY
@options_of(
    Options,
    "sets",
    metavar="task.PATH=VALUE",
    help="Evaluate on a changed task too, for instance task.seq_len=9; may be repeated.",
)
@options_of(Options, "only", help="Evaluate only this variant; may be repeated.")
@RESULTS
@TRUST
def command(study: Path, trust: bool, **options: Any) -> None:
    """Evaluate kept weights, and update the report; train nothing.

    STUDY is a study file, or the name of a study that has been run, which is then evaluated with the --set and
    --seeds of that run. The command measures the task's metrics on its test split, the entropy of attention, the
    similarity of heads, and attention maps; with --set task.PATH=VALUE, it measures them on a changed task, such as
    one with longer sequences. The study must have kept its weights (`checkpoint: final` or `best`).
    """
    from rich.console import Console

    from ablate.pipeline.evaluate import evaluate
    from ablate.pipeline.next_steps import print_results

    console = Console()
    folder = evaluate(
        study, read_options(Options, options), saying(console), saying(console, "warning"), trust=trust
    )
    print_results(folder, folder.facts(), console)
