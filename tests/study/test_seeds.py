"""`seeds:` a number, or a first one and a number."""

import pytest
from harness import TOY_STUDY, prepare

from ablate.study.facts import facts_of
from ablate.study.files import resolved_text

FROM_100 = TOY_STUDY.replace("seeds: 3", "seeds: {from: 100, count: 2}")
LISTED = TOY_STUDY.replace("seeds: 3", "seeds: [7, 0, 3]")


@pytest.mark.parametrize(
    ("text", "options", "seeds"),
    [
        (TOY_STUDY, {}, [0, 1, 2]),
        (TOY_STUDY, {"seeds": 5}, [0, 1, 2, 3, 4]),
        (FROM_100, {}, [100, 101]),
        (FROM_100, {"seeds": 3}, [100, 101, 102]),
        (FROM_100, {"sets": ["seeds=1"]}, [0]),
        (FROM_100, {"sets": ["seeds.from=7"]}, [7, 8]),
        (TOY_STUDY, {"sets": ["seeds.from=7"]}, [7, 8, 9]),
        (TOY_STUDY, {"sets": ["seeds.from=7"], "seeds": 1}, [7]),
        (TOY_STUDY, {"seeds": (7, 0, 3)}, [0, 3, 7]),
        (FROM_100, {"seeds": [7]}, [7]),
        (LISTED, {}, [0, 3, 7]),
        (LISTED, {"seeds": 2}, [0, 1]),
        (LISTED, {"sets": ["seeds=[1, 5]"]}, [1, 5]),
    ],
)
def test_the_study_says_where_they_begin_and_the_command_line_changes_them(write, text, options, seeds):
    experiment = prepare(write(text), **options)
    assert facts_of(experiment).seeds == seeds
    assert {(cell.seed, cell.trial.seed) for cell in experiment.cells()} == {(seed, seed) for seed in seeds}


def test_a_list_of_seeds_that_follow_one_another_is_their_number(write):
    assert (
        prepare(write(TOY_STUDY), ["seeds=[2, 1, 0]"]).config.seeds == prepare(write(TOY_STUDY)).config.seeds
    )


@pytest.mark.parametrize("text", [TOY_STUDY, FROM_100, LISTED])
def test_the_resolved_study_has_them(write, tmp_path, text):
    given = prepare(write(text))
    again = prepare(write(resolved_text(given, tmp_path), "resolved.yaml"))
    assert again.config.seeds == given.config.seeds
    assert [cell.id for cell in again.cells()] == [cell.id for cell in given.cells()]


def test_the_same_seed_is_the_same_trial_wherever_they_begin(write):
    few = {cell.id for cell in prepare(write(TOY_STUDY), ["seeds={from: 1, count: 1}"]).cells()}
    assert few < {cell.id for cell in prepare(write(TOY_STUDY)).cells()}
