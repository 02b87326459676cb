"""The results of lm-eval, old and new: a row a model and task, with standard errors over the documents.

One evaluation of each model is not judged: its standard error is that over documents, which only samples pair, and it
says nothing about other seeds. Several models of one variant, as of several seeds, are judged like any runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ablate.base.errors import AblateError, Invalid, listed, nearest
from ablate.base.files import NotReadableError, read_plain
from ablate.base.once import loads, put_once
from ablate.base.text import first_line, typed
from ablate.base.wording import significant
from ablate.report.words import message
from ablate.runs.content import digest_of_files
from ablate.runs.formats.flat_objects import flat_table
from ablate.runs.formats.run_names import names_by_folder
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound
from ablate.runs.seeds_in_names import ends_with_seeds

_MAX_BYTES = 2**26
_MAX_TASKS = 8
"""The most tasks whose values are told."""
_ERROR = "_stderr"
_KEYS = (b'"results"', b'"versions"')
"""What each file of results has."""


@dataclass(frozen=True)
class _Score:
    """The value of a metric of a model on a task, with its standard error over the documents."""

    model: str
    task: str
    metric: str
    value: float
    error: float
    """NaN where lm-eval has none."""
    place: Path


class LmEvalResultReader(Reader):
    """Reads a file of results of lm-eval, or a folder of such files."""

    looks_for = "results of lm-eval (results_TIME.json, or JSON with `results` and `versions`)"

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether a file has results of lm-eval, or a folder such a file."""
        for file in _files(path):
            with suppress(AblateError):
                if _results_of(file) is not None:
                    return True
        return False

    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns a row a model and task. Raises `Invalid` where each model was evaluated once."""
        scores, again = _last_scores(path)
        metrics = [*dict.fromkeys(score.metric for score in scores)]
        if not scores:
            raise Invalid("RUNS", "are results of lm-eval without a number", str(path))
        rows: dict[tuple[str, str], dict[str, object]] = {}
        places: dict[tuple[str, str], str] = {}
        for score in scores:
            row = rows.setdefault((score.model, score.task), {"variant": score.model, "task": score.task})
            put_once(row, score.metric, score.value)
            put_once(row, f"{score.metric}{_ERROR}", score.error)
            places[score.model, score.task] = f"{score.place}, {score.task}"
        kept = {key: row for key, row in rows.items() if not options.metric or options.metric in row}
        if not kept:
            raise Invalid(
                "--metric",
                "is not in the results",
                options.metric,
                listed(metrics),
                nearest(options.metric, metrics),
            )
        table = flat_table([*kept.values()], [places[key] for key in kept])
        says_seeds = bool(options.seed) or not {"seed", "variant"}.isdisjoint(options.named_roles)
        if not says_seeds and not ends_with_seeds(table.drop_duplicates("variant"), ["variant"]):
            raise _refusal(path, scores, options)
        notes = [message("analyse.document_errors")]
        if again:
            notes.append(message("analyse.evaluated_again", again))
        roles = {role: [role] for role in ("variant", "task") if role not in options.named_roles}
        measured = [*metrics, *(f"{metric}{_ERROR}" for metric in metrics)]
        content = [digest_of_files([file]) for file in _files(path)]
        return RunsFound(table, "results of lm-eval", roles, measured, notes, content=content)


def _files(path: Path) -> list[Path]:
    """Returns the files at a path that may be results: those of this name, else any JSON in the folder itself."""
    if not path.is_dir():
        return [path]
    return sorted(path.rglob("results*.json")) or sorted(path.glob("*.json"))


def _results_of(file: Path) -> Mapping[str, object] | None:
    """Returns what a file of results holds; None for another file. Raises `AblateError` for one that is broken."""
    try:
        content = read_plain(file, _MAX_BYTES)
        if not content.lstrip().startswith(b"{") or not all(key in content for key in _KEYS):
            return None
        document = loads(content)
    except (NotReadableError, ValueError, RecursionError) as error:
        raise AblateError(
            f"{file}: cannot be read ({first_line(error)}); let lm-eval write it again, or remove it"
        ) from None
    assert isinstance(document, dict)  # It begins with a brace.
    results = document.get("results")
    if not isinstance(results, dict) or not isinstance(document.get("versions"), dict):
        return None
    return document if all(isinstance(task, dict) for task in results.values()) else None


def _last_scores(path: Path) -> tuple[list[_Score], list[str]]:
    """Returns the numbers of all files at a path, and what was evaluated again, of which the later ones count."""
    documents: dict[Path, Mapping[str, object]] = {}
    for file in _files(path):  # The name of a file ends with its time.
        results = _results_of(file)
        if results is not None:
            documents[file] = results
    names = names_by_folder(documents, path)
    scores: dict[tuple[str, str, str], _Score] = {}
    again: dict[str, None] = {}
    for file, results in documents.items():
        of_file: dict[tuple[str, str, str], _Score] = {}
        model = _model_of(file, results, path, names)
        for score in _scores(file, results, model):
            key = (score.model, score.task, score.metric)
            put_once(of_file, key, score, said=f"{score.task}.{score.metric}")
            if key in scores:
                again[f"{score.model} on {score.task}"] = None
        scores |= of_file
    return [*scores.values()], [*again]


def _scores(file: Path, document: Mapping[str, object], model: str) -> Iterator[_Score]:
    """Yields the numbers in a file of results; of answers that were filtered in several ways, each is a task."""
    results = document["results"]
    assert isinstance(results, dict)
    for task, values in results.items():
        for key, value in values.items():
            metric, _, way = str(key).partition(",")
            if metric.endswith(_ERROR) or not _is_number(value):
                continue
            error = values.get(f"{metric}{_ERROR},{way}" if way else f"{metric}{_ERROR}")
            yield _Score(
                model=model,
                task=str(task) if way in ("", "none") else f"{task},{way}",
                metric=metric,
                value=float(value),
                error=float(error) if _is_number(error) else math.nan,
                place=file,
            )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _model_of(file: Path, document: Mapping[str, object], root: Path, names: Mapping[Path, str]) -> str:
    """Returns the name of a model: that of its folder, as for samples; where several lie together, its own."""
    if not file.stem.startswith("results"):
        return file.stem
    own = document.get("model_name_sanitized")
    if file.parent == root and isinstance(own, str) and own:
        return own
    return names[file]


def _refusal(path: Path, scores: list[_Score], options: AnalysisOptions) -> AblateError:
    """Returns the error that says what is known of models that were evaluated once, and how documents pair."""
    models = [*dict.fromkeys(score.model for score in scores)]
    if options.baseline and options.baseline not in models:
        hint = nearest(options.baseline, models)
        return Invalid("--baseline", "is not a model of the results", options.baseline, listed(models), hint)
    metric = options.metric or scores[0].metric
    by_task: dict[str, list[_Score]] = {}
    for score in scores:
        if score.metric == metric:
            by_task.setdefault(score.task, []).append(score)
    lines = [message("analyse.results_alone", str(path))]
    for task, of_task in [*by_task.items()][:_MAX_TASKS]:
        told = ", ".join(f"{score.model} {_with_error(score.value, score.error)}" for score in of_task)
        lines.append(f"  {metric} on {task}: {told}{_difference(of_task, options.baseline)}")
    if len(by_task) > _MAX_TASKS:
        lines.append(f"  and {len(by_task) - _MAX_TASKS} more tasks")
    lines.append(message("analyse.document_errors") + ".")
    code, folder = "analyse.log_samples", "out"
    if path.is_file() and next(path.parent.glob("samples_*.jsonl"), None) is not None:
        code, folder = "analyse.samples_beside", str(path.resolve().parents[1])
    call = typed("analyse", folder, "--baseline", options.baseline or models[0], "--metric", metric)
    lines.append(message(code, call))
    return AblateError("\n".join(lines))


def _difference(scores: list[_Score], baseline: str) -> str:
    """Returns the difference of two models as it is known without pairs: `; difference +0.0262 ± 0.0144`."""
    if len(scores) != 2:
        return ""
    (one, other) = sorted(scores, key=lambda score: score.model != baseline) if baseline else scores
    difference = _with_error(other.value - one.value, math.hypot(one.error, other.error))
    return f"; {other.model} − {one.model}: {difference}, unpaired"


def _with_error(value: float, error: float) -> str:
    """Returns a value with its standard error, to the error's second digit."""
    if math.isnan(error) or error <= 0:
        return significant(value)
    places = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{places}f} ± {error:.{places}f}".replace("-", "−")
