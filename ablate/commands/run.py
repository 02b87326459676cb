"""`ablate run`."""

from pathlib import Path
from typing import Any

import click

from ablate.commands._console import AS_JSON, GATE, STRICT, STUDY, exit_code_of, output_console
from ablate.commands._options import options_of
from ablate.session.option import read_options
from ablate.session.options import RunCall


@click.command("run")
@STUDY
@options_of(RunCall)
@GATE
@STRICT
@AS_JSON
def command(study: Path, gate: bool, strict: bool, as_json: bool, **options: Any) -> int:
    """Train a study's missing trials, compare its variants, and report.

    STUDY is a study file, which reports in results/STUDY. A run that differs from the study as written, by --set,
    --seeds, --only, --condition or --seed, reports in a folder of its own: results/STUDY@seeds=3.

    With --confirm, the variants and claims that its report has decided are judged again, as a family of their own, on
    as many seeds after its last; the report of that is in results/STUDY@confirm.

    Where the first run of the baseline fails, the others would probably fail, too: the run ends, unless --keep-going
    is given. The same command continues it once the mistake is mended.

    Exit codes: 0: done; 1: some trials failed, or with --gate a claim is refuted; 2: the study or the command line
    is invalid, or a variant of your own code has the baseline's numbers in every digit; 3: with --strict, no claim is
    refuted, and one is inconclusive, incomplete or not judged; 130: interrupted. Exploratory claims count too.
    """
    from ablate.pipeline.run import run_study

    with output_console(as_json) as console:
        outcome = run_study(study, read_options(RunCall, options), console)
    return exit_code_of(outcome.folder, outcome, as_json, gate, strict)
