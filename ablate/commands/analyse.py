"""`ablate analyse`."""

import sys
from pathlib import Path
from typing import Any

import click

from ablate.base.errors import Invalid
from ablate.base.text import DEFAULT_RESULTS, saying
from ablate.commands._console import AS_JSON, GATE, STRICT, exit_code_of, output_console, warn
from ablate.commands._options import options_of
from ablate.runs.options import AnalysisCall
from ablate.session.option import read_options


@click.command("analyse")
@click.argument("runs")
@options_of(AnalysisCall)
@GATE
@STRICT
@AS_JSON
def command(runs: str, gate: bool, strict: bool, as_json: bool, **given: Any) -> int:
    """Judge runs that exist, of any training code: verdicts, claims and report.

    RUNS is a table with one row per run; a folder of runs as Hydra, Lightning, Hugging Face, Ray Tune or timm write
    them; TensorBoard's or MLflow's folder; what lm-eval wrote; or logs, with --read. The output says as what it was
    read, and what was guessed. Runs that share seeds are paired; others are compared by Welch's t. It trains nothing.
    See `ablate guide analyse`.

    Exit codes: 0: done; 1: with --gate, a claim is refuted; 2: the runs or the call are wrong; 3: with --strict, no
    claim is refuted, and one is inconclusive.
    """
    from ablate.pipeline.next_steps import print_results
    from ablate.records.environment import command_line
    from ablate.runs import noise, report
    from ablate.runs.checking import checked
    from ablate.runs.reading import read
    from ablate.runs.shape_in_words import reading_of

    call = read_options(AnalysisCall, {**given, "command": command_line(sys.argv)})
    with output_console(as_json) as console:
        say = saying(console)
        table = read(runs, call)
        options = table.options
        reading = reading_of(table)
        say(reading)
        if call.keep_noise is not None:
            given_runs = checked(table, options.metrics())
            say(noise.keep_noise(given_runs, options, call.keep_noise, table.run_name))
            return 0
        if call.known_noise is not None:
            table = noise.beside_noise(table, options, Path(call.known_noise))
        folder = report.folder_for(Path(call.results or DEFAULT_RESULTS), call.name, runs)
        try:
            folder = report.judge(folder, table, runs, say, warn)
        except Invalid:
            # What was guessed of the runs, or passed over, may be why they are refused.
            for note in table.notes:
                say(note)
            raise
        facts = folder.facts()
        for caution in facts.cautions:
            if caution != reading:
                say(caution)
        print_results(folder, facts, console)
        say(f"Card for a pull request: {folder.path / 'card.md'}")
    return exit_code_of(folder.path, None, as_json, gate, strict)
