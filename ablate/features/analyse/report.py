"""From runs that exist to the folder of a report, with its evidence card."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.base.files import write_text
from ablate.core import names
from ablate.core.metric import Metric
from ablate.features.analyse import noise
from ablate.features.analyse.evidence import evidence_of
from ablate.features.analyse.reading import read, refuse
from ablate.features.analyse.runs import Asked, Given, given_runs
from ablate.features.analyse.sections.pairing import table
from ablate.records.environment import command_line
from ablate.records.folder import StudyFolder
from ablate.report.page import markdown, markdown_table
from ablate.report.terminal import summary
from ablate.report.words import say, templates
from ablate.route.publish import publish

NUMBERS = ("floor", "ceiling", "resolution", "solved")


def opened(runs: str, options: Mapping[str, Any]) -> tuple[Asked, Given, dict[str, str]]:
    """What the options declare, the runs, and what these were made with. Raises `AblateError`."""
    for name in ("baseline", "metric", "direction"):
        if not options[name]:
            raise refuse(f"--{name}", "must be given", hint="Or --known-noise FILE, which has it")
    numbers = {name: options[name] for name in NUMBERS if options[name] is not None}
    metrics = {options["metric"]: Metric(options["direction"], **numbers)}
    for name, direction in options["also"]:
        if metrics.setdefault(name, Metric(direction)).direction != direction:
            raise refuse("--also", "a metric has one direction", given=f"{name} {direction}")
    if options["all_or_nothing"] and not {"floor", "ceiling", "solved"} <= numbers.keys():
        raise refuse("--all-or-nothing", "takes --floor, --ceiling and --solved")
    asked = Asked(
        runs, options["baseline"], metrics, options["margin"], options["all_or_nothing"], options["claim"]
    )
    rows = read(runs, dict(options["column"]), options["tracking_uri"])
    return asked, given_runs(rows, asked), noise.made_with(rows, dict(options["made_with"]))


def keep_noise(runs: str, file: Path, options: Mapping[str, Any]) -> list[str]:
    """Keeps the noise of the baseline's runs, and says it. Raises `AblateError`."""
    asked, given, made_with = opened(runs, options)
    kept = noise.keep(file, given, asked, made_with)
    return [*(say("analyse.kept", task, sd, kept.n[task]) for task, sd in kept.sd.items()), f"Noise: {file}"]


def report(folder: StudyFolder, runs: str, options: Mapping[str, Any], warn: Callable[[str], None]) -> None:
    """Judges runs and writes their report. Raises `AblateError`."""
    if not re.fullmatch(names.OWN, folder.name) or folder.name in names.RESERVED:
        raise refuse(
            "--name", "is no name of a report", given=folder.name, allowed="letters, digits, `.`, `_`, `-`"
        )
    if folder.study_file.is_file() or (folder.has_report and not folder.facts().given):
        raise AblateError(f"{folder.path}: is the report of a study; choose another --name")
    if file := options["known_noise"]:
        known = noise.load(file)
        for name in ("baseline", "metric", "direction"):
            if options[name] not in (None, value := getattr(known, name)):
                raise refuse(f"--{name}", "is not that of the kept noise", given=options[name], allowed=value)
            options = {**options, name: value}
    asked, given, made_with = opened(runs, options)
    if file:
        given = noise.beside(known, given, asked, made_with, file)
    evidence = evidence_of(
        given, asked, folder.name, "known_noise" if file else "runs", command_line(["ablate", *sys.argv[1:]])
    )
    for caution in evidence.facts.cautions:
        warn(caution)
    folder.save_evidence(evidence)
    publish(folder, warn)
    write_text(folder.path / "card.md", card(folder))


def card(folder: StudyFolder) -> str:
    """The verdicts with what they rest on, as markdown to paste into a pull request."""
    environment, evidence = (
        templates(Path(__file__).parent, trim_blocks=True, lstrip_blocks=True),
        folder.evidence(),
    )
    environment.filters.update(md=markdown, table=markdown_table)
    tables = [*summary(folder), table(evidence)]
    return environment.get_template("card.md.j2").render(
        facts=evidence.facts, answer=folder.answer(), tables=tables
    )
