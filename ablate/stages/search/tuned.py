"""A variant at the settings that tuning chose for it, and at their runner-ups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ablate.analysis.search_table import SearchTable
from ablate.base.errors import AblateError, Invalid
from ablate.base.locks import Say
from ablate.core.facts import BASELINE
from ablate.core.trial import RUNNER_UP, Cell
from ablate.stages.search.spec import SearchSpec
from ablate.study.designs import Config, Variant
from ablate.study.study import Study


@dataclass(frozen=True)
class _Setting:
    """A setting that was tried: path → label, and the config of the variant with it."""

    labels: Mapping[str, str]
    config: Config


def tuned_variant(
    study: Study,
    spec: SearchSpec,
    table: SearchTable,
    variant: Variant,
    *,
    searched_at: Mapping[str, str],
    runner_up_places: Mapping[str, Mapping[str, Sequence[int]]],
    warn: Say,
) -> Variant:
    """Returns a variant with its best settings, a placebo with the baseline's.

    It stays as it was given on a task where no setting has a value, of which it warns, and on tasks that are not
    searched. searched_at: task → the one in which its settings were searched. runner_up_places: task that was searched
    → variant → the places of its runner-ups in the table. What is chosen is marked in the table. Raises `AblateError`
    for a setting that was chosen on another task, and cannot be built.
    """
    from ablate.report.words import message

    owner = BASELINE if variant.placebo else variant.name
    configs = dict(variant.configs)
    tuned: dict[str, Mapping[str, str]] = {}
    runner_ups: dict[str, Mapping[str, Config]] = {}
    by_seed: dict[str, Sequence[Config]] = {}
    for task in study.tasks:
        if task not in searched_at:
            continue
        searched_task = searched_at[task]
        places = best_places(spec, table, owner, searched_task)
        if not places:
            warn(message("search.no_setting", f"{variant.name}{study.on(task)}"))
            continue
        table.trials.loc[places, "chosen"] = owner
        others = runner_up_places[searched_task].get(owner, ())
        try:
            settings = _settings_at(study, spec, table, variant, task, [*places, *others])
        except Invalid as error:
            where = f"{variant.name}{study.on(task)}"
            raise AblateError(message("search.not_buildable", where, searched_task, str(error))) from None
        # With a setting for each seed, the one that most of them chose.
        configs[task] = settings[max(places, key=places.count)].config
        by_seed[task] = [settings[place].config for place in places] if spec.section.each_seed else []
        tuned[task] = _joined_labels([settings[place].labels for place in places])
        runner_ups[task] = _named(variant, [settings[place] for place in others])
    return replace(variant, configs=configs, tuned=tuned, runner_ups=runner_ups, by_seed=by_seed)


def best_places(spec: SearchSpec, table: SearchTable, owner: str, task: str) -> list[int]:
    """Returns the place of the best setting, or of the best on each seed; none where no setting has a value."""
    places = table.best(owner, task)
    if places and spec.section.each_seed:
        return [table.best(owner, task, 1, seed)[0] for seed in range(len(spec.facts.seeds))]
    return places


def _settings_at(
    study: Study, spec: SearchSpec, table: SearchTable, variant: Variant, task: str, places: Sequence[int]
) -> dict[int, _Setting]:
    """Returns place in the table → the setting that was tried there, built on a task; raises `Invalid`."""
    settings: dict[int, _Setting] = {}
    for place in places:
        point = table.point(place)
        config = study.patched(variant.configs[task], spec.space.patches(point), task)
        settings[place] = _Setting(spec.space.labels(point), config)
    return settings


def _named(variant: Variant, settings: Sequence[_Setting]) -> dict[str, Config]:
    """Returns the name of a variant at each setting → its config there."""
    named: dict[str, Config] = {}
    for setting in settings:
        levels = ", ".join(f"{path}={label}" for path, label in setting.labels.items())
        named[f"{variant.name} at {levels}"] = setting.config
    return named


def _joined_labels(chosen: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Returns path → its label in the chosen settings.

    Labels of several seeds are joined by `or`.
    """
    joined: dict[str, str] = {}
    for path in chosen[0]:
        labels = dict.fromkeys(setting[path] for setting in chosen if path in setting)
        joined[path] = " or ".join(labels)
    return joined


def at_setting(study: Study, cell: Cell, name: str, config: Config) -> Cell:
    """Returns a judged cell at another setting of its variant; `name`: the variant's there."""
    # Only the trials of the comparison are evaluated.
    trial = replace(study.trial(config, cell.seed, cell.trial.stream), checkpoint="none")
    variant = Variant(f"{name}{study.on(cell.task)}", {cell.task: config})
    return replace(
        cell,
        trial=trial,
        name=f"{name}{cell.name.removeprefix(cell.variant)}",
        role=RUNNER_UP,
        size=partial(study.size, variant, cell.task),
        setting=name,
    )
