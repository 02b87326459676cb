"""`ablate clean`: lists the trials that no study refers to, and removes them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ablate.base.errors import AblateError, listed
from ablate.base.wording import counted, size
from ablate.commands._console import RESULTS, warn

if TYPE_CHECKING:
    from ablate.records.cleanup import Rubbish


@click.command("clean")
@RESULTS
@click.option("--yes", is_flag=True, help="Remove without asking.")
def command(results: Path, yes: bool) -> None:
    """Remove trials that no study refers to.

    Lists the files and asks before it removes them; without a terminal, it removes them only with --yes. A study
    refers to the trials of its last report, and to those of a later run that has no report yet. Corrupt records and
    incomplete files of killed runs are removed too, and frozen code that no trial needs. Reports and MLflow runs are
    kept.
    """

    def agree() -> bool:
        if yes:
            return True
        if sys.stdin.isatty():
            return click.confirm("Remove these files? Trials can only be trained again, not restored")
        click.echo("Nothing was removed; add --yes to remove these files.")
        return False

    clean(results, agree, click.echo, warn)


def clean(
    results: Path, agree: Callable[[], bool], say: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Lists the files that can be removed, and removes them if `agree` says so.

    Raises `AblateError` when they are unknown, and `StoreError` while a study is running.
    """
    from ablate.records import cleanup

    if not (results / "store").is_dir():
        raise AblateError(f"{results}: has no store of trials; name another folder with --results")
    with cleanup.standstill(results) as check_no_new_study:
        rubbish = cleanup.find(results, warn)
        say(described(rubbish))
        if (rubbish.files or rubbish.folders) and agree():
            check_no_new_study()
            say(f"Removed; {size(cleanup.remove(rubbish))} freed.")


def described(rubbish: Rubbish) -> str:
    """Returns the files that can be removed, in words."""
    from ablate.records.cleanup import bytes_below, bytes_of

    if not (rubbish.files or rubbish.folders):
        return f"{rubbish.results / 'store'}: nothing to remove; all {rubbish.num_trials} trials belong to a study."
    lines = []
    if rubbish.trials:
        owner = f"any study ({listed(rubbish.studies)})" if rubbish.studies else "any study"
        used = size(bytes_of(chain.from_iterable(rubbish.trials.values())))
        lines.append(f"{len(rubbish.trials)} of {rubbish.num_trials} trials do not belong to {owner}: {used}")
    for kind, files in (("set-aside", rubbish.aside), ("incomplete", rubbish.unfinished)):
        if files:
            lines.append(f"{counted(len(files), f'{kind} file')}: {size(bytes_of(files))}")
    if rubbish.folders:
        used = size(bytes_below(rubbish.folders))
        lines.append(f"{counted(len(rubbish.folders), 'folder')} of code and of what its trials left: {used}")
    return "\n".join(lines)
