"""A pruner that could never prune is refused before anything trains, and no other."""

from typing import Any

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE
from ablate.commands.list import describe
from ablate.search.pruning import BatchPruner
from ablate.search.quiet import quiet

CATALOGUE.load_package("search")
REPORTS = tuple(range(5, 51, 5))
PRUNERS = [name for name in CATALOGUE.names("pruner") if name != "none"]
BY_STEPS = [name for name in PRUNERS if CATALOGUE.get("pruner", name).reads == "steps"]  # type: ignore[attr-defined]


def part(name: str, **parameters: Any) -> Any:
    config: Any = CATALOGUE.get("pruner", name).Config  # type: ignore[attr-defined]
    return config(name=name, **parameters).build()


def refusal(built: Any, **changes: Any) -> str:
    """What `check` says, nothing where it says nothing."""
    given: dict[str, Any] = {"objectives": 1, "reports": REPORTS, "seeds": 6, "trials": 20}
    try:
        built.check(**(given | changes))
    except Invalid as error:
        return str(error)
    return ""


def could_prune(built: Any, reports: tuple[int, ...], earlier: int, study_name: str = "s") -> bool:
    """Whether a setting that is worse than all `earlier` ones, which were trained to their end, ends before its last
    report.
    """
    told: list[optuna.trial.FrozenTrial] = []
    for number in range(earlier + 1):
        judge = BatchPruner(built.build(reports[-1]), "max", told, study_name)
        seen, attrs = {}, {}
        for place, step in enumerate(reports):
            seen[step] = -1.0 - place / 100 if number == earlier else 0.0
            if judge.should_prune(number, seen, attrs) and number == earlier and step < reports[-1]:
                return True
        trial = optuna.create_trial(value=0.0, intermediate_values=seen, system_attrs=attrs)
        trial.number = number
        told.append(trial)
    return False


rising = st.lists(st.integers(1, 40), min_size=2, max_size=4, unique=True).map(
    lambda steps: tuple(sorted(steps))
)


@settings(max_examples=60)
@given(
    rising,
    st.integers(1, 6),
    st.integers(1, 3),
    st.fixed_dictionaries(
        {
            "n_startup_trials": st.integers(0, 6),
            "n_warmup_steps": st.integers(0, 40),
            "interval_steps": st.integers(1, 10),
            "n_min_trials": st.integers(1, 4),
        }
    ),
)
def test_a_comparison_is_refused_exactly_when_it_could_never_prune(
    reports: tuple[int, ...], trials: int, batch: int, parameters: dict[str, int]
) -> None:
    built = part("median", **parameters)
    refused = refusal(built, reports=reports, trials=trials, batch=batch)
    assert bool(refused) != could_prune(built, reports, (trials - 1) // batch * batch), refused


@settings(max_examples=60)
@given(rising, st.integers(1, 4), st.integers(1, 20) | st.just("auto"), st.integers(2, 4), st.integers(0, 3))
def test_halving_is_refused_exactly_when_it_could_never_prune(
    reports: tuple[int, ...], trials: int, min_resource: Any, factor: int, rate: int
) -> None:
    built = part(
        "successive_halving",
        min_resource=min_resource,
        reduction_factor=factor,
        min_early_stopping_rate=rate,
    )
    refused = refusal(built, reports=reports, trials=trials)
    assert bool(refused) != could_prune(built, reports, trials - 1), refused


@settings(max_examples=40)
@given(rising, st.integers(1, 4), st.integers(1, 60), st.integers(2, 4))
def test_hyperband_is_refused_only_when_it_could_never_prune(
    reports: tuple[int, ...], trials: int, min_resource: int, factor: int
) -> None:
    """Which bracket a setting belongs to is a matter of the study's name: in some it can be pruned."""
    built = part("hyperband", min_resource=min_resource, reduction_factor=factor)
    possible = any(could_prune(built, reports, trials - 1, f"study-{n}") for n in range(6))
    if refusal(built, reports=reports, trials=trials):
        assert not possible
    else:
        assert possible or trials < 4


@settings(max_examples=60)
@given(st.integers(1, 9), st.sampled_from([0.005, 0.0625, 0.1, 0.125, 0.25, 0.3, 1.0]), st.integers(0, 5))
def test_wilcoxon_is_refused_exactly_when_the_seeds_are_too_few(seeds: int, p: float, startup: int) -> None:
    built = part("wilcoxon", p_threshold=p, n_startup_steps=startup)
    refused = refusal(built, seeds=seeds, trials=2)
    assert bool(refused) != could_prune(built, tuple(range(seeds)), 1), refused
    if refused:
        assert f"needs {built.needed} seeds" in refused
        assert not refusal(built, seeds=built.needed, trials=2)


@pytest.mark.parametrize("name", PRUNERS)
def test_one_objective_is_what_a_pruner_can_judge(name: str) -> None:
    assert refusal(part(name)) == ""
    assert "prunes by one objective alone; given '2 objectives'" in refusal(part(name), objectives=2)
    assert refusal(part("none"), objectives=2, reports=(), trials=1) == ""


@pytest.mark.parametrize("name", BY_STEPS)
def test_without_intermediate_values_nothing_can_be_pruned(name: str) -> None:
    said = refusal(part(name), reports=(50,))
    assert "needs intermediate values" in said
    assert "training.eval_every" in said
    assert refusal(part(name), reports=None) == ""
    assert refusal(part("wilcoxon"), reports=(50,)) == ""


@pytest.mark.parametrize("name", PRUNERS)
def test_one_batch_compares_with_nothing(name: str) -> None:
    said = refusal(part(name), trials=4, batch=4)
    assert "compares with earlier batches, of which there is none; given '4 trials, 4 at a time'" in said


def test_all_reasons_are_given_at_once() -> None:
    built = part("median", n_startup_trials=20, n_warmup_steps=46)
    assert refusal(built).splitlines() == [
        "n_startup_trials: must not be above 19, settings of earlier batches: nothing would ever be pruned; given 20; "
        "allowed: at most 19",
        "n_warmup_steps: must not be above 45, the last report but one: nothing would ever be pruned; given 46; "
        "allowed: at most 45",
    ]


def test_a_first_rung_behind_the_end_is_refused() -> None:
    said = refusal(part("successive_halving", min_resource=3, min_early_stopping_rate=2))
    assert said.startswith(
        "min_early_stopping_rate: puts the first rung at step 48, behind the last report but one"
    )
    said = refusal(part("successive_halving", min_resource=46))
    assert said.startswith("min_resource: puts the first rung at step 46")
    assert refusal(part("successive_halving", min_resource=45)) == ""


@pytest.mark.parametrize("name", ["successive_halving", "hyperband"])
def test_a_count_that_ends_every_setting_is_refused(name: str) -> None:
    given = {"min_resource": 1} if name == "successive_halving" else {"max_resource": 50}
    built = part(name, bootstrap_count=20, **given)
    assert refusal(built, trials=20).startswith(
        "bootstrap_count: ends every setting: at most 19 come before another"
    )
    assert refusal(built, trials=21) == ""


@pytest.mark.parametrize(
    ("name", "parameters", "field"),
    [
        ("successive_halving", {"bootstrap_count": 1}, "bootstrap_count"),
        ("hyperband", {"bootstrap_count": 1}, "bootstrap_count"),
        ("hyperband", {"min_resource": 9, "max_resource": 8}, "min_resource"),
    ],
)
def test_parameters_that_exclude_each_other(name: str, parameters: dict[str, int], field: str) -> None:
    with pytest.raises(Invalid) as error:
        part(name, **parameters)
    assert error.value.problems[0].path == (field,)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("percentile", {"percentile": 101}),
        ("median", {"interval_steps": 0}),
        ("median", {"percentile": 25}),
        ("successive_halving", {"reduction_factor": 1}),
        ("successive_halving", {"min_resource": "first"}),
        ("hyperband", {"max_resource": 0}),
        ("wilcoxon", {"p_threshold": 0}),
    ],
)
def test_values_that_optuna_would_not_take_are_refused(name: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        part(name, **parameters)


OPTUNA = {
    "median": optuna.pruners.MedianPruner(),
    "percentile": optuna.pruners.PercentilePruner(25.0),
    "successive_halving": optuna.pruners.SuccessiveHalvingPruner(),
    "hyperband": optuna.pruners.HyperbandPruner(),
}


@pytest.mark.parametrize("name", PRUNERS)
def test_defaults_are_those_of_optuna(name: str, recwarn: pytest.WarningsRecorder) -> None:
    with quiet():
        expected = OPTUNA.get(name) or optuna.pruners.WilcoxonPruner()
    assert vars(part(name).build(None)) == vars(expected)
    assert not recwarn.list


def test_automatic_resources_are_known_from_the_last_step() -> None:
    halving, band = part("successive_halving"), part("hyperband")
    assert [vars(halving.build(step))["_min_resource"] for step in (30, 600, 1234)] == [1, 6, 12]
    assert vars(band.build(600))["_max_resource"] == 600
    assert vars(part("hyperband", max_resource=50).build(600))["_max_resource"] == 50


@pytest.mark.parametrize("name", [*PRUNERS, "none"])
def test_a_pruner_can_be_looked_up(name: str) -> None:
    text = describe("pruner", name)
    assert text.startswith(f"pruner {name}\n")
    for field in CATALOGUE.get("pruner", name).Config.model_fields.keys() - {"name"}:  # type: ignore[attr-defined]
        assert f"  {field} " in text
