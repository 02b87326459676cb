import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.base.errors import Invalid
from ablate.study.patch import apply_patches, document_keys, has_path, set_in_document, value_at

CONFIG = {
    "model": {
        "mixer": {"name": "attention", "num_heads": 4, "score": {"name": "additive", "hidden": 8}},
        "norm": {"name": "layer", "eps": 1e-5},
        "width": 3,
    },
    "training": {"lr": 0.1, "clip": None},
}


def test_a_part_is_replaced_when_its_name_changes():
    for value in ("lstm", {"name": "lstm"}):
        patched = apply_patches(CONFIG, {"model.mixer": value})
        assert patched["model"]["mixer"] == value


def test_a_part_is_merged_while_its_name_stays():
    for value in ({"num_heads": 2}, {"name": "attention", "num_heads": 2}):
        mixer = apply_patches(CONFIG, {"model.mixer": value})["model"]["mixer"]
        assert mixer == {"name": "attention", "num_heads": 2, "score": {"name": "additive", "hidden": 8}}
    assert apply_patches(CONFIG, {"model.norm": "layer"}) == CONFIG


def test_nested_parts_follow_the_same_rule():
    mixer = apply_patches(CONFIG, {"model.mixer": {"score": "dot"}})["model"]["mixer"]
    assert mixer == {"name": "attention", "num_heads": 4, "score": "dot"}
    mixer = apply_patches(CONFIG, {"model.mixer": {"score": {"hidden": 2}}})["model"]["mixer"]
    assert mixer["score"] == {"name": "additive", "hidden": 2}


def test_the_original_stays_as_it_is():
    before = repr(CONFIG)
    apply_patches(CONFIG, {"model.mixer.score.hidden": 1, "training.lr": 1.0})
    assert repr(CONFIG) == before


def test_outer_paths_come_first_whatever_their_order():
    patches = {"model.mixer.score": "dot", "model.mixer": {"num_heads": 1}}
    for order in (patches, dict(reversed(patches.items()))):
        mixer = apply_patches(CONFIG, order)["model"]["mixer"]
        assert mixer == {"name": "attention", "num_heads": 1, "score": "dot"}


def test_a_path_that_another_patch_removes():
    patches = {"model.mixer": {"name": "lstm"}, "model.mixer.score": "dot"}
    assert apply_patches(CONFIG, patches, skip_removed=True)["model"]["mixer"] == {"name": "lstm"}
    with pytest.raises(Invalid, match="has no 'score'"):
        apply_patches(CONFIG, patches)
    with pytest.raises(Invalid, match="has no 'nothing'"):
        apply_patches(CONFIG, patches | {"model.nothing": 1}, skip_removed=True)


def test_a_path_that_does_not_exist_names_the_nearest():
    with pytest.raises(Invalid) as caught:
        value_at(CONFIG, "model.mixr.score")
    assert str(caught.value) == (
        "the path does not exist: model has no 'mixr'; given 'model.mixr.score'; "
        "allowed: mixer, norm, width. Did you mean 'model.mixer.score'?"
    )


PATHS = ["model.mixer.num_heads", "model.norm.eps", "model.width", "training.lr", "training.clip"]


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(PATHS), st.integers() | st.floats(allow_nan=False) | st.none()))
def test_what_is_patched_is_read_back_and_nothing_else_changes(patches):
    patched = apply_patches(CONFIG, patches)
    for path in PATHS:
        assert value_at(patched, path) == (patches[path] if path in patches else value_at(CONFIG, path))


def test_a_document_takes_a_setting_wherever_it_stands():
    data = {"model": {"mixer": "attention"}}
    set_in_document(data, document_keys("model.mixer.score"), "dot")
    set_in_document(data, document_keys("training.lr"), 0.1)
    set_in_document(data, document_keys("model.mixer"), {"num_heads": 2})
    assert data == {
        "model": {"mixer": {"name": "attention", "score": "dot", "num_heads": 2}},
        "training": {"lr": 0.1},
    }
    assert has_path(data, "training.lr")


def test_paths_of_factors_and_variants_are_keys_themselves():
    assert document_keys("factors.model.norm") == ("factors", "model.norm")
    assert document_keys("variants.mine.model.norm.eps") == ("variants", "mine", "model.norm.eps")
    assert document_keys("model.norm.eps") == ("model", "norm", "eps")
