"""What `search:` and `tune:` ask for, once they are valid."""

import pytest
from harness import problems
from searching import GRID, PEAK_STUDY, SWEEP, prepared, spec_of

from ablate.stages.search.spec import DEFAULT_TRIALS, SearchSpec
from ablate.study.sections import TUNING_SEEDS_FROM

OVER = "over: {model.x: {float: [0, 1]}}"


def spec(path, kind="search"):
    found = spec_of(prepared(path), kind)
    assert isinstance(found, SearchSpec)
    return found


def test_what_is_not_given_takes_its_default(write):
    study = write(f"{PEAK_STUDY}search: {{{OVER}}}\ntune: {{{OVER}}}\n")
    search, tune = spec(study), spec(study, "tune")
    assert search.facts.trials == tune.facts.trials == DEFAULT_TRIALS
    assert (search.section.sampler.name, tune.section.sampler.name) == ("tpe", "random")
    assert (len(search.facts.seeds), len(tune.facts.seeds)) == (3, 3)
    for found in (search, tune):
        (objective,) = found.facts.objectives
        assert (objective.name, objective.direction, objective.floor) == ("score", "max", -9.0)
        assert found.section.pruner.name == "none"
        assert found.at == "last"


def test_tuning_seeds_never_judge(write):
    assert min(spec(write(SWEEP)).facts.seeds) >= TUNING_SEEDS_FROM
    many = spec(write(SWEEP.replace("seeds: 2", "seeds: 1000"))).facts.seeds
    assert len(many) == len(set(many)) == 1000


def test_tuning_seeds_are_those_of_task_and_baseline(write):
    def seeds(more="", count=3):
        return spec(write(f"{PEAK_STUDY}tune: {{{OVER}, seeds: {count}}}\n{more}"), "tune").seeds

    (three,) = seeds().values()
    assert len(three) == 3
    assert min(three) >= TUNING_SEEDS_FROM
    assert seeds("variants: {wide: {model.kind: wide}}\n")["peak"] == three
    assert seeds(count=5)["peak"][:3] == three
    assert not {*seeds("model: {heads: 2}\n")["peak"]} & {*three}
    both = write(
        f"{PEAK_STUDY}tune: {{{OVER}}}\n".replace(
            "task: {name: peak}", "tasks: [{name: valley}, {name: peak}]"
        )
    )
    assert spec(both, "tune").seeds["peak"] == three != spec(both, "tune").seeds["valley"]


def test_fewer_than_three_tuning_seeds_will_do_where_each_seed_tunes(write):
    each = f"{PEAK_STUDY}tune: {{{OVER}, seeds: 2, each_seed: on}}\n"
    assert spec(write(each), "tune").max_runner_ups == 0


def test_objectives_have_their_own_direction_and_source(write):
    names = "[loss, score, parameters, flops, divergence_rate, seed_spread]"
    found = spec(write(f"{PEAK_STUDY}search: {{{OVER}, objectives: {names}}}\n")).facts.objectives
    assert [(o.name, o.direction, o.source) for o in found] == [
        ("loss", "min", "validation"),
        ("score", "max", "validation"),
        ("parameters", "min", "cost"),
        ("flops", "min", "cost"),
        ("divergence_rate", "min", "stability"),
        ("seed_spread", "min", "stability"),
    ]


@pytest.mark.parametrize(
    ("sampler", "label"),
    [
        ("tpe", "tpe"),
        ("{name: tpe, n_startup_trials: 5}", "tpe(n_startup_trials=5)"),
        ("{name: tpe, n_startup_trials: 10}", "tpe"),
        ("GPSampler", "GPSampler"),
        (
            "{name: GPSampler, n_startup_trials: 5, deterministic_objective: off}",
            "GPSampler(n_startup_trials=5)",
        ),
    ],
)
def test_a_sampler_is_called_by_what_is_not_at_its_default(write, sampler, label):
    facts = spec(write(f"{PEAK_STUDY}search: {{{OVER}, sampler: {sampler}}}\n")).facts
    assert facts.sampler == label


def test_the_facts_of_a_space_say_what_it_was(write):
    facts = spec(write(GRID)).facts
    heads = {parameter.path: parameter for parameter in facts.parameters}["model.heads"]
    assert (heads.kind, heads.low, heads.high, heads.when) == ("int", 2, 3, "model.kind=wide")
    kinds = {parameter.path: parameter for parameter in facts.parameters}["model.kind"]
    assert (kinds.kind, kinds.choices, kinds.low) == ("choice", ["plain", "wide"], None)
    assert facts.trials == 9


CONDITIONS = "conditions: {one: {}, two: {model.heads: 2}}\n"


def test_tuning_at_a_condition_takes_its_seeds(write):
    found = spec(write(f"{PEAK_STUDY}{CONDITIONS}tune: {{{OVER}, at: two}}\n"), "tune")
    assert found.facts.at == "two"
    assert found.facts.seeds == found.seeds["two"] != found.seeds["one"]
    assert spec(write(f"{PEAK_STUDY}{CONDITIONS}tune: {{{OVER}}}\n"), "tune").facts.at == ""


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (
            f"{CONDITIONS}tune: {{{OVER}, at: tow}}\n",
            "tune.at: is not a condition of the study; given 'tow'; allowed: one, two. Did you mean 'two'?",
        ),
        (
            "tasks: [{name: valley}, {name: peak}]\n" + f"tune: {{{OVER}, at: hill}}\n",
            "tune.at: is not a condition of the study; given 'hill'; allowed: valley, peak",
        ),
        (
            f"conditions: {{one: {{}}, two: {{model.x: 0.5}}}}\ntune: {{{OVER}}}\n",
            "conditions.two.model.x: is also set under `tune`",
        ),
        (f"{CONDITIONS}search: {{{OVER}}}\n", "search: searches in one condition, and the study has several"),
    ],
)
def test_tuning_and_conditions_fit_one_another(write, text, refused):
    head = PEAK_STUDY.replace("task: {name: peak}\n", "") if "tasks:" in text else PEAK_STUDY
    (problem,) = problems(write(head + text))
    assert refused in problem
