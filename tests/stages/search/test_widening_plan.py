"""The plan of searches whose grid is widened: what it says of trainings that it did not need."""

from searching import PEAK_STUDY, prepared, spec_of, train

from ablate.stages.search.search import Search
from ablate.stages.search.searching import search_of
from ablate.stages.search.spec import SearchSpec
from ablate.stages.search.widening import WideningPlan

TUNE = """\
tune:
  over: {training.lr: {choice: [0.003, 0.01, 0.03, 0.1]}}
  sampler: grid
  widen: on
  batch: 1
  pruner: {name: median, n_startup_trials: 1}
"""


def test_trainings_that_a_pruner_spared_are_not_said_to_lie_beyond_a_grid(write):
    study = prepared(write(PEAK_STUDY + TUNE))

    def searches_of(spec: SearchSpec) -> list[Search]:
        return [search_of(study, spec, study.variants[0], "peak")]

    plan = WideningPlan(spec_of(study, "tune"), searches_of, lambda cells: None)
    records = {}
    reasons = {}
    while cells := [*plan.next_cells(records)]:
        reasons[len(plan.spec.facts.added)] = plan.reason
        for cell in cells:
            records[cell.id] = train(study, cell.trial)
    assert {*reasons} == {0, 1, 2}
    assert all(reason.startswith("settings were pruned") for reason in reasons.values())
    assert plan.reason.startswith("no best value asks for a wider grid, settings were pruned")
