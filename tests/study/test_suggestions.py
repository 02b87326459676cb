from harness import prepare

from ablate.base.registry import CATALOGUE
from ablate.search.pruners import PRUNERS
from ablate.search.samplers import SAMPLERS
from ablate.study.patch import paths_of
from ablate.study.suggestions import OTHER_WORDS, did_you_mean

STUDY = """\
name: x
task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2}
factors: {model.norm: [rms]}
"""


def test_other_words_are_for_what_there_is(write):
    config = prepare(write(STUDY)).variants[0].first_config
    parts = {name for slot in CATALOGUE.slots() for name in CATALOGUE.names(slot)}
    keys = {path.rpartition(".")[2] for path in paths_of(config)}
    classes = {*SAMPLERS.names(), *PRUNERS.names()}
    assert not set(OTHER_WORDS) - parts - classes - keys
    words = [word for found in OTHER_WORDS.values() for word in found.split()]
    assert all(word == "".join(filter(str.isalnum, word.lower())) for word in words)


def test_a_name_of_which_half_is_alike_is_not_meant():
    assert did_you_mean("rope", ["learned", "none"]) == ""
    assert did_you_mean("acc", ["loss", "accuracy"]) == "Did you mean 'accuracy'?"
