"""Completion of what commands take, in bash, zsh and fish: fast, and silent where something is wrong.

Switched on by click, with one line in the shell's own start-up file:

    eval "$(_ABLATE_COMPLETE=bash_source ablate)"         ~/.bashrc
    eval "$(_ABLATE_COMPLETE=zsh_source ablate)"          ~/.zshrc
    _ABLATE_COMPLETE=fish_source ablate | source          ~/.config/fish/config.fish
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

from ablate.base.typed import DEFAULT_RESULTS

MOST = 200
"""Candidates that are offered at once."""
FOLDERS = ("", "studies/")
"""Where study files are looked for while no folder is named."""

Candidates = Callable[[click.Context, str], Iterable[str]]
"""What may follow, from the context and what is given of the word."""
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completer(candidates: Candidates) -> Completer:
    """A function for click, which offers those that begin with what is given; none where an error is raised."""

    @functools.wraps(candidates)
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = [text for text in candidates(context, incomplete) if text.startswith(incomplete)]
        except Exception:
            return []
        return [CompletionItem(text) for text in found[:MOST]]

    return complete


@completer
def study_files(context: click.Context, incomplete: str) -> Iterable[str]:
    """Study files in the folder that is named, or here and in `studies/`."""
    folder, slash, _ = incomplete.rpartition("/")
    for place in (folder + slash,) if slash else FOLDERS:
        here = Path(place or ".")
        inside = sorted(here.iterdir()) if here.is_dir() else []
        yield from (f"{place}{path.name}" for path in inside if path.suffix in (".yaml", ".yml"))
        yield from (f"{place}{path.name}/" for path in inside if slash and path.is_dir())


@completer
def studies(context: click.Context, incomplete: str) -> Iterable[str]:
    """Names of reports, and study files."""
    results = _results()
    yield from sorted(path.parent.name for path in results.glob("*/study.yaml"))
    yield from (item.value for item in study_files(context, None, incomplete))  # type: ignore[arg-type]


@completer
def trials(context: click.Context, incomplete: str) -> Iterable[str]:
    """Ids of the trials in the store, the latest first."""
    found = (_results() / "store" / "trials").glob(f"{incomplete}*.json")
    latest = sorted(found, key=lambda path: -path.stat().st_mtime)
    return [path.stem for path in latest]


@completer
def slots(context: click.Context, incomplete: str) -> Iterable[str]:
    """Slots, and `results`."""
    return [*sorted(_outline().parts), "results"]


@completer
def parts(context: click.Context, incomplete: str) -> Iterable[str]:
    """Parts of the slot on the line."""
    return sorted(_outline().parts.get(str(context.params.get("slot")), {}))


@completer
def tasks(context: click.Context, incomplete: str) -> Iterable[str]:
    """Registered tasks."""
    return sorted(_outline().parts["task"])


@completer
def slots_to_write(context: click.Context, incomplete: str) -> Iterable[str]:
    """Slots that `ablate new --part` has a template for."""
    from ablate.commands.own import PARTS

    return PARTS


@completer
def settings(context: click.Context, incomplete: str) -> Iterable[str]:
    """`PATH=` of the schema and of the study on the line, and the words that are known to be allowed there."""
    path, equals, _ = incomplete.partition("=")
    known = _outline().paths
    if equals:
        return [f"{path}={word}" for word in known.get(path, ())]
    own = _paths(_document())
    return [f"{found}=" for found in dict.fromkeys([*known, *own])]


@completer
def variants(context: click.Context, incomplete: str) -> Iterable[str]:
    """Variants of the study on the line."""
    from ablate.study.labels import short_label

    study = _document()
    factors: dict[str, Sequence[Any]] = study.get("factors", {})
    levels = [
        [f"{path}={short_label(level)}" for level in given if level != _reached(study, path)]
        for path, given in factors.items()
    ]
    several = _combinations(study["design"], levels) if "design" in study else ()
    yield from itertools.islice((",".join(filter(None, chosen)) for chosen in several), MOST)
    if "design" not in study:
        yield from itertools.chain.from_iterable(levels)
    yield from study.get("variants", {})
    yield from ["placebo"] if study.get("placebo") in (True, "on") else []


def _combinations(design: Any, levels: Sequence[Sequence[str]]) -> Iterable[tuple[str | None, ...]]:
    from ablate.base.registry import CATALOGUE, Slot

    CATALOGUE.load_package("study.designs")
    config, parameters = Slot("design").config(design)
    return config(**parameters).build().combinations(levels)


@functools.cache
def _outline() -> Any:
    from ablate.study.outline import Outline

    return Outline()


def _words() -> list[str]:
    """The line; click knows no parameter of one that ends in an option without its value."""
    return split_arg_string(os.environ.get("COMP_WORDS", ""))


def _results() -> Path:
    words = _words()
    return Path(words[words.index("--results") + 1]) if "--results" in words[:-1] else DEFAULT_RESULTS


def _document() -> dict[str, Any]:
    """The study on the line as data; empty where there is none that can be read."""
    from ablate.base.errors import AblateError
    from ablate.study.document import read_document

    files = (Path(word) for word in _words() if word.endswith((".yaml", ".yml")))
    try:
        return read_document(next(file for file in files if file.is_file())).data
    except (AblateError, StopIteration):
        return {}


def _reached(data: Any, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    for key in path.split("."):
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _paths(data: Any, prefix: str = "") -> Iterable[str]:
    for key, value in data.items() if isinstance(data, dict) else ():
        yield f"{prefix}{key}"
        yield from _paths(value, f"{prefix}{key}.")


class _Bash(BashComplete):
    """Bash splits words at `=`; here `model.norm=batch` is one, of which it wants the end."""

    source_template = BashComplete.source_template.replace(
        "COMPREPLY+=($value)", "COMPREPLY+=($value)\n            [[ $value == *[=/] ]] && compopt -o nospace"
    )
    before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        words = [*args, incomplete]
        joined: list[str] = []
        for index, word in enumerate(words):
            if joined and (word == "=" or words[index - 1] == "=") and not joined[-1].startswith("-"):
                joined[-1] += word
            else:
                joined.append(word)
        self.before = joined[-1].removesuffix("" if incomplete == "=" else incomplete)
        return joined[:-1], joined[-1]

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.type},{item.value.removeprefix(self.before)}"


add_completion_class(_Bash)
