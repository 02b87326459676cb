"""`ablate.run` and `ablate.load`: a study as a dict, options by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import TOY, TOY_STUDY, prepare, with_database
from ruamel.yaml import YAML

import ablate
from ablate.base.errors import AblateError, StudyError

TOY_DICT: dict[str, Any] = YAML(typ="safe").load(TOY_STUDY)
TOY_DICT |= {"question": "Does the effect <matter>?", "plugins": [TOY.name]}
TOY_DICT["factors"] = {"model.effect": np.array([0.2]), "model.noise": (0.1, 0.3)}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the plugin of the toy in it."""
    with_database(tmp_path / "results/store")
    (tmp_path / TOY.name).write_bytes(TOY.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_study_may_be_a_dict(here, capfd):
    results = ablate.run(TOY_DICT, jobs=0)
    assert results.folder == Path("results/toy")
    assert repr(results).startswith("Results of results/toy\n")
    assert len(repr(results)) < 1000
    (here / "toy.yaml").write_text(TOY_STUDY.replace(str(TOY), TOY.name))
    assert [c.id for c in prepare(here / "toy.yaml").cells()] == [
        c.id for c in prepare(here / "results/toy/study.yaml").cells()
    ]
    assert YAML(typ="safe").load(here / "results/toy/study.yaml")["folder"] == "../.."
    assert not [path for path in here.rglob("*") if "given" in path.name]
    # Nothing is trained twice, neither by the dict nor by its resolved study; an edit reports in its place.
    for study, told in (
        (TOY_DICT, "Nothing to train"),
        ("results/toy/study.yaml", "all 9 trials are in the store"),
    ):
        ablate.run(study, jobs=0)
        assert told in capfd.readouterr().err
    edited = ablate.run(TOY_DICT | {"seeds": 4}, jobs=0)
    assert edited.folder == results.folder
    assert set(edited.comparisons.n) == {4}


def test_the_mistakes_of_a_dict_name_their_place_in_it(here):
    with pytest.raises(StudyError) as caught:
        ablate.run(TOY_DICT | {"model": {"nois": 1}, "seeds": {"count": 0}}, jobs=0)
    assert str(caught.value).splitlines()[1:] == [
        "  seeds.count: must be greater than or equal to 1; given 0",
        "  model.nois: unknown key; allowed: effect, noise, width, inert. Did you mean 'noise'?",
    ]
    with pytest.raises(StudyError, match=r"cannot be written in a study: \{1, 2\} of type set"):
        ablate.run(TOY_DICT | {"claims": [{1, 2}]}, jobs=0)
    assert [path.name for path in (here / "results").iterdir()] == ["store"]


def test_options_have_names(here):
    with pytest.raises(TypeError, match="workers"):
        ablate.run(TOY_DICT, workers=1)
    with pytest.raises(TypeError, match=r"seeed.*'seed'"):
        ablate.run(TOY_DICT, seeed=3)
    with pytest.raises(AblateError, match="jobs: must be a whole number; given -1; allowed: at least 0"):
        ablate.run(TOY_DICT, jobs=-1)
    numbers = [("jobs", value) for value in (1.5, "2", True, float("nan"), 10**30)]
    numbers += [("seed", value) for value in (-1, 1.5, True)]
    numbers += [("seeds", value) for value in (-1, 1.5, "3", True, [1.5], float("nan"), 10**30)]
    for name, value in numbers:
        with pytest.raises(AblateError, match=f"^{name}: must be"):
            ablate.run(TOY_DICT, **{name: value})


@pytest.mark.slow
def test_changes_may_be_a_dict_and_one_variant_a_word(here):
    seeds = np.array([2, 0])
    results = ablate.run(TOY_DICT, sets={"model.width": 5}, only="model.noise=0.3", seeds=seeds, jobs=0)
    assert results.folder.name == "toy@model.width=5,seeds=0+2,only=model.noise=0.3"
    assert set(results.trials.seed) == {0, 2}
    assert set(results.trials.variant) == {"baseline", "model.noise=0.3"}


@pytest.mark.slow
def test_figures_and_their_data_have_the_same_names(here):
    results = ablate.run(TOY_DICT, jobs=0)
    drawn, data = results.figures(), results.figure_data()
    assert list(drawn) == list(data)
    assert results.plot("forest").axes
    with pytest.raises(AblateError, match=r"'forrest'.*'forest'"):
        results.plot("forrest")
    forest = data["forest"].set_index("variant")
    known = results.comparisons.set_index(["variant", "metric"])["diff"]
    assert forest.loc["model.effect=0.2", "value"] == known["model.effect=0.2", "accuracy"]


@pytest.mark.parametrize(
    "given",
    [
        {"fresh": "no"},
        {"retrain": 1},
        {"only": 3},
        {"only": [3]},
        {"sets": None},
        {"sets": [("training.steps", 3)]},
        {"sets": {"model.width": {1, 2}}},
        {"results": ""},
        {"results": None},
        {"results": "a\0b"},
    ],
)
def test_an_argument_of_another_type_is_refused_before_anything_is_trained(given, here):
    with pytest.raises(AblateError, match=next(iter(given)) if "width" not in str(given) else "cannot be"):
        ablate.run(TOY_DICT, **{"jobs": 0} | given)
    assert not (here / "results/toy").exists()


@pytest.mark.slow
def test_what_is_no_path_is_refused_and_values_of_numpy_are_changes(here):
    for wrong in (None, 3, b"x", ""):
        with pytest.raises(AblateError):
            ablate.run(wrong)
        with pytest.raises(AblateError):
            ablate.load(wrong)
    results = ablate.run(
        TOY_DICT, sets={"model.width": np.int64(5)}, only={"baseline", "model.noise=0.3"}, jobs=0
    )
    assert (
        results.folder.name
        == ablate.run(
            TOY_DICT, sets=["model.width=5"], only=("model.noise=0.3", "baseline"), jobs=0
        ).folder.name
    )
