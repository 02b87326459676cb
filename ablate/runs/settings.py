"""Settings: columns in which rows of one variant differ, and which are not measurements.

Replicates differ in the seed, and in no setting that a file shows. Words that several rows share are settings. Numbers
are settings where they have the name of one, where two variants have them in the same balanced way, or where they have
few values. Identifiers, dates and measured numbers are not settings.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from ablate.base.errors import Invalid, listed
from ablate.base.numerals import in_one_form, whole_in
from ablate.core.data_parts import RANKS

FOLDERS = "folders"
"""The column with what the names of folders and files tell of a run beside its variant and seed."""
NUMBER_AT_END = "[_-]([0-9]+)$"
NUMBERED_NAME = re.compile(f".+{NUMBER_AT_END}")


def words_of(text: str) -> frozenset[str]:
    """Returns the words of a text."""
    return frozenset(text.split())


_HYPERPARAMETERS = words_of(
    """
    lr learning batch bs decay wd momentum beta beta1 beta2 dropout hidden dim width depth layers layer heads kernel
    warmup temperature alpha gamma lambda epsilon eps rho tau clip smoothing vocab patience
    """
)
"""Words in the names of numbers that are set."""
_OUTCOMES = words_of(
    """
    loss acc accuracy f1 auc auroc precision recall score error err ppl perplexity bleu rouge chrf mse rmse mae bpb bpc
    nll iou map reward return top1 top5 val valid validation test dev eval mean std quality
    """
)
"""Words in the names of numbers that say how a run came out."""
_PROGRESS = words_of(
    """
    epoch epochs step steps timestep timesteps iteration iterations iter iters updates tokens samples examples
    best time runtime seconds sec secs mins minutes hours duration elapsed wall memory mem gb mb peak throughput
    speed latency fps flops start end started ended created updated stopped date timestamp heartbeat ratio gap
    """
)
"""Words in the names of numbers that say how long a run took: settings only where variants share them."""
_SO_FAR = words_of("seen consumed processed done relative global")
_TOTALS = words_of("epochs steps iterations iters updates")
"""Words in the names of lengths that may be set, and not yet reached."""
_OF_STEPS = words_of(
    "note notes comment comments remark remarks date time created updated started ended timestamp checkpoint ckpt"
)
"""Words in the names of texts that may be others in each step of a run."""
_INDEX = words_of(
    """
    run runs rep reps repeat repetition replicate replica trial fold split index idx no number id attempt try
    """
)
"""Names of columns that number the rows of a variant."""
_REMARKS = words_of(
    """
    note notes comment comments description desc remark remarks host hostname node user author path dir directory folder
    url uri link file filename log id uuid date time created updated started ended timestamp typ reason
    """
)
"""Words in the names of texts that say nothing about what was trained."""
_CODE = words_of(
    """
    commit sha revision git
    """
)
"""Words in the names of versions of code."""
_BOOKKEEPING = ("tags.mlflow.", "metrics.")
_SET = ("params.", "config.", "config/")
PREFIXES = (*_SET, "tags.")
"""What trackers and readers write before the name of a setting."""
_RANKS_OF_METRICS = {RANKS["test"]: 0, RANKS["validation"]: 1, RANKS["training"]: 3}
"""How much the results on a part of the data count → how soon a metric on it is taken for the judged one."""
_RANK_OF_OTHERS = 2
"""How soon a metric that names no part of the data is taken for the judged one."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?|(\d+ days?,? )?\d+:\d\d(:\d\d)?(\.\d+)?")
"""A date, or how long something took: `0 days 01:00:00.4`, `1:02:03`."""


def refuse_settings(
    table: pd.DataFrame, columns: Mapping[str, Sequence[str]], settings: Sequence[str], *, has_steps: bool
) -> None:
    """Raises `Invalid` for rows of one variant that differ in settings.

    columns: role → its columns; has_steps: whether rows may be steps of runs, if the call says so.
    """
    first = settings[0]
    differing = {name: table[name].drop_duplicates().tolist()[:4] for name in settings[:8]}
    variant = ",".join([*columns["variant"], *settings[:4]])
    value = in_one_form_each(table[first]).iloc[0]
    ways = [
        f"--column variant {shlex.quote(variant)} makes each combination a variant",
        f"--where {shlex.quote(f'{first}={value}')} keeps the rows of one",
    ]
    if "seed" not in columns and all(whole_in(text) is not None for text in table[first]):
        ways.append(f"--seed {shlex.quote(first)} takes its numbers for seeds")
    if "seed" not in columns and first == FOLDERS and table[first].str.fullmatch(NUMBERED_NAME).all():
        ways.append(f"--seed {shlex.quote(NUMBER_AT_END)} takes the numbers at the ends of names for seeds")
    if "task" not in columns:
        ways.append(f"--column condition {shlex.quote(first)} makes each a condition")
    if has_steps:
        ways.append("--at last takes rows of one run for its steps, of which the last counts")
    ways.append("--replicates states that such rows are replicates all the same, and the report says so")
    raise Invalid(
        "RUNS",
        f"rows of one variant differ in {listed(settings, 8)}: runs with different settings are not replicates",
        differing,
        hint=f"Say what they are: {'; '.join(ways)}",
    )


def settings_of(
    runs: pd.DataFrame, group: Sequence[str], seed: str | None, others: Collection[str]
) -> list[str]:
    """Returns the columns among `others` in which rows of one group differ, and that are settings."""
    groups = runs.groupby(list(group), sort=False).ngroup()
    is_repeated = groups.map(groups.value_counts()) > 1
    groups = groups[is_repeated]
    settings = []
    for name in others:
        values = in_one_form_each(runs[name])[is_repeated]
        if not (values.groupby(groups).nunique() > 1).any():
            continue
        seeds = None if seed is None else in_one_form_each(runs[seed])[is_repeated]
        if _is_setting(name, values, groups, seeds):
            settings.append(name)
    return settings


def settings_within(table: pd.DataFrame, run: Sequence[str], others: Collection[str]) -> list[str]:
    """Returns the columns among `others` in which rows of what may be one run differ, and which its steps would not.

    These are settings and texts, but for dates, remarks, and numbers of how far the run has come.
    """
    settings = settings_of(table, run, None, [name for name in others if not _is_progress(str(name))])
    groups = table.groupby([*run], sort=False).ngroup()
    differing = []
    for name in others:
        values = table[name].astype(str).str.strip()
        is_told = name in settings or tells_rows_apart(str(name), values)
        if is_told and (values.groupby(groups).nunique() > 1).any():
            differing.append(str(name))
    return differing


def is_progress(name: str) -> bool:
    """Returns whether the name of a column says how long a run took, or for how long it was to train."""
    words = _words_in(name)
    return bool(words) and words <= _PROGRESS | _SO_FAR | _TOTALS


def _is_progress(name: str) -> bool:
    """Returns whether the name of a column says how far a run has come, as `tokens` does and `epochs` may not."""
    words = _words_in(name)
    return bool(words) and words <= (_PROGRESS | _SO_FAR) - _TOTALS


def tells_rows_apart(name: str, values: pd.Series) -> bool:
    """Returns whether a column has text that is neither a date nor a remark of its step."""
    present = values[values != ""]
    if present.empty or _words_in(name) & _OF_STEPS or present.str.fullmatch(_TIME).all():
        return False
    return bool(pd.to_numeric(present, errors="coerce").isna().any())


def is_seed(name: str) -> bool:
    """Returns whether the name of a column says that it holds seeds."""
    return any("seed" in word for word in _words_in(name))


def is_outcome(name: str) -> bool:
    """Returns whether the name of a column says that it holds how runs came out."""
    return bool(_words_in(name) & _OUTCOMES)


def data_rank(name: str) -> int:
    """Returns how soon a metric is taken for the judged one: of test data, validation data, others, training."""
    ranks = [RANKS[word] for word in _words_in(name) if word in RANKS]
    if not ranks:
        return _RANK_OF_OTHERS
    return _RANKS_OF_METRICS[max(ranks)]


def has_id(name: str) -> bool:
    """Returns whether the name of a column says that it holds ids, of whatever: `instance_id`, `promptId`."""
    return "id" in _words_in(name)


def is_remark(name: str) -> bool:
    """Returns whether the name of a column says that its text names a run or its place, and no setting."""
    return bool(_words_in(name) & _REMARKS)


def is_fold(name: str) -> bool:
    """Returns whether the name of a column, or a pattern, says that it tells of folds of one set of data."""
    return bool(_words_in(name) & {"fold", "folds", "cv", "kfold"}) and not is_seed(name)


def is_index(name: str) -> bool:
    """Returns whether the name of a column says that it numbers the rows of a variant."""
    words = _words_in(name)
    return len(words) > 0 and words <= _INDEX


def differing_between(others: pd.DataFrame, variants: pd.Series) -> dict[str, dict[str, str]]:
    """Returns column → variant → its value, of columns that are one value in each variant, and not in all.

    Those that say how a run came out, or where it lies, are left out, as is a value that is the variant's name.
    """
    differing: dict[str, dict[str, str]] = {}
    for name in others:
        words = _words_in(str(name))
        if (
            words & (_OUTCOMES | _REMARKS | _INDEX)
            or is_seed(str(name))
            or str(name).startswith(_BOOKKEEPING)
        ):
            continue
        values = in_one_form_each(others[name])
        counts = values.groupby(variants).nunique()
        if counts.max() > 1 or values.nunique() < 2 or (values == "").any():
            continue
        of_variant = {str(key): str(value) for key, value in values.groupby(variants).first().items()}
        written = others[name].astype(str).str.strip().groupby(variants).first().items()
        if not all(value.lower() in str(key).lower() for key, value in written):
            differing[str(name)] = of_variant
    return differing


def _is_setting(name: str, values: pd.Series, groups: pd.Series, seeds: pd.Series | None) -> bool:
    """Returns whether a column that differs within a group is a setting, by its name and values."""
    words = _words_in(name)
    if name.startswith(_BOOKKEEPING) or is_seed(name):
        return False
    present = values[values != ""]
    if present.str.fullmatch(_TIME).all():
        return False
    if words & _CODE:
        return True
    numbers = pd.to_numeric(present, errors="coerce")
    is_text = bool(numbers.isna().any())
    if is_text:
        if words & _REMARKS or present.is_unique or present.map(_is_history).all():
            return False
        return not _numbers_seeds(values, seeds)

    if name.startswith(_SET):
        return True
    if words & _OUTCOMES:
        return False
    if words <= _INDEX and _is_unique_within(values, groups):
        return False
    if words & _HYPERPARAMETERS:
        return True
    if _numbers_seeds(values, seeds):
        return False
    if _is_balanced(numbers, groups[present.index]):
        return True
    return not words & _PROGRESS and numbers.nunique() <= len(numbers) ** 0.5


def _is_history(text: str) -> bool:
    """Returns whether a text is a list of objects, each with a step, as JSON has the history of a run."""
    if not text.startswith("[{"):
        return False
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return all(isinstance(row, dict) and any(is_progress(name) for name in row) for row in rows)


def in_one_form_each(values: pd.Series) -> pd.Series:
    """Returns values as text, numbers in one form: 0.10 is 0.1; blank where there is none."""
    texts = values.astype(str).where(values.notna(), "").str.strip()
    forms = {text: in_one_form(text) for text in texts.unique()}
    return texts.map(forms)


def underscored(name: str) -> str:
    """Returns a name in small letters with underscores: `EndTime` and `End time` are `end_time`."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s_-]+", "_", parted.lower())


def _words_in(name: str) -> set[str]:
    """Returns the words of a name in small letters: `valLoss`, `val_loss` and `val/loss` have two."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return {word for word in re.split(r"[^a-z0-9]+", parted.lower()) if word}


def _is_unique_within(values: pd.Series, groups: pd.Series) -> bool:
    """Returns whether no value occurs twice in one group."""
    return not pd.DataFrame({"group": groups, "value": values}).duplicated().any()


def are_one_to_one(names: pd.Series, values: pd.Series) -> bool:
    """Returns whether each name has one value, which no other name has."""
    pairs = pd.DataFrame({"name": names, "value": values}).drop_duplicates()
    return bool(pairs["name"].is_unique and pairs["value"].is_unique)


def _numbers_seeds(values: pd.Series, seeds: pd.Series | None) -> bool:
    """Returns whether a column is another name of the seed: each has one value of the other."""
    return seeds is not None and are_one_to_one(seeds, values)


def _is_balanced(numbers: pd.Series, groups: pd.Series) -> bool:
    """Returns whether two groups have the same several values, each equally often: nobody measures that."""
    seen = set()
    for _, of_group in numbers.groupby(groups):
        counts = of_group.value_counts()
        if len(counts) < 2 or counts.nunique() > 1:
            continue
        design = tuple(sorted(counts.items()))
        if design in seen:
            return True
        seen.add(design)
    return False
