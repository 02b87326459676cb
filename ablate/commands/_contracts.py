"""The rules of `ablate check` for all that a plugin registers.

`ablate.models.contract` has the rules of a model's parts, `ablate.commands._task_contract` those of a task. A workload
repeats itself (repeat), does not under another seed (seeds), and gives the metrics that it describes (metrics).
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ablate.base.registry import CATALOGUE
from ablate.commands._task_contract import check_task
from ablate.core.metric import FREE
from ablate.core.signature import Signature
from ablate.core.trial import Trial
from ablate.core.workload import Workload
from ablate.models import contract
from ablate.models.reference import places, settings_for
from ablate.models.section import ModelSection
from ablate.study.checks import attempt, resolved
from ablate.study.patch import apply_patches, has_path
from ablate.study.schema import config_model
from ablate.training.trial import isolated

SMALL: Mapping[str, Any] = {"d_model": 16, "num_layers": 1}
SEQUENCE = Signature(8, num_outputs=2, vocab_size=2)
STEPS = 3


@dataclass(frozen=True)
class CheckedRule:
    """A rule for a part, task or workload, and how it was kept."""

    name: str  # Slot and name of what was checked.
    rule: str
    fault: str  # How the rule is broken; empty where it holds.


def check_file(file: Path) -> Iterator[CheckedRule]:
    """Yields each rule for each part of a model, task and workload that a file registers."""
    checks = dict.fromkeys(places(), _check_part)
    checks |= {"task": check_task, "workload": _check_workload}
    for part in _registered_by(file, [*checks]):
        with isolated("cpu", 0):
            faults, problems = attempt(checks[part.slot], part)
        if not faults:
            faults = {"builds": " ".join(map(str, problems))}
        for rule, text in faults.items():
            fault = str(contract.fault(part, rule, text, part.name)) if text else ""
            yield CheckedRule(f"{part.slot} {part.name}", rule, fault)


def _registered_by(file: Path, slots: list[str]) -> list[Any]:
    """Returns the registered classes of `slots` whose source is `file`; does not load it."""
    source = str(file.resolve())
    parts: list[Any] = []
    for slot in slots:
        classes = [CATALOGUE.get(slot, name) for name in CATALOGUE.names(slot)]
        parts += [part for part in classes if inspect.getsourcefile(part) == source]
    return parts


def _check_part(part: Any) -> Mapping[str, str]:
    """Returns how a part of a model breaks each rule, empty where it does not, wherever the part can stand.

    It is tried with padding where its mixer can leave that out.
    """
    faults: dict[str, str] = {}
    path = ".".join(places()[part.slot].path)
    settings = {"name": part.name} | settings_for(part.Config)
    for topology in CATALOGUE.names("topology"):
        config = ModelSection.model_validate({**SMALL, "topology": topology}).model_dump()
        if not has_path(config, path):
            continue
        section = ModelSection.model_validate(apply_patches(config, {path: settings}))
        mixer = section.mixer.part
        if section.topology.part.causal and not getattr(mixer, "causal", False):
            continue
        sequence = replace(SEQUENCE, padded=getattr(mixer, "padding", False))
        signature = replace(sequence, source=sequence)
        for rule, text in contract.breaches(section, signature, [part]).items():
            faults[rule] = faults.get(rule) or text
    return faults


def _check_workload(part: Any) -> Mapping[str, str]:
    """Returns how short trials of a workload with its defaults break each rule, empty where they do not."""
    workload: Workload = part()
    workload.load_parts()
    required: dict[str, Any] = {
        name: {} for name, (_, default) in workload.schema().items() if default is ...
    }
    config = resolved(config_model(workload), required, Path())
    if workload.steps_path:
        config = apply_patches(config, {workload.steps_path: STEPS})

    def metrics_under(seed: int) -> Mapping[str, float | None]:
        return workload.train(Trial("", config, seed), lambda *_: False).metrics

    first = metrics_under(0)
    again = metrics_under(0)
    other = metrics_under(1)
    fixed = [name for name in first if not name.endswith(FREE)]
    missing = [name for name in workload.describe(config).metrics if first.get(name) is None]
    faults = dict.fromkeys(("repeat", "seeds", "metrics"), "")
    if any(first[name] != again.get(name) for name in fixed):
        faults["repeat"] = "two trials under one seed differ"
    if all(first[name] == other.get(name) for name in fixed):
        faults["seeds"] = "two seeds give the same"
    if missing:
        faults["metrics"] = f"a trial has no {missing[0]}"
    return faults
