"""Variants of which a command says nothing: who is a twin of whom, and whether any code can tell them apart."""

from ablate.external.twins import Twin, perhaps_untold_twin, twins_of, untold_twin, unused_settings, without

CONFIGS = {
    "baseline": {"config": {"lr": 0.1, "act": "relu"}},
    "gelu": {"config": {"lr": 0.1, "act": "gelu"}},
    "fast": {"config": {"lr": 0.2, "act": "relu"}},
}
PATHS = ["config.lr", "config.act"]


def words_with(*settings):
    """The words of a command with placeholders of these settings alone."""
    return lambda config: [f"{name}={config['config'][name]}" for name in settings]


def test_a_variant_with_the_command_of_an_earlier_one_is_its_twin():
    [twin] = twins_of(CONFIGS, PATHS, words_with("lr"))
    assert (twin.variant, twin.first, twin.settings) == ("gelu", "baseline", ("act",))
    assert not list(twins_of(CONFIGS, PATHS, words_with("lr", "act")))


def test_variants_that_differ_in_the_same_settings_are_named_once():
    configs = {**CONFIGS, "silu": {"config": {"lr": 0.1, "act": "silu"}}}
    assert [twin.variant for twin in twins_of(configs, PATHS, words_with("lr"))] == ["gelu"]


def test_a_twin_is_certain_where_its_placeholders_write_it_alike_and_else_perhaps():
    twin = Twin("gelu", "baseline", ("act",))
    certain = untold_twin(twin)
    perhaps = perhaps_untold_twin(twin)
    assert (certain.is_certain, perhaps.is_certain) == (True, False)
    assert certain.variants == perhaps.variants == ("gelu", "baseline")
    assert "{act}" in certain.problem.rule


def test_settings_without_a_placeholder_are_named_but_for_sections():
    config = {"config": {"lr": 0.1, "act": "relu", "model": {"width": 2}}}
    assert list(unused_settings(config, ["lr", "model.width"])) == ["act"]


def test_a_section_of_which_nothing_is_left_goes():
    settings = {"lr": 0.1, "model": {"width": 2}, "data": {"name": "a", "size": 3}}
    assert without(settings, ["model.width", "data.size"]) == {"lr": 0.1, "data": {"name": "a"}}
