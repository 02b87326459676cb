"""`ablate report`."""

from pathlib import Path

import click

from ablate.base.text import saying
from ablate.commands._console import AS_JSON, GATE, RESULTS, STRICT, STUDY, exit_code_of, output_console


@click.command("report")
@STUDY
@RESULTS
@click.option(
    "--figures",
    type=click.Choice(["few", "all"]),
    default="few",
    show_default=True,
    help="Draw at most a dozen figures, the first of each kind among them, or all.",
)
@GATE
@STRICT
@AS_JSON
def command(study: Path, results: Path, figures: str, gate: bool, strict: bool, as_json: bool) -> int:
    """Rewrite the comparisons, figures and page of a study.

    STUDY is a study file, the name of a study, or its results folder. The command reads only the
    results folder, and trains nothing.

    Exit codes: 0: done; 1: with --gate, a claim is refuted; 2: there is no such report; 3: with --strict, no claim is
    refuted, and one is inconclusive, incomplete or not judged. Exploratory claims count too.
    """
    from ablate.pipeline.next_steps import print_results
    from ablate.pipeline.reporter import import_seaborn, write_report
    from ablate.records.named_folder import report_folder

    import_seaborn()
    with output_console(as_json) as console:
        folder = report_folder(study, results)
        write_report(folder, saying(console, "warning"), all_figures=figures == "all")
        print_results(folder, folder.facts(), console)
    return exit_code_of(folder.path, None, as_json, gate, strict)
