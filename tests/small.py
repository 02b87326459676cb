"""A small model around each part."""

import itertools
from dataclasses import replace

import torch

from ablate.base.registry import CATALOGUE
from ablate.core.trial import merged
from ablate.models.build import build_model
from ablate.models.reference import places, settings_for
from ablate.models.section import ModelSection


def section_with(slot, name, **model):
    """A section with this part in its place; `model` may say more of the parts around it, without their names."""
    path, value = places()[slot].path, {"name": name} | settings_for(CATALOGUE.get(slot, name).Config)
    for depth, step in reversed([*enumerate(path)]):
        value = {step: value}
        for outer in (outer for outer, place in places().items() if place.path == path[:depth]):
            parts = sorted(CATALOGUE.names(outer), key=str(places()[outer].default).__ne__)
            value["name"] = next(n for n in parts if step in CATALOGUE.get(outer, n).Config.model_fields)
    return ModelSection.model_validate({"d_model": 64, "num_layers": 1, **merged(model, value)})


def signature_for(section, signature):
    """`signature`, with a source of the same kind where the model reads one."""
    return replace(signature, source=signature) if section.topology.part.reads_source else signature


def trained(section, task, batch_size, steps):
    """A model of a section after so many steps of Adam on a task."""
    model = build_model(section, task.signature)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for batch in itertools.islice(task.train_batches(0, batch_size, "cpu"), steps):
        optimizer.zero_grad()
        task.loss(model(**batch.model_inputs()), batch).backward()
        optimizer.step()
    return model
