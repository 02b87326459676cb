"""`ablate clean`: what of a store no study refers to, and its removal."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ablate.base.errors import AblateError, listed
from ablate.base.wording import counted, size
from ablate.commands.options import RESULTS, warn

if TYPE_CHECKING:
    from ablate.records.cleanup import Rubbish

MAX_COMMANDS = 10
"""Commands by which trials to be removed were made that are listed, at most."""


@click.command("clean")
@RESULTS
@click.option("--yes", is_flag=True, help="Remove without asking.")
def command(results: Path, yes: bool) -> None:
    """Remove trials that no study refers to.

    Lists what would be removed, and asks first; without a terminal, removes nothing unless --yes is given. A study
    refers to the trials of its last report, and of a run that has not reached its report. Also removes corrupt
    records, and files that killed runs left half-written. Reports and the runs in MLflow stay.
    """

    def agree() -> bool:
        if yes or not sys.stdin.isatty():
            if not yes:
                click.echo("Nothing was removed; with --yes it is.")
            return yes
        return click.confirm("Remove this? Trials can be trained again, but not brought back")

    clean(results, agree, click.echo, warn)


def clean(
    results: Path, agree: Callable[[], bool], say: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Says what can go, and removes it if that is agreed to. Raises `AblateError` when it cannot be told, and
    `StoreError` while a study is being run.
    """
    from ablate.records import cleanup

    if not (results / "store").is_dir():
        raise AblateError(f"{results}: has no store of trials; name another folder with --results")
    with cleanup.standstill(results) as held:
        rubbish = cleanup.find(results, warn)
        say(described(rubbish))
        if rubbish.files and agree():
            # A study that was new when the locks were taken is not held by any of them.
            for name in sorted(cleanup.locks(results) - held):
                raise cleanup.under_way(results, name)
            say(f"Removed: {size(cleanup.remove(rubbish))} are free again.")


def described(rubbish: Rubbish) -> str:
    """What can go, in words."""
    from ablate.records.cleanup import bytes_of

    if not rubbish.files:
        return f"{rubbish.results / 'store'}: nothing to clean; all {rubbish.num_trials} trials belong to a study."
    lines = []
    if rubbish.trials:
        asked = f"to none of the studies ({listed(rubbish.studies)})" if rubbish.studies else "to no study"
        paths = [path for files in rubbish.trials.values() for path in files]
        lines.append(
            f"{len(rubbish.trials)} of {rubbish.num_trials} trials belong {asked}: {size(bytes_of(paths))}"
        )
        lines += [f"  {line}" for line in _origins(rubbish.trials)]
    if rubbish.aside:
        lines.append(
            f"{counted(len(rubbish.aside), 'file')} set aside as corrupt: {size(bytes_of(rubbish.aside))}"
        )
    if rubbish.unfinished:
        lines.append(
            f"{counted(len(rubbish.unfinished), 'file')} left half-written: {size(bytes_of(rubbish.unfinished))}"
        )
    return "\n".join(lines)


def _origins(trials: dict[str, list[Path]]) -> Iterator[str]:
    """By which commands the trials were made, the latest first."""
    commands: Counter[str] = Counter()
    dates: dict[str, str] = {}
    for files in trials.values():
        try:
            record = json.loads(files[0].read_text(encoding="utf-8"))
            command, date = str(record["environment"]["command"]), str(record["finished_at"])[:10]
        except (OSError, ValueError, KeyError, TypeError):
            command, date = "what cannot be read", ""
        commands[command] += 1
        dates[command] = max(date, dates.get(command, ""))
    ordered = sorted(commands, key=lambda command: dates[command], reverse=True)
    for command in ordered[:MAX_COMMANDS]:
        date = f", last {dates[command]}" if dates[command] else ""
        yield f"{commands[command]} by {command}{date}"
    if len(ordered) > MAX_COMMANDS:
        yield f"and {sum(commands[c] for c in ordered[MAX_COMMANDS:])} by other commands"
