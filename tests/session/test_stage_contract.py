"""The contract of stages: what it lacks is refused, and what is not overridden does nothing."""

from collections.abc import Iterable

import pytest
from harness import TOY_STUDY, checked, prepare, problems

from ablate.core.dated_plan import OF_CLAIMS
from ablate.session.stage import Preview, Stage, StageEvidence
from ablate.stages import CONFIGS, STAGES
from ablate.stages.search.sweep import SweepStage
from ablate.stages.search.tune import TuneStage

SECTIONS = """\
probe: {model.width: 2}
tune: {over: {model.width: {int: [30, 40]}}, trials: 2, seeds: 3}
speed: on
"""


def test_a_method_that_the_contract_lacks_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Misspelt\.mesure"):
        type("Misspelt", (Stage,), {"mesure": lambda self: None})


def test_what_is_not_overridden_does_nothing(toy_study) -> None:
    class Silent(Stage):
        name = "silent"

        @classmethod
        def from_study(cls, study, options):
            return cls()

    study, _ = checked(toy_study)
    stage = Silent()
    cells = study.cells()
    assert (stage.metrics, stage.selects, stage.extra_variants(study)) == (frozenset(), False, ())
    assert (stage.max_trials(study, 7), stage.adjust(study)) == (7, study)
    made: list[Iterable[object]] = [
        stage.companions(study, cells),
        stage.follow_up(study, cells, lambda: None),
    ]
    assert [list(each) for each in made] == [[], []]
    assert stage.collect(study, [], {}) == StageEvidence()
    assert stage.preview(study, None) == Preview()
    assert stage.in_confirmation("", ()) is None


def test_a_study_has_the_stages_that_it_asks_for(toy_study, write) -> None:
    assert checked(toy_study)[1] == ()
    _, stages = checked(write(TOY_STUDY + SECTIONS, "more.yaml"))
    assert [stage.name for stage in stages] == ["probe", "search", "speed"]
    assert [stage.name for stage in stages if stage.selects] == ["probe", "search"]


def test_keys_of_stages_are_those_of_their_configs() -> None:
    keys = [key for config in CONFIGS for key in config.model_fields]
    assert keys == ["match", "probe", "acts_late", "search", "tune", "speed", "stress"]
    assert [stage.name for stage in STAGES] == [
        "match",
        "probe",
        "path",
        "search",
        "search",
        "speed",
        "stress",
    ]


def test_a_change_of_a_key_changes_what_depends_on_it_alone() -> None:
    """Comparisons depend on the keys of a stage that changes variants; claims alone on those of `OF_CLAIMS`."""
    for stage in STAGES:
        changes_variants = stage.select is not Stage.select or stage.adjust is not Stage.adjust
        for key in stage.Config.model_fields:
            if stage.Config.decides and key not in OF_CLAIMS:
                assert changes_variants, f"{key}: `decides = False`, or a line of OF_CLAIMS"


def test_a_run_selects_by_tune_alone_and_a_sweep_by_search_alone(write) -> None:
    over = "over: {model.width: {int: [30, 40]}}, trials: 2, seeds: 3"
    both = TOY_STUDY.partition("factors")[0] + f"search: {{{over}}}\ntune: {{{over}}}\n"
    for sweep, selecting in ((False, TuneStage), (True, SweepStage)):
        _, stages = checked(write(both), sweep=sweep)
        assert [type(stage) for stage in stages] == [SweepStage, TuneStage]
        assert [type(stage) for stage in stages if stage.selects] == [selecting]


def test_a_path_that_only_a_sweep_would_search_is_not_selected_by_a_run(write) -> None:
    head = TOY_STUDY.partition("factors")[0]
    head += "tune: {over: {model.width: {int: [30, 40]}}, trials: 2, seeds: 3}\n"
    study = prepare(write(head + "search: {over: {model.effect: {float: [0.1, 0.2]}}, trials: 2}\n"))
    assert [*study.selected_paths] == ["model.width"]


def test_two_stages_that_select_and_do_not_know_of_one_another_are_refused(write) -> None:
    path = "design: {name: path, to: both}\nvariants: {both: {model.effect: 0.2, model.noise: 0.3}}\n"
    head = TOY_STUDY.partition("factors")[0] + "seeds: 2\n"
    tune = "tune: {over: {model.width: {int: [30, 40]}}, trials: 2, seeds: 3}\n"
    [problem] = problems(write(head + path + tune))
    assert "search: cannot be combined with path" in problem
