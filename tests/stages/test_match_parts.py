"""Every part of the catalogue as a variant: its parameters are the baseline's, or what comes nearest is named.

That nothing comes nearer is seen of the solver, against every number there is.
"""

from functools import cache

import pytest
from small import section_with

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE
from ablate.models.reference import places
from ablate.stages.match.matcher import Matcher
from ablate.stages.match.section import MatchSection
from ablate.study.patch import apply_patches, value_at
from ablate.training.trial import parse
from ablate.training.workload import SequenceWorkload

CATALOGUE.load_builtin()
WITHIN = 0.01
WORKLOAD = SequenceWorkload()
SIZES = {"d_model": 32, "num_layers": 1}
TASKS = {"encoder_decoder": "reverse"}
"""By topology; recall for the others."""
PARTS = [(slot, name) for slot in places() for name in CATALOGUE.names(slot)]
BY = ("model.feedforward.expansion", "model.d_model")


def resolved(config):
    try:
        return parse(config).model_dump()
    except ValueError as error:
        raise Invalid("", str(error)) from None


def variant(slot, name):
    section = section_with(slot, name, **SIZES)
    task = TASKS.get(section.topology.name, "recall")
    return resolved({"task": {"name": task}, "model": section.model_dump(), "training": {}})


@cache
def matcher(topology, by):
    task = {"name": TASKS.get(topology, "recall")}
    baseline = resolved({"task": task, "model": {**SIZES, "topology": topology}, "training": {}})
    match = MatchSection(parameters="baseline", by=by, within=WITHIN)
    return Matcher(match, WORKLOAD, {"": baseline}, resolved)


@pytest.mark.parametrize("by", [BY[0], pytest.param(BY[1], marks=pytest.mark.slow)])
@pytest.mark.parametrize(("slot", "name"), PARTS)
def test_parameters_are_matched_or_the_nearest_is_named(slot, name, by):
    config = variant(slot, name)
    match = matcher(config["model"]["topology"]["name"], by)
    try:
        matched = match(config, "")
    except Invalid as error:
        (problem,) = error.problems
        assert problem.path == tuple(by.split("."))
        if "does not exist" in problem.rule:
            assert not hasattr(CATALOGUE.get(slot, name).Config, "expansion")
            return
        assert "the nearest is" in problem.rule
        return
    given = match.row("", "", matched)
    assert abs(given.residual) <= WITHIN
    assert value_at(matched, by) == given.value
    assert given.achieved == WORKLOAD.describe(matched).parameters
    assert matched == resolved(apply_patches(config, {by: given.value}))


@pytest.mark.slow
def test_most_parts_can_be_matched_by_the_feedforward():
    refused = []
    for slot, name in PARTS:
        config = variant(slot, name)
        try:
            matcher(config["model"]["topology"]["name"], BY[0])(config, "")
        except Invalid:
            refused.append((slot, name))
    assert len(refused) < len(PARTS) / 10, refused


def test_the_count_alone_is_that_of_the_description():
    for slot, name in PARTS[::7]:
        config = variant(slot, name)
        assert WORKLOAD.parameters(config) == WORKLOAD.describe(config).parameters
