from dataclasses import replace

from reports import factorial
from synthetic import UGLY, study

from ablate.core.facts import BASELINE
from ablate.report.figures.facets import (
    MAX_FACETS,
    MAX_LINES,
    PLACEBO_GROUP,
    Facets,
    draw_legend,
    entries,
    figure_names,
    legend_height,
    line_styles,
)
from ablate.report.figures.theme import colour, new_axes, theme


def test_variants_stand_in_the_order_of_the_study_and_placebos_last(evidence):
    found = entries(evidence.facts)
    assert [(entry.group, entry.label) for entry in found[:3]] == [
        ("score", "additive scoring"),
        ("score", "dot scoring"),
        ("position", "sin/cos positions"),
    ]
    assert found[-2].label == UGLY, "a variant named by hand keeps its name"
    assert found[-1].group == PLACEBO_GROUP
    assert len(found) == len(evidence.facts.variants) - 1
    baseline, *others = evidence.facts.variants
    turned = replace(evidence.facts, variants=[baseline, *reversed(others)])
    assert [entry.variant for entry in entries(turned)][:-1] == [entry.variant for entry in found[-2::-1]]


def test_levels_of_a_factor_share_a_facet_wherever_the_study_has_them(evidence):
    baseline, *others = evidence.facts.variants
    turned = replace(evidence.facts, variants=[baseline, *others[1:], others[0]])
    members = Facets.of(turned).members
    assert {entry.label for entry in members["score"]} == {"additive scoring", "dot scoring"}
    assert len(members) == len(Facets.of(evidence.facts).members)


def test_a_facet_for_each_factor_and_none_for_the_placebo(evidence):
    facets = Facets.of(evidence.facts)
    shown = {title: [entry.label for entry in members] for title, members in facets.members.items()}
    assert list(shown) == ["score", "position", "norm", "value", "activation", "learning rate", "model width"]
    assert shown["position"] == ["sin/cos positions", "no positions"]
    assert facets.left_out(evidence.facts) == ""
    assert not facets.is_named
    named = study(factors={}, named={"x": 0.0, "y": 0.1}, claims=False, num_seeds=2)
    assert list(Facets.of(named.facts).members) == ["model width"]
    alone = study(factors={}, named={}, claims=False, num_seeds=2)
    assert Facets.of(alone.facts).members == {BASELINE: []}


def test_the_baseline_is_in_every_facet(evidence):
    facets = Facets.of(evidence.facts)
    spread = facets.spread(evidence.trials)
    trials = evidence.trials.groupby("variant").size()
    for title, rows in spread.groupby("facet"):
        members = [BASELINE, *(entry.variant for entry in facets.members[title])]
        assert rows.groupby("variant").size().to_dict() == {name: trials[name] for name in members}


def test_of_too_many_the_first_are_shown():
    factors = {f"f{i:02}": {"a": 0.0, "b": 0.0} for i in range(40)}
    found = study(factors=factors, named={}, claims=False, num_seeds=2, trouble=False)
    facets = Facets.of(found.facts)
    assert len(facets.members) == MAX_FACETS
    assert str(MAX_FACETS) in facets.left_out(found.facts)
    levels = {"base": 0.0, **{f"level{i}": 0.0 for i in range(MAX_LINES + 5)}}
    many = study(factors={"a.b": levels}, named={}, claims=False, num_seeds=2, trouble=False)
    assert len(Facets.of(many.facts).variants) == MAX_LINES


def test_facets_of_one_variant_each_are_named_after_it():
    factors = {"model.norm": {"layer": 0.0, "batch": 0.0}, "model.position": {"learned": 0.0, "none": 0.0}}
    facets = Facets.of(study(factors=factors, named={}, claims=False, num_seeds=2).facts)
    assert list(facets.members) == ["batch norm", "no positions"]
    assert facets.is_named
    assert next(iter(facets.legend)) == BASELINE
    assert len(facets.legend) == 2, "one stands for all"
    assert len({style.colour for style in facets.styles.values()}) == 2


def test_lines_of_few_are_named_at_their_ends_and_a_legend_has_the_others():
    levels = {"base": 0.0, "a": 0.0, "b": 0.0}
    factors = {"few": levels, "many": {**levels, "c": 0.0}}
    facets = Facets.of(study(factors=factors, named={}, claims=False, num_seeds=2).facts)
    assert facets.named_at_ends == {"few"}
    assert list(facets.legend) == [BASELINE, "many=a", "many=b", "many=c"]
    alone = Facets.of(study(factors={"few": levels}, named={}, claims=False, num_seeds=2).facts)
    assert (alone.named_at_ends, alone.legend) == ({"few"}, {})


def test_a_legend_has_each_name_once_in_order():
    names = {BASELINE: BASELINE, "a": "first", "b": "a name " * 20}
    with theme():
        figure, _ = new_axes(2.0)
        empty, _ = new_axes(2.0)
        draw_legend(figure, line_styles(["a", "b"]), names)
        count = legend_height(names)
        draw_legend(empty, line_styles([]), {})
        figure.draw_without_rendering()
    assert (empty.legends, legend_height({})) == ([], 0)
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words[:2] == [BASELINE, "first"]
    assert words[2].endswith("…")
    assert count == 3, "long names have a line each"
    assert [line.get_color() for line in legend.get_lines()] == [
        colour("ink"),
        colour("blue"),
        colour("orange"),
    ]
    assert legend.get_window_extent().x1 <= figure.bbox.width + 1


def test_a_cell_that_changes_one_factor_is_not_called_as_its_main_effect():
    facts = factorial().facts
    names = figure_names(facts)
    assert sum(name.endswith(" alone") for name in names.values()) == 2
    assert names[BASELINE] == BASELINE
    assert len(set(names.values())) == len(names)


def test_one_look_for_all_where_titles_name_the_variants():
    factors = {"model.norm": {"layer": 0.0, "batch": 0.0}, "model.position": {"learned": 0.0, "none": 0.0}}
    facets = Facets.of(study(factors=factors, named={}, claims=False, num_seeds=2).facts)
    assert len(facets.legend) == 2
    assert len({style.colour for style in facets.styles.values()}) == 2
