"""Whatever is done to a valid study, it either runs or is refused: with a line, without a traceback."""

import copy

import pytest
from harness import TOY, prepare
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from ablate.base.errors import StudyError

VALID = {
    "name": "toy",
    "question": "why",
    "workload": "toy",
    "plugins": [str(TOY)],
    "task": {"name": "coin"},
    "model": {"effect": 0.5, "noise": 0.1, "width": 4},
    "training": {"steps": 3, "fault": "none"},
    "metric": {"name": "accuracy", "margin": 0.1, "at": "last"},
    "factors": {"model.effect": [0.2], "model.noise": [0.1, 0.3], "training.steps": [4]},
    "variants": {"wide": {"model.width": 9}},
    "design": "one_factor",
    "placebo": "on",
    "seeds": 2,
    "claims": ["model.effect=0.2 beats baseline on accuracy", "wide matches baseline on loss within 0.1"],
}

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(),
    st.sampled_from(
        ["", "on", "off", "../x", "model.effect", "baseline", "é\u202e", "a b", "x" * 200, "{", "coin"]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "effect", "model.width", "task", "x y"]), inner, max_size=3),
    ),
    max_leaves=4,
)


def places(node, path=()):
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path] * bool(path) + [p for key, child in children for p in places(child, (*path, key))]


PLACES = [path for path in places(VALID) if path[0] not in ("workload", "plugins")]


@st.composite
def mutations(draw):
    """The valid study with one to three nodes replaced, removed, renamed or doubled."""
    study = copy.deepcopy(VALID)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(PLACES))
        kind = draw(st.sampled_from(["replace", "remove", "rename", "add"]))
        try:
            node = study
            for key in path[:-1]:
                node = node[key]
            if kind == "replace":
                node[path[-1]] = draw(VALUES)
            elif kind == "remove":
                del node[path[-1]]
            elif kind == "add" and isinstance(node, dict):
                node[
                    draw(st.sampled_from(["extra", "model.effect", "task", "tasks", "conditions", "noise"]))
                ] = draw(VALUES)
            elif isinstance(node, dict):
                node[f"{path[-1]}x"] = node.pop(path[-1])
        except (KeyError, IndexError, TypeError):
            continue
    return study


def written(study, folder):
    path = folder / "study.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML().dump(study, file)
    return path


@pytest.mark.slow
@settings(max_examples=100)
@given(study=mutations())
def test_any_mutation_of_a_study_is_run_or_refused(study, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    path = written(study, folder)
    try:
        experiment = prepare(path)
    except StudyError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.line is not None, problem
            assert problem.rule
            assert str(problem).startswith(f"{path}:{problem.line}: ")
    else:
        names = [variant.name for variant in experiment.variants]
        assert len(set(names)) == len(names)
        cells = experiment.cells()
        assert len({cell.trial.id for cell in cells}) == len(cells)
    assert [p.name for p in folder.iterdir()] == ["study.yaml"]


@pytest.mark.slow
@settings(max_examples=30)
@given(
    effects=st.lists(st.floats(-10, 10).map(lambda x: round(x, 3)), min_size=1, max_size=3, unique=True),
    widths=st.lists(st.integers(5, 12), max_size=2, unique=True),
)
def test_every_variant_can_be_named_in_a_claim(effects, widths, tmp_path_factory):
    """Names of variants and labels of levels go round: from the study to the claim and back."""
    study = copy.deepcopy(VALID)
    study["claims"], study["variants"] = [], {}
    study["factors"] = (
        {"model.effect": effects, "model.width": widths} if widths else {"model.effect": effects}
    )
    folder = tmp_path_factory.mktemp("study")
    if effects == [0.5] and not widths:
        return
    try:
        names = [
            v.name for v in prepare(written(study, folder)).variants if v.name not in ("baseline", "placebo")
        ]
    except StudyError as error:
        # A factor that lists nothing but the baseline's own level.
        assert all("contains only the baseline's value" in p.rule for p in error.problems)
        return
    study["claims"] = [f"{name} beats baseline on accuracy" for name in names]
    claims = prepare(written(study, folder)).claims
    assert [claim.a for claim in claims] == [[name] for name in names]
