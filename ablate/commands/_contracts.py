"""What `ablate check` asks of all that a plugin registers; of the parts of models `ablate.models.contract` does.

A task     repeats itself under one seed (repeat), trains on other data under another (seeds), has no test example in
           validation, nor in training unless its `coverage` says so (apart); a small model can be trained on its data
           (fits); it gives each of its metrics for each of as many test examples as `sampling` says (measure), whose
           floor, solved and ceiling are in order, and all there where outcomes are all or nothing (solved).
A workload repeats itself (repeat), not under another seed (seeds), and gives the metrics that it describes (metrics).
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from ablate.base.registry import CATALOGUE
from ablate.core.metric import FREE, sign
from ablate.core.signature import Signature
from ablate.core.trial import Trial
from ablate.core.workload import Workload
from ablate.models import contract
from ablate.models.build import build_model
from ablate.models.reference import places, settings_for
from ablate.models.section import ModelSection
from ablate.study.checks import attempt, resolved
from ablate.study.patch import apply_patches, has_path
from ablate.study.schema import config_model
from ablate.tasks.task import Batch, Split, Task, digest
from ablate.training.trial import isolated

SMALL: Mapping[str, Any] = {"d_model": 16, "num_layers": 1}
SEQUENCE = Signature(8, num_outputs=2, vocab_size=2)
BATCHES, BATCH_SIZE, STEPS = 20, 50, 3


def examined(file: Path) -> Iterator[tuple[str, str, str]]:
    """Slot and name, rule, and how it is broken, of each part of a model, task and workload that a file registers."""
    asks = dict.fromkeys(places(), _of_part) | {"task": _of_task, "workload": _of_workload}
    found: list[Any] = [CATALOGUE.get(slot, name) for slot in asks for name in CATALOGUE.names(slot)]
    for part in (part for part in found if inspect.getsourcefile(part) == str(file.resolve())):
        with isolated("cpu", 0):
            kept, problems = attempt(asks[part.slot], part)
        for rule, text in (kept or {"builds": " ".join(map(str, problems))}).items():
            yield f"{part.slot} {part.name}", rule, text and str(contract.fault(part, rule, text, part.name))


def _of_part(part: Any) -> Mapping[str, str]:
    """Wherever it can stand; with padding where its mixer can leave that out."""
    found: dict[str, str] = {}
    path, given = ".".join(places()[part.slot].path), {"name": part.name} | settings_for(part.Config)
    for topology in CATALOGUE.names("topology"):
        config = ModelSection.model_validate({**SMALL, "topology": topology}).model_dump()
        section = ModelSection.model_validate(
            apply_patches(config, {path: given} if has_path(config, path) else {})
        )
        mixer, padded = section.mixer.part, getattr(section.mixer.part, "padding", False)
        if has_path(config, path) and (getattr(mixer, "causal", False) or not section.topology.part.causal):
            signature = replace(SEQUENCE, padded=padded, source=replace(SEQUENCE, padded=padded))
            for rule, text in contract.breaches(section, signature, [part]).items():
                found[rule] = found.get(rule) or text
    return found


def _of_task(part: Any) -> Mapping[str, str]:
    """Of data that have the plugin's name and lie beside it, where it asks for a file."""
    file = Path(inspect.getfile(part))
    settings = settings_for(part.Config, [str(path) for path in file.parent.glob(f"{file.stem}.[ct]*")])
    task: Task = part.Config.model_validate({"name": part.name} | settings).build()
    task.check_declared()
    drawn: list[Any] = [
        [
            *islice(task.train_batches(seed, BATCH_SIZE, "cpu"), BATCHES),
            *(task.split(seed, name, "cpu") for name in get_args(Split)),
        ]
        for seed in (0, 0, 1)
    ]
    first, again, other = ([digest(batch) for batch in batches] for batches in drawn)
    *seen, test = drawn[0]
    rows = set[bytes]().union(*map(_rows, seen)) if task.coverage(BATCHES * BATCH_SIZE) == 0 else set()
    section = ModelSection.model_validate({**SMALL, "topology": task.topologies[0]})
    model = build_model(section, task.signature)

    def tried(batch: Any) -> dict[str, tuple[int, ...]]:
        logits = model(**batch.model_inputs())
        task.loss(logits, batch)
        found = task.measure(logits, batch)
        names = task.summarise({name: values.detach().numpy() for name, values in found.items()})
        return {name: tuple(found[name].shape) if name in found else (len(batch),) for name in names}

    tries = [attempt(tried, batch) for batch in drawn[0]]
    faults = [problem for _, problems in tries for problem in problems]
    asked = dict.fromkeys(task.metrics, (task.sampling.test,))
    scales = [
        [sign(of) * value for value in (of.floor, of.solved, of.ceiling) if value is not None]
        for of in task.metrics.values()
    ]
    rules = {
        "repeat": (first != again, "two draws under one seed differ"),
        "seeds": (first[0] == other[0], "two seeds train on the same data"),
        "apart": (
            rows & _rows(test) or first[-1] == first[-2],
            "test examples occur in training or validation",
        ),
        "fits": (faults, f"no model can be trained on it: {faults[0].rule}" if faults else ""),
        "measure": (not faults and tries[-1][0] != asked, f"it gives {tries[-1][0]} of test, not {asked}"),
        "solved": (
            any(scale != sorted(scale) for scale in scales)
            or (task.outcome != "graded" and len(scales[0]) < 3),
            "floor, solved and ceiling of a metric are missing or not in order",
        ),
    }
    return {rule: text if broken else "" for rule, (broken, text) in rules.items()}


def _rows(batch: Batch) -> set[bytes]:
    """What a model is given of each example."""
    given = [x.numpy() for x in batch.model_inputs().values() if x is not None]
    return {b"".join(row.tobytes() for row in rows) for rows in zip(*given, strict=True)}


def _of_workload(part: Any) -> Mapping[str, str]:
    """Of short trials with its defaults."""
    workload: Workload = part()
    workload.load_parts()
    needed: dict[str, Any] = {name: {} for name, (_, default) in workload.schema().items() if default is ...}
    config = resolved(config_model(workload), needed, Path())
    config = apply_patches(config, {workload.steps_path: STEPS} if workload.steps_path else {})
    first, again, other = (
        workload.train(Trial("", config, seed), lambda *_: False).metrics for seed in (0, 0, 1)
    )
    kept = [name for name in first if not name.endswith(FREE)]
    same, alike = (all(first[name] == each.get(name) for name in kept) for each in (again, other))
    missing = [name for name in workload.describe(config).metrics if first.get(name) is None]
    return {
        "repeat": "" if same else "two trials under one seed differ",
        "seeds": "two seeds give the same" if alike else "",
        "metrics": f"a trial has no {missing[0]}" if missing else "",
    }
