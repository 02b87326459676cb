"""`ablate list`: the registered parts, each with its parameters, abilities and cost; or the reports that there are."""

from __future__ import annotations

from pathlib import Path

import click

from ablate.commands.options import PLUGINS, RESULTS


@click.command("list")
@click.argument("slot", required=False)
@click.argument("name", required=False)
@PLUGINS
@RESULTS
def command(slot: str | None, name: str | None, plugins: tuple[Path, ...], results: Path) -> None:
    """List the parts that a study can swap, or results.

    Without arguments, the command lists every slot with its parts; with SLOT, the parts of that slot; with SLOT and
    NAME, it describes one part: formula, parameters, shapes, cost, and source file. `ablate list results` lists the
    reports in the results folder: what each asks or how its run differs from its study, date, trials and verdicts.
    """
    if slot == "results" and name is None:
        from rich.console import Console

        from ablate.report.terminal import print_table
        from ablate.route.overview import overview

        print_table(overview(results), Console())
        return
    from ablate.base.plugins import load_plugins
    from ablate.report.parts import describe

    load_plugins(plugins)
    click.echo(describe(slot, name))
