"""`ablate list`: every registered part is described by its own docstrings."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import ablate_here
from ruamel.yaml import YAML

from ablate.base.registry import CATALOGUE
from ablate.report.parts import describe
from ablate.stages import CONFIGS

PLUGIN = '''
from typing import Annotated, Any, Literal

from ablate import PartConfig, register
from ablate.base.registry import OnOff, Slot
from ablate.components.scores import Dot
from pydantic import Field


@register("score", "listed")
class Listed(Dot):
    """q ⋆ k."""

    joins_widths = False

    class Config(PartConfig):
        needed: int
        "Has to be given."
        rate: Annotated[float, Field(ge=0, lt=1)] = 0.5
        "A share."
        side: Literal["left", "right"] | None = None
        "Where."
        switch: OnOff = True
        "Whether."
        inner: Annotated[Any, Slot("norm")] = "layer"
        "A part of its own."
'''

CATALOGUE.load_builtin()


def parts() -> Iterator[tuple[str, str]]:
    for slot in CATALOGUE.slots():
        for name in CATALOGUE.names(slot):
            if CATALOGUE.get(slot, name).__module__.startswith("ablate."):
                yield slot, name


def words(text: str) -> str:
    """Without the ends of lines."""
    return " ".join(text.split())


@pytest.mark.fast_cases(18)
@pytest.mark.parametrize(("slot", "name"), list(parts()))
def test_every_part_says_what_it_is(slot, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").touch()
    (tmp_path / "SCRIPT").touch()
    part = CATALOGUE.get(slot, name)
    config = getattr(part, "Options", part.Config)  # type: ignore[attr-defined]
    text = describe(slot, name, CONFIGS)
    first = (inspect.getdoc(part) or "").partition("\n")[0]
    assert first in words(text)
    assert f"{name} {first}" in words(describe(slot, None, CONFIGS))
    unwrapped = re.sub(r"\n +", " ", describe(None, None, CONFIGS))
    assert re.search(rf"^{slot} .*\b{name}\b", unwrapped, re.MULTILINE)
    for key, field in config.model_fields.items():
        if key != "name":
            assert re.search(rf"^  {key} ", text, re.MULTILINE)
            assert field.description is not None
            assert words(field.description) in words(text)
    for paragraph in (inspect.getdoc(part) or "").split("\n\n"):
        assert words(paragraph) in words(text)
    (path, value), *_ = YAML(typ="safe", pure=True).load(section(text, "in a study")).items()
    assert path.split(".")[-1] == slot
    named = {"name": name} if "name" in config.model_fields else {}
    value = value if isinstance(value, dict) else {"name": value}
    required = {key: value[key] for key, field in config.model_fields.items() if field.is_required()}
    assert config.model_validate(value) == config.model_validate(named | required)
    file, line = text.splitlines()[-1].removeprefix("defined in ").split(":")
    source = Path(file).read_text().splitlines()[int(line) - 1 :]
    assert f'@register("{slot}", "{name}")' in source[0]


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_it_fits_the_terminal_and_splits_no_name(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    whole = {
        text: words(describe(*text, CONFIGS))
        for text in [(None, None), ("mixer", None), ("mixer", "attention")]
    }
    monkeypatch.setenv("COLUMNS", str(columns))
    for call, text in whole.items():
        lines = describe(*call, CONFIGS).splitlines()
        assert max(map(len, lines[:-1])) <= columns
        assert words("\n".join(lines)) == text


def test_slots_and_formulas_are_said():
    text = words(describe("mixer", "attention", CONFIGS))
    assert "value value: full, low_rank(rank), shared_kv; default full The vector" in text
    assert "gaussian(sigma, learned), scaled_dot; default scaled_dot How well" in text
    text = describe("score", "additive", CONFIGS)
    assert "w_vᵀ tanh(W_q q + W_k k)" in text
    assert "  hidden  whole number above 0, or none; default none\n" in text
    assert "  logits  Returns the score of every query with every key, (B, H, T_q, T_k).\n" in text


def test_classes_of_optuna_are_listed_and_described_by_their_signatures(tmp_path):
    assert "random, tpe, or a class of optuna.samplers" in words(describe(None, None, CONFIGS))
    assert "by its own name: BruteForceSampler, CmaEsSampler, GPSampler" in words(
        describe("sampler", None, CONFIGS)
    )
    for refused in ("GridSampler", "HyperbandPruner"):
        assert refused not in describe("sampler", None, CONFIGS) + describe("pruner", None, CONFIGS)
    text = describe("pruner", "PercentilePruner", CONFIGS)
    assert "Pruner to keep the specified percentile of the trials." in text
    assert "  percentile        number; required\n  n_startup_trials  whole number; default 5\n" in text
    assert "seed" not in describe("sampler", "GPSampler", CONFIGS)
    done = ablate_here("list", "sampler", "cmaes", cwd=tmp_path)
    assert done.returncode == 2
    assert "Did you mean `ablate list sampler CmaEsSampler`?" in done.stderr


def section(text: str, heading: str) -> str:
    """The lines under a heading, those of one row on one line."""
    lines = text.partition(f"\n{heading}\n")[2].partition("\n\n")[0]
    return re.sub(r"\n {3,}", " ", lines)


def test_a_part_of_a_plugin_is_described(tmp_path):
    (tmp_path / "own.py").write_text(PLUGIN)
    done = ablate_here("list", "score", "listed", "--plugin", "own.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for line in (
        "q ⋆ k.",
        "needed  whole number; required",
        "rate    number at least 0 and below 1; default 0.5",
        "side    left or right, or none; default none",
        "switch  on or off; default on",
        "inner   norm: batch(eps, momentum), layer(eps), none, rms(eps); default layer",
        "Has to be given.",
        "defined in own.py:10",
    ):
        assert line in done.stdout


def test_of_a_task_chance_ceiling_slices_and_constants_are_told(tmp_path):
    done = ablate_here("list", "task", "recall", cwd=tmp_path)
    told = re.sub(r"\s+", " ", done.stdout)
    assert "all or nothing" in told
    assert "accuracy chance 0.125, solved 0.95, best 1" in told
    assert "without_matching_the_key {accuracy: 0.5625}" in told
