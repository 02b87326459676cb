"""The most trainings of a study, which stages that choose its variants are told."""

from dataclasses import replace

from harness import TOY_STUDY, prepare

from ablate.pipeline.selection import _max_trainings


def test_a_study_without_stages_trains_each_cell_and_what_accompanies_it(write):
    study = prepare(write(TOY_STUDY))
    assert _max_trainings(study, []) == len(study.cells())
    assert _max_trainings(replace(study, companions_per_cell=3), []) == len(study.cells()) * 4
