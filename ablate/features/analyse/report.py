"""From runs that exist to the folder of a report, with its evidence card. What is wrong raises `AblateError`."""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ablate.base.files import write_text
from ablate.core import names
from ablate.core.metric import Metric
from ablate.features.analyse import noise
from ablate.features.analyse.reading import read, require
from ablate.features.analyse.runs import Asked, Runs, checked, evidence_of
from ablate.features.analyse.sections.pairing import table
from ablate.records.environment import command_line
from ablate.records.folder import StudyFolder
from ablate.report.page import markdown, markdown_table
from ablate.report.terminal import summary
from ablate.report.words import say, templates
from ablate.route.publish import publish


def opened(runs: str, options: Mapping[str, Any]) -> tuple[Asked, Runs, dict[str, str]]:
    """What the options declare, the runs, and what these were made with."""
    for name in ("baseline", "metric", "direction"):
        require(options[name], f"--{name}", "must be given", hint="Or --known-noise FILE, which has it")
    known = {name: options[name] for name in ("floor", "ceiling", "solved") if options[name] is not None}
    metrics = {options["metric"]: Metric(options["direction"], options["resolution"], **known)}
    for name, direction in options["also"]:
        one = metrics.setdefault(name, Metric(direction)).direction == direction
        require(one, "--also", "a metric has one direction", given=f"{name} {direction}")
    whole = len(known) == 3 or not options["all_or_nothing"]
    require(whole, "--all-or-nothing", "takes --floor, --ceiling and --solved")
    asked = Asked(
        runs, options["baseline"], metrics, *(options[of] for of in ("margin", "all_or_nothing", "claim"))
    )
    rows = read(runs, dict(options["column"]), options["tracking_uri"])
    return asked, checked(rows, asked), noise.made_with(rows, dict(options["made_with"]))


def keep_noise(runs: str, file: Path, options: Mapping[str, Any]) -> str:
    """Keeps the noise of the baseline's runs, and says it."""
    asked, given, made_with = opened(runs, options)
    kept = noise.keep(file, given, asked, made_with)
    return "\n".join(
        [*(say("analyse.kept", task, sd, kept["n"][task]) for task, sd in kept["sd"].items()), str(file)]
    )


def report(folder: StudyFolder, runs: str, options: Mapping[str, Any], warn: Callable[[str], None]) -> None:
    """Judges runs and writes their report."""
    proper = re.fullmatch(names.OWN, folder.name) and folder.name not in names.RESERVED
    require(
        proper,
        "--name",
        "is no name of a report",
        given=folder.name,
        allowed="letters, digits, `.`, `_`, `-`",
    )
    ours = not folder.study_file.is_file() and (not folder.has_report or folder.facts().given)
    require(ours, folder.path, "is the report of a study", hint="Choose another --name")
    file = options["known_noise"]
    known = noise.load(file) if file else {}
    for name in ("baseline", "metric", "direction") if known else ():
        same = options[name] in (None, known[name])
        require(same, f"--{name}", "is not that of the kept noise", given=options[name], allowed=known[name])
        options = {**options, name: known[name]}
    asked, given, made_with = opened(runs, options)
    given = noise.beside(known, given, asked, made_with, file) if known else given
    command = command_line(["ablate", *sys.argv[1:]])
    evidence = evidence_of(given, asked, folder.name, "known_noise" if known else "runs", command)
    for caution in evidence.facts.cautions:
        warn(caution)
    folder.save_evidence(evidence)
    folder.write_claims([])  # Those of an earlier call are none of this one.
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
